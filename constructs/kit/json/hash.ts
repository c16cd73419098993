import { CanonicalWriter, shortHash } from './canonical.js';

const writer = new CanonicalWriter();

/** JSON with sorted keys: equal values give equal text. */
export function canonicalJson(value: unknown): string {
  write(value);
  return writer.takeText();
}

/** A short hash of plain data: 16 hexadecimal digits, stable over versions and machines. */
export function hashOf(value: unknown): string {
  write(value);
  return writer.takeHash();
}

/** The hash of a value whose canonical JSON this is. */
export function hashOfText(canonical: string): string {
  return shortHash(canonical);
}

function write(value: unknown): void {
  // An earlier value may have ended with an error.
  writer.truncate(0);
  writer.value(value);
}
