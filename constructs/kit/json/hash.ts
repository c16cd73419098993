import { createHash } from 'node:crypto';

/** Names that JavaScript lists before all others, in the order of their numbers. */
const INDEX = /^(0|[1-9]\d*)$/;

/** JSON with sorted keys: equal values give equal text. */
export function canonicalJson(value: unknown): string {
  return textOf(value) ?? '';
}

/** A short hash of plain data: 16 hexadecimal digits, stable over versions and machines. */
export function hashOf(value: unknown): string {
  return hashOfText(canonicalJson(value));
}

/** The hash of a value whose canonical JSON this is. */
export function hashOfText(canonical: string): string {
  // A slice of the whole text would keep all of it in memory, for each of a hundred thousand hashes.
  return createHash('sha256').update(canonical).digest().toString('hex', 0, 8);
}

/**
 * Written out, since `JSON.stringify` with a replacer copies each object: a third of all that the
 * operator allocated.
 * @returns undefined for what JSON leaves out
 */
function textOf(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) {
    let items = '';
    for (const item of value) items += `${items && ','}${textOf(item) ?? 'null'}`;
    return `[${items}]`;
  }
  let fields = '';
  for (const name of sortedNames(value)) {
    const text = textOf((value as Readonly<Record<string, unknown>>)[name]);
    if (text !== undefined) fields += `${fields && ','}${JSON.stringify(name)}:${text}`;
  }
  return `{${fields}}`;
}

/** The names of an object's fields, in the order in which JavaScript lists a sorted object. */
function sortedNames(value: object): readonly string[] {
  const names = sorted(Object.keys(value));
  const [first = ''] = names;
  // Nearly always: no name begins with a digit, or with a character before the digits.
  if (first >= ':' || !names.some((name) => INDEX.test(name))) return names;
  return Object.keys(Object.fromEntries(names.map((name) => [name, null])));
}

/** Sorts texts in place. The few names of an object are moved: a sort of the library allocates. */
export function sorted(texts: string[]): readonly string[] {
  if (texts.length > 32) return texts.sort();
  for (let i = 1; i < texts.length; i++) {
    const text = texts[i] ?? '';
    let at = i;
    for (; at > 0 && (texts[at - 1] ?? '') > text; at--) texts[at] = texts[at - 1] ?? '';
    texts[at] = text;
  }
  return texts;
}
