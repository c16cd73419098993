/** The longest value of a label, and more than any name that the operator writes. */
const MAX_NAME_LENGTH = 253;
/** Of the entries that `pickBySuffix` returns; the operator writes one. */
const MAX_ENTRIES = 8;

/** The entries whose key ends with one of some texts: a few of them, and none with a long value. */
export function pickBySuffix(
  ends: readonly string[],
  texts: Readonly<Record<string, string>> = {},
  longest = MAX_NAME_LENGTH,
): Readonly<Record<string, string>> | undefined {
  const kept = Object.entries(texts)
    .filter(([key, value]) => value.length <= longest && hasEnd(ends, key))
    .slice(0, MAX_ENTRIES);
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

function hasEnd(ends: readonly string[], key: string): boolean {
  return ends.some((end) => key.endsWith(end));
}
