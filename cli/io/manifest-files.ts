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
  visit,
} from 'yaml';
import { messageOf } from '../../constructs/kit/errors.js';
import { fileErrorReason, isFileError } from './file-error.js';
import { decodeManifest, templateIn } from './manifest-text.js';
import type { IOStreams } from './streams.js';

/** An object of a manifest, with its place in the file. */
export interface ManifestObject {
  readonly object: object;
  readonly file: string;
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
export const STDIN = '<stdin>';

/**
 * Reads files of YAML or JSON, each with one document or more; `-` is standard input. From a folder it
 * reads the files with the extension .yaml, .yml or .json, sorted by name.
 * @param stdin the content of standard input @default it is read, and cannot be interrupted
 */
export function readManifests(
  paths: readonly string[],
  recursive: boolean,
  stdin?: Uint8Array,
): Manifests {
  // Standard input can be read once.
  const once = paths.filter((path, index) => path !== '-' || index === paths.indexOf('-'));
  const all = once.map((path): Manifests => {
    try {
      return joinManifests(filesOf(path, recursive).map((file) => readManifest(file, stdin)));
    } catch (error) {
      return { objects: [], problems: [`${path || '-f'}: ${readingProblem(path, error)}`] };
    }
  });
  return joinManifests(all);
}

/** Reads files as `readManifests` does. Ctrl-C ends the reading of standard input. */
export async function readInput(
  paths: readonly string[],
  recursive: boolean,
  { readStdin }: Pick<IOStreams, 'readStdin'>,
): Promise<Manifests> {
  if (!paths.includes('-')) return readManifests(paths, recursive);
  try {
    return readManifests(paths, recursive, await readStdin());
  } catch (error) {
    if (!isFileError(error)) throw error;
    return { objects: [], problems: [`${STDIN}: ${fileErrorReason(error)}`] };
  }
}

/** The objects in a text. */
export function parseManifests(given: string, file: string): Manifests {
  // Files that editors of Windows wrote may be joined. As in kubectl, a byte order mark starts no key.
  const text = given.replaceAll(/(^|\n)\ufeff/g, '$1');
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
  const place: Place = { file, line: (offset) => `${file}:${lines.linePos(offset).line}` };
  return joinManifests(
    documents.map((document) => {
      const template = isTemplate(document) ? templateIn(text) : undefined;
      return template
        ? { objects: [], problems: [`${file}:${template.line + 1}: ${template.message}`] }
        : objectsOf(document, place);
    }),
  );
}

/** An action such as `{{ .Values.name }}` is an error of syntax, or a mapping that is a key. */
function isTemplate(document: Document.Parsed): boolean {
  return document.errors.length > 0 || collectionKey(document) !== undefined;
}

/** The first key that is a mapping or a list, which no object of an API has. */
function collectionKey(document: Document): Node | undefined {
  let found: Node | undefined;
  visit(document, {
    Pair: (_, { key }) => {
      if (!isMap(key) && !isSeq(key)) return undefined;
      found = key;
      return visit.BREAK;
    },
  });
  return found;
}

/** Where the objects of a file are. */
interface Place {
  readonly file: string;
  readonly line: (offset: number) => string;
}

function withoutTimes(tags: Tags): Tags {
  return tags.filter(
    (tag) =>
      typeof tag === 'string' ||
      !(tag.tag.endsWith(':timestamp') || ('format' in tag && tag.format === 'TIME')),
  );
}

function objectsOf(document: Document.Parsed, place: Place): Manifests {
  const [error] = document.errors;
  if (error) return { objects: [], problems: [`${place.line(error.pos[0])}: ${error.message}`] };
  const key = collectionKey(document);
  if (key)
    return {
      objects: [],
      problems: [`${place.line(key.range?.[0] ?? 0)}: keys must be text: got ${String(key)}`],
    };
  const { contents } = document;
  if (contents === null || (isScalar(contents) && contents.value === null))
    return { objects: [], problems: [] };
  return joinManifests(itemsOf(contents).map((node) => objectOf(node, document, place)));
}

/** The items of a list of objects, or the object itself. */
function itemsOf(node: Node): readonly unknown[] {
  const items = isMap(node) ? node.get('items') : undefined;
  const isList = isMap(node) && String(node.get('kind')).endsWith('List');
  return isList && isSeq(items) ? items.items : [node];
}

function objectOf(node: unknown, document: Document, place: Place): Manifests {
  const start = isNode(node) ? (node.range?.[0] ?? 0) : 0;
  if (!isMap(node)) {
    return { objects: [], problems: [`${place.line(start)}: not an object: expected a mapping`] };
  }
  const at = (path?: string): string => place.line(offsetOf(node, path) ?? start);
  try {
    return {
      objects: [{ object: node.toJS(document) as object, file: place.file, at }],
      problems: [],
    };
  } catch (error) {
    // An alias without an anchor, or too many expanded aliases.
    return { objects: [], problems: [`${place.line(start)}: ${messageOf(error)}`] };
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

function readManifest(path: string, stdin: Uint8Array | undefined): Manifests {
  const isStdin = path === '-';
  const file = isStdin ? STDIN : path;
  const bytes = isStdin ? (stdin ?? readFileSync(0)) : readFileSync(path);
  const decoded = decodeManifest(bytes, file);
  return 'problem' in decoded
    ? { objects: [], problems: [decoded.problem] }
    : parseManifests(decoded.text, file);
}

/** The objects and the problems of several inputs. */
export function joinManifests(parts: readonly Manifests[]): Manifests {
  return {
    objects: parts.flatMap(({ objects }) => objects),
    problems: parts.flatMap(({ problems }) => problems),
  };
}

/** Why a file or folder cannot be read, with what to do where the path says it. */
function readingProblem(path: string, error: unknown): string {
  if (path === '') return 'got an empty path, allowed: a file, a folder, or -';
  if (/^https?:/.test(path)) return 'URLs are not read; download the file first';
  return fileErrorReason(error);
}
