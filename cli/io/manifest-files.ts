import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Document,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseAllDocuments,
  type Tags,
} from 'yaml';

/** An object of a manifest, with its place in the file. */
export interface ManifestObject {
  readonly object: object;
  /** The line of the object or of one of its fields: `bench.yaml:12`. */
  at(path?: string): string;
}

/** The objects of manifest files. */
export interface Manifests {
  readonly objects: readonly ManifestObject[];
  /** What cannot be read: one line each. */
  readonly problems: readonly string[];
}

const EXTENSIONS = /\.(ya?ml|json)$/;
/** The name of standard input in problems. */
const STDIN = '<stdin>';

/**
 * Reads files of YAML or JSON, each with one document or more; `-` is standard input. From a folder it
 * reads the files with the extension .yaml, .yml or .json, sorted by name.
 */
export function readManifests(paths: readonly string[], recursive: boolean): Manifests {
  const all = paths.map((path): Manifests => {
    try {
      return joined(filesOf(path, recursive).map((file) => readManifest(file)));
    } catch (error) {
      return { objects: [], problems: [`${path}: ${reasonOf(error)}`] };
    }
  });
  return joined(all);
}

/** The objects in a text. */
export function parseManifests(text: string, file: string): Manifests {
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, {
    lineCounter: lines,
    prettyErrors: false,
    // kubectl reads YAML 1.1 too, but takes timestamps as text.
    version: '1.1',
    merge: true,
    customTags: withoutTimes,
  });
  if ('empty' in documents) return { objects: [], problems: [] };
  const place = (offset: number): string => `${file}:${lines.linePos(offset).line}`;
  return joined(documents.map((document) => objectsOf(document, place)));
}

function withoutTimes(tags: Tags): Tags {
  return tags.filter(
    (tag) =>
      typeof tag === 'string' ||
      !(tag.tag.endsWith(':timestamp') || ('format' in tag && tag.format === 'TIME')),
  );
}

function objectsOf(document: Document.Parsed, place: (offset: number) => string): Manifests {
  const [error] = document.errors;
  if (error) return { objects: [], problems: [`${place(error.pos[0])}: ${error.message}`] };
  const { contents } = document;
  if (contents === null || (isScalar(contents) && contents.value === null))
    return { objects: [], problems: [] };
  return joined(itemsOf(contents).map((node) => objectOf(node, document, place)));
}

/** The items of a list of objects, or the object itself. */
function itemsOf(node: Node): readonly unknown[] {
  const items = isMap(node) ? node.get('items') : undefined;
  const isList = isMap(node) && String(node.get('kind')).endsWith('List');
  return isList && isSeq(items) ? items.items : [node];
}

function objectOf(node: unknown, document: Document, place: (offset: number) => string): Manifests {
  const start = isNode(node) ? (node.range?.[0] ?? 0) : 0;
  if (!isMap(node)) {
    return { objects: [], problems: [`${place(start)}: not an object: expected a mapping`] };
  }
  const at = (path?: string): string => place(offsetOf(node, path) ?? start);
  try {
    return { objects: [{ object: node.toJS(document) as object, at }], problems: [] };
  } catch (error) {
    // An alias without an anchor, or too many expanded aliases.
    return { objects: [], problems: [`${place(start)}: ${reasonOf(error)}`] };
  }
}

/** The offset of the field of a path, or of its innermost parent in the file. */
function offsetOf(root: Node, path = ''): number | undefined {
  let node: unknown = root;
  let offset = root.range?.[0];
  for (const step of path.match(/[^.[\]]+/g) ?? []) {
    const [key, value] = entryOf(node, step);
    if (isNode(key)) offset = key.range?.[0] ?? offset;
    node = value;
  }
  return offset;
}

/** A field of a mapping or an item of a list: its first node, and its value. */
function entryOf(node: unknown, step: string): readonly [unknown, unknown] {
  if (isSeq(node)) return [node.items[Number(step)], node.items[Number(step)]];
  if (!isMap(node)) return [undefined, undefined];
  const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === step);
  return [pair?.key, pair?.value];
}

function filesOf(path: string, recursive: boolean): readonly string[] {
  if (path === '-' || !statSync(path).isDirectory()) return [path];
  return readdirSync(path, { withFileTypes: true })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const inner = join(path, entry.name);
      if (entry.isDirectory()) return recursive ? filesOf(inner, recursive) : [];
      return EXTENSIONS.test(entry.name) ? [inner] : [];
    });
}

function readManifest(file: string): Manifests {
  return file === '-'
    ? parseManifests(readFileSync(0, 'utf8'), STDIN)
    : parseManifests(readFileSync(file, 'utf8'), file);
}

function joined(parts: readonly Manifests[]): Manifests {
  return {
    objects: parts.flatMap(({ objects }) => objects),
    problems: parts.flatMap(({ problems }) => problems),
  };
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' ? 'no such file or directory' : message;
}
