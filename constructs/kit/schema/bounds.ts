import type { Schema } from '../definition.js';
import type { Problem } from '../errors.js';
import { equal } from '../json/equal.js';
import { isObject } from '../json/is-object.js';
import { fieldNode, fieldPath, type SchemaNode } from './node.js';
import { oldField, oldItems } from './old-value.js';
import { boundProblem } from './value.js';

/**
 * The bounds of an object whose fields the schema does not list, such as `affinity`. A structural
 * schema can say neither of them.
 */
export const OPAQUE = { depth: 64, bytes: 256 * 1024 } as const;

/** The schema of a value of which only the bounds are known. */
export const ANYTHING: Schema = { 'x-kubernetes-preserve-unknown-fields': true };

/** Fields of an object, also of a newer CRD: each unknown one costs a warning. */
const MAX_FIELDS = 1_000;

const encoder = new TextEncoder();

/** What an opaque object exceeds, or undefined. It is measured without recursion, and to the bound. */
export function opaqueProblem(schema: Schema, value: unknown): string | undefined {
  if (schema['x-kubernetes-preserve-unknown-fields'] !== true) return undefined;
  let bytes = 0;
  const left: { readonly value: unknown; readonly depth: number }[] = [{ value, depth: 1 }];
  for (let next = left.pop(); next; next = left.pop()) {
    const inside = entriesOf(next.value);
    bytes += inside ? 2 : bytesOf(next.value);
    if (inside && next.depth > OPAQUE.depth) {
      return `Too deep: may not nest more than ${OPAQUE.depth} levels`;
    }
    for (const [name, inner] of inside ?? []) {
      bytes += bytesOf(name) + 2;
      if (bytes > OPAQUE.bytes) return `Too long: may not be more than ${OPAQUE.bytes} bytes`;
      left.push({ value: inner, depth: next.depth + 1 });
    }
  }
  return bytes > OPAQUE.bytes ? `Too long: may not be more than ${OPAQUE.bytes} bytes` : undefined;
}

/** The entries of a list or an object, each counted with its name and comma. */
function entriesOf(
  value: unknown,
): readonly (readonly [name: unknown, inner: unknown])[] | undefined {
  if (Array.isArray(value)) return value.map((inner: unknown) => [undefined, inner] as const);
  return isObject(value) ? Object.entries(value) : undefined;
}

/** Most texts are ASCII, whose length needs no copy. */
function utf8Length(text: string): number {
  return /[^\0-\x7f]/.test(text) ? encoder.encode(text).length : text.length;
}

/** The length of a plain value as JSON. */
function bytesOf(value: unknown): number {
  if (value === undefined) return 0;
  if (typeof value === 'string') return utf8Length(value) + 2;
  return JSON.stringify(value).length;
}

/**
 * The first problems of length: of texts, lists, maps and opaque objects, in the words of the API
 * server. Nothing is read of a list or a map that is too long, so the cost is bounded by the schema.
 * What is as it was before is left out: it was stored before its bound came.
 */
export function exceededBounds(
  node: SchemaNode,
  value: unknown,
  most: number,
  before?: unknown,
): readonly Problem[] {
  const found: Problem[] = [];
  measure(node, { value, path: '', old: before }, { found, most });
  return found;
}

interface Place {
  readonly value: unknown;
  readonly path: string;
  readonly old: unknown;
}

interface Found {
  readonly found: Problem[];
  readonly most: number;
}

function measure(node: SchemaNode, { value, path, old }: Place, found: Found): void {
  if (found.found.length >= found.most) return;
  const bound = boundProblem(node.schema, value, undefined);
  const message = bound?.blocking
    ? bound.message
    : (opaqueProblem(node.schema, value) ?? fieldsProblem(node, value));
  if (message !== undefined) {
    if (old === undefined || !equal(old, value)) found.found.push({ path, message });
    return;
  }
  for (const inner of placesIn(node, { value, path, old })) measure(...inner, found);
}

/** What is wrong with the number of fields where the schema lists them: it knows far fewer. */
function fieldsProblem({ schema, values }: SchemaNode, value: unknown): string | undefined {
  const isOpen = values !== undefined || schema['x-kubernetes-preserve-unknown-fields'] === true;
  if (isOpen || !isObject(value)) return undefined;
  const count = Object.keys(value).length;
  return count > MAX_FIELDS
    ? `Too many: ${count}: must have at most ${MAX_FIELDS} fields`
    : undefined;
}

function placesIn(
  node: SchemaNode,
  { value, path, old }: Place,
): (readonly [node: SchemaNode, place: Place])[] {
  if (Array.isArray(value)) {
    const { item } = node;
    if (!item) return [];
    const before = oldItems(node, old);
    return value.map((inner: unknown, i) => [
      item,
      { value: inner, path: `${path}[${i}]`, old: before(inner) },
    ]);
  }
  if (!isObject(value)) return [];
  const places: (readonly [node: SchemaNode, place: Place])[] = [];
  for (const [name, inner] of Object.entries(value)) {
    const child = fieldNode(node, name);
    if (!child) continue;
    const place = { value: inner, path: fieldPath(path, name), old: oldField(old, name) };
    places.push([child, place]);
  }
  return places;
}
