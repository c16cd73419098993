import type { ObjectKey } from '../constructs/kit/object.js';

/** What a store holds needs the version that it was seen in. */
export interface Versioned {
  readonly resourceVersion: string;
}

/** Told of each change: before is undefined for a new value, after for one that is gone. */
export type ChangeListener<V> = (
  key: ObjectKey,
  before: V | undefined,
  after: V | undefined,
) => void;

/**
 * The values of one kind, by key. It goes forward only: an answer to a write may be put in before the
 * watch brings it, and an older event does not take it back.
 */
export class Store<V extends Versioned> {
  readonly #values = new Map<ObjectKey, V>();
  readonly #listeners: ChangeListener<V>[] = [];

  /** @param same whether two values are alike in all that matters: such a change is kept, but not told */
  constructor(private readonly same: (a: V, b: V) => boolean) {}

  get(key: ObjectKey): V | undefined {
    return this.#values.get(key);
  }

  get size(): number {
    return this.#values.size;
  }

  entries(): IterableIterator<[ObjectKey, V]> {
    return this.#values.entries();
  }

  onChange(listener: ChangeListener<V>): void {
    this.#listeners.push(listener);
  }

  upsert(key: ObjectKey, value: V): void {
    const before = this.#values.get(key);
    if (before && isNewer(before.resourceVersion, value.resourceVersion)) return;
    this.#values.set(key, value);
    if (!before || !this.same(before, value)) this.#tell(key, before, value);
  }

  /** @param version of the deletion; undefined where the server said that there is none */
  remove(key: ObjectKey, version: string | undefined): void {
    const before = this.#values.get(key);
    if (!before || (version !== undefined && isNewer(before.resourceVersion, version))) return;
    this.#values.delete(key);
    this.#tell(key, before, undefined);
  }

  /** Puts in a whole collection as of a version. Only keys that `inScope` accepts can go. */
  replace(
    values: ReadonlyMap<ObjectKey, V>,
    version: string,
    inScope: (key: ObjectKey) => boolean = () => true,
  ): void {
    for (const key of [...this.#values.keys()]) {
      if (!values.has(key) && inScope(key)) this.remove(key, version);
    }
    for (const [key, value] of values) this.upsert(key, value);
  }

  #tell(key: ObjectKey, before: V | undefined, after: V | undefined): void {
    for (const listener of this.#listeners) listener(key, before, after);
  }
}

/** Versions are numbers that grow, too large for a double: the longer one is the newer one. */
export function isNewer(a: string, b: string): boolean {
  return a.length === b.length ? a > b : a.length > b.length;
}
