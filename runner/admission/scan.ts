/** What a review may contain before it is parsed: a parsed value takes much more memory than its text. */
export interface ScanLimits {
  /** Nested lists and objects of the review, with three of its own around an object's fields. */
  readonly depth: number;
  /** Values and names of fields of the object, and of the stored one. */
  readonly values: number;
  /** Bytes of the object: the API server stores no more. */
  readonly bytes: number;
}

export const SCAN_LIMITS: ScanLimits = { depth: 80, values: 100_000, bytes: 1536 * 1024 };

/** A review is of one object; its stored form is apart, as its author cannot help it any more. */
type Part = 'object' | 'oldObject';

interface Measure {
  depth: number;
  values: number;
  bytes: number;
}

/** A text at the top of a review is kept up to this length. */
const LONGEST_TEXT = 256;
const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c];
const [LIST, END_OF_LIST, OBJECT, END_OF_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Measures a review while its bytes arrive, without recursion and without keeping them. What is not
 * JSON is measured somehow: the parser refuses it.
 */
export class ReviewScan {
  /** Of the request; undefined until it has been read. */
  uid: string | undefined;
  /** The same; an API server writes it before the object. */
  namespace: string | undefined;
  /** Where the stored object is in the review; undefined without one, or with more than one. */
  old: { readonly from: number; readonly to: number } | undefined;
  #olds = 0;
  #oldFrom = 0;
  #at = 0;
  readonly #measures: Readonly<Record<Part, Measure>> = {
    object: { depth: 0, values: 0, bytes: 0 },
    oldObject: { depth: 0, values: 0, bytes: 0 },
  };
  #part: Part = 'object';
  #depth = 0;
  #inText = false;
  #escaped = false;
  #text: number[] = [];
  /** Whether the next text names a field, and the names at the first two levels. */
  #naming = false;
  readonly #names: string[] = [];

  constructor(private readonly limits: ScanLimits = SCAN_LIMITS) {}

  /** Reads the next bytes of the review. */
  push(chunk: Uint8Array): void {
    const start = this.#at;
    let from = 0;
    let i = 0;
    for (; i < chunk.length; i++) {
      this.#at = start + i;
      const byte = chunk[i] ?? 0;
      if (this.#inText) {
        this.#textByte(byte);
        continue;
      }
      const part = this.#part;
      this.#byte(byte);
      if (this.#part === part) continue;
      this.#measures[part].bytes += i - from;
      from = i;
    }
    this.#measures[this.#part].bytes += i - from;
    this.#at = start + i;
  }

  /** What the object exceeds, or undefined. */
  get exceeded(): string | undefined {
    return this.#exceeded('object');
  }

  /** What the stored object exceeds, or undefined. */
  get oldExceeded(): string | undefined {
    return this.#exceeded('oldObject');
  }

  #exceeded(part: Part): string | undefined {
    const { depth, values, bytes } = this.#measures[part];
    const { limits } = this;
    if (depth > limits.depth) return `Too deep: may not nest more than ${limits.depth - 3} levels`;
    if (values > limits.values) return `Too many: must have at most ${limits.values} values`;
    return bytes > limits.bytes
      ? `Too long: may not be more than ${limits.bytes} bytes`
      : undefined;
  }

  #byte(byte: number): void {
    if (byte === QUOTE) {
      this.#inText = true;
      this.#text = [];
    } else if (byte === COMMA) {
      this.#measures[this.#part].values += 1;
      this.#naming = true;
    } else if (byte === COLON) {
      // A name counts too: it takes more memory than the value.
      this.#measures[this.#part].values += 1;
      this.#naming = false;
    } else if (byte === LIST || byte === OBJECT) {
      this.#open(byte);
    } else if (byte === END_OF_LIST || byte === END_OF_OBJECT) {
      this.#depth -= 1;
      if (this.#depth === 2) this.#ended();
    }
  }

  #open(byte: number): void {
    const isOld = this.#names[1] === 'request' && this.#names[2] === 'oldObject';
    if (this.#depth === 2) {
      this.#part = isOld ? 'oldObject' : 'object';
      this.#oldFrom = this.#at;
    }
    const measure = this.#measures[this.#part];
    measure.values += 1;
    this.#depth += 1;
    if (this.#depth > measure.depth) measure.depth = this.#depth;
    this.#naming = byte === OBJECT;
    this.#names.length = Math.min(this.#names.length, this.#depth);
  }

  /** A part has ended. */
  #ended(): void {
    if (this.#part === 'oldObject') {
      this.#olds += 1;
      this.old = this.#olds === 1 ? { from: this.#oldFrom, to: this.#at + 1 } : undefined;
    }
    this.#part = 'object';
  }

  #textByte(byte: number): void {
    if (this.#escaped) {
      this.#escaped = false;
    } else if (byte === BACKSLASH) {
      this.#escaped = true;
    } else if (byte === QUOTE) {
      this.#inText = false;
      if (this.#depth <= 2) this.#named();
      return;
    }
    if (this.#depth <= 2 && this.#text.length < LONGEST_TEXT) this.#text.push(byte);
  }

  /** A text at the top of the review: the name of a field, or a value such as the uid. */
  #named(): void {
    const text = Buffer.from(this.#text).toString('utf8');
    if (this.#naming) this.#names[this.#depth] = text;
    else if (this.#depth === 2 && this.#names[1] === 'request') {
      if (this.#names[2] === 'uid') this.uid = text;
      else if (this.#names[2] === 'namespace') this.namespace = text;
    }
  }
}
