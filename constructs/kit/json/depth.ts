/** How deep a field that takes any JSON may nest, such as `affinity` and `kwargs`. */
export const MAX_DEPTH = 64;

/**
 * How deep an object may nest before it is cut: room for a field of `MAX_DEPTH`, and for the entry of
 * `managedFields` that mirrors it. The stack has room for many times this.
 */
export const MAX_OBJECT_DEPTH = MAX_DEPTH + 32;

/** A value is nested so deep that a recursion over it could exhaust the stack. */
export class TooDeep extends Error {
  override readonly name = 'TooDeep';
  constructor(readonly limit: number) {
    super(`nests more than ${limit} levels deep`);
  }
}

/**
 * Whether a value nests more levels than the limit. The recursion ends with the limit, so any depth may
 * be asked about: the API server stores 10,000 levels.
 */
export function exceedsDepth(value: unknown, limit: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (limit === 0) return true;
  if (Array.isArray(value)) return value.some((item) => exceedsDepth(item, limit - 1));
  // Each object of a watch is checked: an array of its values would be garbage.
  for (const name in value) {
    if (exceedsDepth((value as Readonly<Record<string, unknown>>)[name], limit - 1)) return true;
  }
  return false;
}

/** @throws TooDeep */
export function requireDepth(value: unknown, limit = MAX_OBJECT_DEPTH): void {
  if (exceedsDepth(value, limit)) throw new TooDeep(limit);
}

/** The value itself, or a copy in which everything below the limit is null. */
export function cutBelow<T>(value: T, limit = MAX_OBJECT_DEPTH): T {
  return exceedsDepth(value, limit) ? (cut(value, limit) as T) : value;
}

/** @param levels that are left: the recursion ends with them */
function cut(value: unknown, levels: number): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (levels === 0) return null;
  if (Array.isArray(value)) return value.map((item: unknown) => cut(item, levels - 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name, cut(field, levels - 1)]),
  );
}
