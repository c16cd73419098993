/**
 * A set of texts for each key. Most of a large fleet's sets have one text, which is kept without a set:
 * that is a fifth of the memory.
 */
export class Multimap {
  readonly #values = new Map<string, string | Set<string>>();

  of(key: string): Iterable<string> {
    const found = this.#values.get(key);
    return typeof found === 'string' ? [found] : (found ?? []);
  }

  add(key: string, value: string): void {
    const found = this.#values.get(key);
    if (found === undefined) this.#values.set(key, value);
    else if (typeof found !== 'string') found.add(value);
    else if (found !== value) this.#values.set(key, new Set([found, value]));
  }

  delete(key: string, value: string): void {
    const found = this.#values.get(key);
    if (typeof found === 'string' ? found === value : found?.delete(value) && found.size === 0) {
      this.#values.delete(key);
    }
  }
}
