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
 * Whether a value nests more levels than the limit. It uses no recursion, so any depth may be asked
 * about: the API server stores 10,000 levels.
 */
export function exceedsDepth(value: unknown, limit: number): boolean {
  const values: unknown[] = [value];
  const depths: number[] = [0];
  while (values.length > 0) {
    const next = values.pop();
    const depth = depths.pop() ?? 0;
    if (typeof next !== 'object' || next === null) continue;
    if (depth >= limit) return true;
    for (const child of Object.values(next)) {
      if (typeof child !== 'object' || child === null) continue;
      values.push(child);
      depths.push(depth + 1);
    }
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
