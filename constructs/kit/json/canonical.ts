import { hash } from 'node:crypto';

/** Names that JavaScript lists before all others, in the order of their numbers. */
const INDEX = /^(0|[1-9]\d*)$/;
/** Longer texts are written by Node.js. */
const SHORT = 256;
const SMALLEST = 64 * 1024;

/**
 * Writes JSON with sorted keys into one buffer. Pieces of text that are joined, and objects that are copied
 * for `JSON.stringify`, were most of what the operator allocated.
 */
export class CanonicalWriter {
  #bytes = Buffer.allocUnsafe(SMALLEST);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Takes back what was written since. */
  truncate(length: number): void {
    this.#length = length;
  }

  /** @returns false for what JSON leaves out */
  value(value: unknown): boolean {
    if (typeof value === 'string') {
      this.text(value);
      return true;
    }
    if (typeof value !== 'object' || value === null) {
      const text = JSON.stringify(value) as string | undefined;
      if (text !== undefined) this.raw(text);
      return text !== undefined;
    }
    if (Array.isArray(value)) this.#items(value);
    else this.#fields(value as Readonly<Record<string, unknown>>);
    return true;
  }

  #items(items: readonly unknown[]): void {
    this.raw('[');
    let isFirst = true;
    for (const item of items) {
      if (!isFirst) this.raw(',');
      isFirst = false;
      if (!this.value(item)) this.raw('null');
    }
    this.raw(']');
  }

  #fields(object: Readonly<Record<string, unknown>>): void {
    this.raw('{');
    let isFirst = true;
    for (const name of sortedNames(object)) {
      const before = this.#length;
      if (!isFirst) this.raw(',');
      this.text(name);
      this.raw(':');
      if (this.value(object[name])) isFirst = false;
      else this.truncate(before);
    }
    this.raw('}');
  }

  /** A text of JSON, in its quotes. */
  text(text: string): void {
    if (text.length > SHORT || !this.#short(text)) this.raw(JSON.stringify(text));
  }

  /** @returns false where a character must be escaped, or has several bytes */
  #short(text: string): boolean {
    const bytes = this.#withRoom(text.length + 2);
    let at = this.#length;
    bytes[at++] = 0x22;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code < 0x20 || code > 0x7e || code === 0x22 || code === 0x5c) return false;
      bytes[at++] = code;
    }
    bytes[at++] = 0x22;
    this.#length = at;
    return true;
  }

  /** What is JSON already. */
  raw(json: string): void {
    if (json.length === 1) {
      this.#withRoom(1)[this.#length++] = json.charCodeAt(0);
      return;
    }
    // A character of JSON has three bytes at most.
    this.#length += this.#withRoom(json.length * 3).write(json, this.#length);
  }

  #withRoom(size: number): Buffer {
    const needed = this.#length + size;
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#bytes.length));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    return this.#bytes;
  }

  /** All that was written; the next value begins with nothing. */
  takeText(): string {
    return this.#taken((bytes) => bytes.toString());
  }

  /** A short hash of all that was written; the next value begins with nothing. */
  takeHash(): string {
    return this.#taken(shortHash);
  }

  #taken(take: (bytes: Buffer) => string): string {
    const result = take(this.#bytes.subarray(0, this.#length));
    this.#length = 0;
    if (this.#bytes.length > 16 * SMALLEST) this.#bytes = Buffer.allocUnsafe(SMALLEST);
    return result;
  }
}

/** 16 hexadecimal digits of a hash, stable over versions and machines. */
export function shortHash(content: string | Buffer): string {
  // A slice of the whole text would keep all of it in memory, for each of a hundred thousand hashes.
  return hash('sha256', content, 'buffer').toString('hex', 0, 8);
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
