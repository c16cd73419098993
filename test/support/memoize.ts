/**
 * A function of at most one argument that computes its result once for each value of it.
 * Callers share the result and must not change it.
 */
export function memoize<R, A extends readonly [] | readonly [unknown]>(
  compute: (...argument: A) => R,
): (...argument: A) => R {
  const results = new Map<unknown, R>();
  return (...argument) => {
    const [key] = argument;
    const known = results.get(key);
    if (known !== undefined) return known;
    const result = compute(...argument);
    results.set(key, result);
    return result;
  };
}
