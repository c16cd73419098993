import { isObject } from '../../constructs/kit/json/is-object.js';

const WITHHELD = '[withheld]';
/** A part of a value that is at least so long is not shown: a webhook may quote the beginning only. */
const PART = 6;

/** The values of a Secret, as they are and in base64. */
export function valuesOf(secret: unknown): readonly string[] {
  if (!isObject(secret)) return [];
  const encoded = textsIn(secret['data']);
  const decoded = encoded.map((value) => Buffer.from(value, 'base64').toString());
  return [...encoded, ...decoded, ...textsIn(secret['stringData'])];
}

function textsIn(map: unknown): readonly string[] {
  if (!isObject(map)) return [];
  return Object.values(map).flatMap((value) => (typeof value === 'string' && value ? [value] : []));
}

/**
 * The text without the parts of some values.
 * @returns undefined where a value is too short to be found
 */
export function withoutParts(text: string, values: readonly string[]): string | undefined {
  if (values.some(({ length }) => length < PART)) return undefined;
  const parts = new Set(values.flatMap(partsOf));
  let result = '';
  let done = 0;
  for (let at = 0; at + PART <= text.length; at++) {
    if (!parts.has(text.slice(at, at + PART))) continue;
    const isNew = at > done || !result.endsWith(WITHHELD);
    if (isNew) result += text.slice(done, at) + WITHHELD;
    done = at + PART;
  }
  return result + text.slice(done);
}

function partsOf(value: string): readonly string[] {
  const count = value.length - PART + 1;
  return Array.from({ length: count }, (_, at) => value.slice(at, at + PART));
}
