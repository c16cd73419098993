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

/** An object with the place where it is written. */
export interface Source {
  readonly object: object;
  /** Where it, or a field of it, is written: `bench.yaml:12`. */
  at(path?: string): string;
}

/** What files hold. */
export interface Sources {
  readonly sources: readonly Source[];
  /** What cannot be read, each in a line of text. */
  readonly problems: readonly string[];
}

const EXTENSIONS = /\.(ya?ml|json)$/;
/** How problems name what was read from standard input. */
const STDIN = '<stdin>';

/**
 * Reads files of YAML or JSON, each of one document or more; `-` is standard input. Of a folder it
 * takes the files that end in .yaml, .yml or .json, in the order of their names.
 */
export function readSources(paths: readonly string[], recursive: boolean): Sources {
  const all = paths.map((path): Sources => {
    try {
      return joined(filesOf(path, recursive).map((file) => readSource(file)));
    } catch (error) {
      return { sources: [], problems: [`${path}: ${reasonOf(error)}`] };
    }
  });
  return joined(all);
}

/** The objects in a text. */
export function parseSources(text: string, file: string): Sources {
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, {
    lineCounter: lines,
    prettyErrors: false,
    // As kubectl reads it: YAML 1.1, but for its times.
    version: '1.1',
    merge: true,
    customTags: withoutTimes,
  });
  if ('empty' in documents) return { sources: [], problems: [] };
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

function objectsOf(document: Document.Parsed, place: (offset: number) => string): Sources {
  const [error] = document.errors;
  if (error) return { sources: [], problems: [`${place(error.pos[0])}: ${error.message}`] };
  const { contents } = document;
  if (contents === null || (isScalar(contents) && contents.value === null))
    return { sources: [], problems: [] };
  return joined(itemsOf(contents).map((node) => objectOf(node, document, place)));
}

/** The items of a list of objects, or the object itself. */
function itemsOf(node: Node): readonly unknown[] {
  const items = isMap(node) ? node.get('items') : undefined;
  const isList = isMap(node) && String(node.get('kind')).endsWith('List');
  return isList && isSeq(items) ? items.items : [node];
}

function objectOf(node: unknown, document: Document, place: (offset: number) => string): Sources {
  const start = isNode(node) ? (node.range?.[0] ?? 0) : 0;
  if (!isMap(node)) {
    return { sources: [], problems: [`${place(start)}: is not an object: expected a mapping`] };
  }
  const at = (path?: string): string => place(offsetOf(node, path) ?? start);
  try {
    return { sources: [{ object: node.toJS(document) as object, at }], problems: [] };
  } catch (error) {
    // Aliases that lead nowhere, or that multiply without end.
    return { sources: [], problems: [`${place(start)}: ${reasonOf(error)}`] };
  }
}

/** Where the field of a path is written, or the innermost of it that is there. */
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

/** A field of a mapping or an item of a list: the node that it begins with, and its value. */
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

function readSource(file: string): Sources {
  return file === '-'
    ? parseSources(readFileSync(0, 'utf8'), STDIN)
    : parseSources(readFileSync(file, 'utf8'), file);
}

function joined(parts: readonly Sources[]): Sources {
  return {
    sources: parts.flatMap(({ sources }) => sources),
    problems: parts.flatMap(({ problems }) => problems),
  };
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' ? 'no such file or folder' : message;
}
