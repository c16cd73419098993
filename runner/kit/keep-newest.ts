/** Deletes the entry that was added first if there are more than `most`. */
export function keepNewest<K>(
  entries: Pick<Map<K, unknown> | Set<K>, 'size' | 'keys'> & { delete(key: K): boolean },
  most: number,
): void {
  if (entries.size <= most) return;
  for (const oldest of entries.keys()) {
    entries.delete(oldest);
    return;
  }
}
