import { createHash } from 'node:crypto';
import { requireDepth } from './depth.js';

/**
 * JSON with sorted keys: equal values give equal text.
 * @throws TooDeep where the value nests deeper than any object of a cache
 */
export function canonicalJson(value: unknown): string {
  requireDepth(value);
  return JSON.stringify(value, (_key, inner: unknown) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/** A short hash of plain data: 16 hexadecimal digits, stable over versions and machines. */
export function hashOf(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex').slice(0, 16);
}
