import type { ObjectKey } from '../../constructs/kit/object.js';

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

const GONE_KEPT = 1_000;

/**
 * The values of one kind, by key. It goes forward only: an answer to a write may be put in before the
 * watch brings it, and an older event does not take it back.
 */
export class Store<V extends Versioned> {
  readonly #values = new Map<ObjectKey, V>();
  /** Versions of what went lately: the answer to an older write may still be on its way. */
  readonly #gone = new Map<ObjectKey, string>();
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
    const known = before?.resourceVersion ?? this.#gone.get(key);
    if (known !== undefined && isNewer(known, value.resourceVersion)) return;
    this.#gone.delete(key);
    this.#values.set(key, value);
    if (!before || !this.same(before, value)) this.#tell(key, before, value);
  }

  /** Puts in what a read has just found, also where it was taken for gone. */
  found(key: ObjectKey, value: V): void {
    this.#gone.delete(key);
    this.upsert(key, value);
  }

  /** @param version of the deletion; undefined where the server said that there is none */
  remove(key: ObjectKey, version: string | undefined): void {
    const before = this.#values.get(key);
    if (!before || (version !== undefined && isNewer(before.resourceVersion, version))) return;
    this.#values.delete(key);
    if (version !== undefined) this.#bury(key, version);
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

  #bury(key: ObjectKey, version: string): void {
    this.#gone.set(key, version);
    if (this.#gone.size <= GONE_KEPT) return;
    const [oldest] = this.#gone.keys();
    if (oldest !== undefined) this.#gone.delete(oldest);
  }

  #tell(key: ObjectKey, before: V | undefined, after: V | undefined): void {
    for (const listener of this.#listeners) listener(key, before, after);
  }
}

/** Versions are numbers that grow, too large for a double: the longer one is the newer one. */
export function isNewer(a: string, b: string): boolean {
  return a.length === b.length ? a > b : a.length > b.length;
}
