import { canonicalJson } from '../../constructs/kit/hash.js';
import {
  keyOf,
  type KubeObject,
  type ObjectKey,
  type Resource,
} from '../../constructs/kit/object.js';
import type { Sink } from './reflector.js';

/** A value of a store has the version in which it was read. */
export interface Versioned {
  readonly resourceVersion: string;
}

/** Called for each change: `before` is undefined for a new value, `after` for a deleted one. */
export type ChangeListener<V> = (
  key: ObjectKey,
  before: V | undefined,
  after: V | undefined,
) => void;

const DELETED_KEPT = 1_000;

/**
 * The values of one kind, by key. Versions only increase: the response to a write may be put in
 * before the watch delivers it, and an older event does not revert it.
 */
export class Store<V extends Versioned> {
  readonly #values = new Map<ObjectKey, V>();
  /** Versions of recent deletions: the response to an older write may still arrive. */
  readonly #deleted = new Map<ObjectKey, string>();
  readonly #listeners: ChangeListener<V>[] = [];

  /** @param same whether a change is stored without calling the listeners */
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
    const known = before?.resourceVersion ?? this.#deleted.get(key);
    if (known !== undefined && isNewer(known, value.resourceVersion)) return;
    this.#deleted.delete(key);
    this.#values.set(key, value);
    if (!before || !this.same(before, value)) this.#notify(key, before, value);
  }

  /** Puts in the result of a read, also if the object counted as deleted. */
  found(key: ObjectKey, value: V): void {
    this.#deleted.delete(key);
    this.upsert(key, value);
  }

  /** @param version of the deletion; undefined if the API server returned 404 */
  remove(key: ObjectKey, version: string | undefined): void {
    const before = this.#values.get(key);
    if (!before || (version !== undefined && isNewer(before.resourceVersion, version))) return;
    this.#values.delete(key);
    if (version !== undefined) this.#rememberDeletion(key, version);
    this.#notify(key, before, undefined);
  }

  /** Replaces the collection by a list of some version. Only keys that `inScope` accepts are removed. */
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

  #rememberDeletion(key: ObjectKey, version: string): void {
    this.#deleted.set(key, version);
    if (this.#deleted.size <= DELETED_KEPT) return;
    const [oldest] = this.#deleted.keys();
    if (oldest !== undefined) this.#deleted.delete(oldest);
  }

  #notify(key: ObjectKey, before: V | undefined, after: V | undefined): void {
    for (const listener of this.#listeners) listener(key, before, after);
  }
}

/** Versions are increasing numbers, too large for a double: the longer one is the newer one. */
export function isNewer(a: string, b: string): boolean {
  return a.length === b.length ? a > b : a.length > b.length;
}

interface Entry {
  readonly resourceVersion: string;
  readonly object: KubeObject;
}

export interface ResourceStoreProps {
  readonly onChange: (key: string, object: KubeObject | undefined) => void;
  /** Called with the number of resources in a namespace when it changes. */
  readonly onCount: (namespace: string, count: number) => void;
  /** Enqueues a resource. */
  readonly enqueue: (key: string) => void;
}

/** The custom resources of one kind. A status that the operator wrote enqueues only dependents. */
export class ResourceStore implements Sink {
  readonly #store = new Store<Entry>(() => false);
  readonly #counts = new Map<string, number>();
  #remembering = false;

  constructor(private readonly props: ResourceStoreProps) {
    this.#store.onChange((key, before, after) => {
      if (!before || !after) this.#count(key, after ? 1 : -1);
      props.onChange(key, after?.object);
      const relevant = this.#remembering ? withoutOwnChanges : withoutVersion;
      if (before && after && alike(relevant(before.object), relevant(after.object))) return;
      props.enqueue(key);
    });
  }

  /**
   * Puts in the response to a write of the operator. It may contain another client's change, too; the
   * watch then delivers that change in a version that is already stored.
   */
  remember(object: KubeObject): void {
    this.#remembering = true;
    try {
      this.upsert(object);
    } finally {
      this.#remembering = false;
    }
  }

  replace(objects: readonly KubeObject[], version: string): void {
    this.scoped(() => true).replace(objects, version);
  }

  upsert(object: KubeObject): void {
    this.#store.upsert(keyOfObject(object), entryOf(object));
  }

  remove(object: KubeObject): void {
    this.#store.remove(keyOfObject(object), object.metadata.resourceVersion);
  }

  /** The sink of a reflector that lists some namespaces only. */
  scoped(inScope: (namespace: string) => boolean): Sink {
    return {
      replace: (objects, version) => {
        this.#store.replace(
          new Map(objects.map((object) => [keyOfObject(object), entryOf(object)])),
          version,
          (key) => inScope(key.slice(0, key.indexOf('/'))),
        );
      },
      upsert: (object) => {
        this.upsert(object);
      },
      remove: (object) => {
        this.remove(object);
      },
    };
  }

  #count(key: string, by: number): void {
    const namespace = key.slice(0, key.indexOf('/'));
    const count = (this.#counts.get(namespace) ?? 0) + by;
    if (count === 0) this.#counts.delete(namespace);
    else this.#counts.set(namespace, count);
    this.props.onCount(namespace, count);
  }
}

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** Without the metadata that only the API server and kubectl read. */
function entryOf(object: KubeObject): Entry {
  const { managedFields: _managed, annotations, ...metadata } = object.metadata;
  const { [LAST_APPLIED]: _applied, ...others } = annotations ?? {};
  return {
    resourceVersion: metadata.resourceVersion ?? '',
    object: {
      ...object,
      metadata: { ...metadata, ...(Object.keys(others).length > 0 ? { annotations: others } : {}) },
    },
  };
}

function alike(a: unknown, b: unknown): boolean {
  return canonicalJson(a) === canonicalJson(b);
}

/** The part of a resource that the operator does not write: without status and finalizers. */
function withoutOwnChanges(object: KubeObject): unknown {
  const { generation, labels, annotations, deletionTimestamp } = object.metadata;
  return [(object as Resource).spec, generation, labels, annotations, deletionTimestamp];
}

function withoutVersion(object: KubeObject): KubeObject {
  const { resourceVersion: _version, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function keyOfObject({ metadata }: KubeObject): string {
  return keyOf(metadata.namespace, metadata.name);
}
