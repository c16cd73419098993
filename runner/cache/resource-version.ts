/** Versions are increasing numbers, too large for a double: the longer one is the newer one. */
export function isNewer(a: string, b: string): boolean {
  return a.length === b.length ? a > b : a.length > b.length;
}
