import type { Schema } from '../definition.js';
import { isObject } from '../json/is-object.js';

/**
 * The bounds of an object whose fields the schema does not list, such as `affinity`. A structural
 * schema can say neither of them.
 */
export const OPAQUE = { depth: 64, bytes: 256 * 1024 } as const;

/** The schema of a value of which only the bounds are known. */
export const ANYTHING: Schema = { 'x-kubernetes-preserve-unknown-fields': true };

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
