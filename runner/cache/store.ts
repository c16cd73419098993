import { keepNewest } from '../kit/keep-newest.js';
import type { KindDefinition } from '../../constructs/kit/definition.js';
import { equal } from '../../constructs/kit/json/equal.js';
import { textOf } from '../../constructs/kit/errors.js';
import {
  keyOfObject,
  type KubeObject,
  type ObjectKey,
  type Resource,
  namespaceOfKey,
} from '../../constructs/kit/object.js';
import { checked, problemsOf } from './checked.js';
import type { OnInvalid } from './invalid-objects.js';
import { keptMetadata } from './kept-metadata.js';
import { forEachKey, type Replacement, type Sink } from './reflector.js';
import { isNewer } from './resource-version.js';

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

/** What a list has, by key: functions, as a large list is not read in one turn of the event loop. */
export type Listed<V> = ReadonlyMap<ObjectKey, () => V>;

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
    const known = this.#values.get(key)?.resourceVersion ?? this.#deleted.get(key);
    if (known !== undefined && isNewer(known, value.resourceVersion)) return;
    this.#put(key, value);
  }

  #put(key: ObjectKey, value: V): void {
    const before = this.#values.get(key);
    this.#deleted.delete(key);
    this.#values.set(key, value);
    if (!before || !this.same(before, value)) this.#notify(key, before, value);
  }

  /** The last deletion of a key, to call before an object is read. */
  deletionOf(key: ObjectKey): string | undefined {
    return this.#deleted.get(key);
  }

  /**
   * Puts in the result of a read, also if the object counted as deleted before the read.
   * @param deletion what `deletionOf` returned before the read
   * @returns false if the object was deleted meanwhile: no later event would remove it
   */
  found(key: ObjectKey, value: V, deletion: string | undefined): boolean {
    if (this.#deleted.get(key) !== deletion) return false;
    this.#deleted.delete(key);
    this.upsert(key, value);
    return true;
  }

  /** @param version of the deletion; undefined if the API server returned 404 */
  remove(key: ObjectKey, version: string | undefined): void {
    const before = this.#values.get(key);
    if (!before || (version !== undefined && isNewer(before.resourceVersion, version))) return;
    this.#values.delete(key);
    if (version !== undefined) this.#rememberDeletion(key, version);
    this.#notify(key, before, undefined);
  }

  /**
   * Replaces the collection by a list of some version. What the list has counts, unless a value is newer
   * than the list itself. Only keys that `inScope` accepts are removed.
   */
  async replace(
    values: Listed<V>,
    version: string,
    inScope: (key: ObjectKey) => boolean = () => true,
    how: Replacement = {},
  ): Promise<void> {
    const { restored = false } = how;
    // The versions of the history before count no more.
    if (restored) this.#deleted.clear();
    const surplus = [...this.#values.keys()].filter((key) => !values.has(key) && inScope(key));
    const work = new Map<ObjectKey, (() => V) | undefined>(surplus.map((key) => [key, undefined]));
    for (const [key, value] of values) work.set(key, value);
    const replaceOne = (key: ObjectKey, value: (() => V) | undefined): void => {
      if (!value) this.remove(key, restored ? undefined : version);
      else if (restored || this.#isOlder(key, version)) this.#put(key, value());
    };
    await forEachKey(work, replaceOne, how);
  }

  /** Whether what is known of a key is older than a list, or as old. */
  #isOlder(key: ObjectKey, version: string): boolean {
    const known = this.#values.get(key)?.resourceVersion ?? this.#deleted.get(key);
    return known === undefined || !isNewer(known, version);
  }

  #rememberDeletion(key: ObjectKey, version: string): void {
    this.#deleted.set(key, version);
    keepNewest(this.#deleted, DELETED_KEPT);
  }

  #notify(key: ObjectKey, before: V | undefined, after: V | undefined): void {
    for (const listener of this.#listeners) listener(key, before, after);
  }
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
  /** The kind, whose schema the objects are brought to. @default as they are */
  readonly definition?: KindDefinition;
  readonly onInvalid?: OnInvalid;
}

/** The custom resources of one kind. A status that the operator wrote enqueues only dependents. */
export class ResourceStore implements Sink {
  readonly #store = new Store<Entry>(() => false);
  readonly #counts = new Map<string, number>();
  /** The keys that the operator is writing. */
  readonly #writing = new Set<string>();

  constructor(private readonly props: ResourceStoreProps) {
    this.#store.onChange((key, before, after) => {
      if (!before || !after) this.#count(key, after ? 1 : -1);
      props.onChange(key, after?.object);
      const relevant = this.#writing.has(key) ? withoutOwnChanges : withoutVersion;
      if (before && after && equal(relevant(before.object), relevant(after.object))) return;
      props.enqueue(key);
    });
  }

  /**
   * Writes a resource, and puts in the response. The watch may deliver the write before. Another client's
   * change may come with either: a write that names the version it is for fails then.
   */
  async write<O extends KubeObject | undefined>(key: string, write: () => Promise<O>): Promise<O> {
    this.#writing.add(key);
    try {
      const answer = await write();
      if (answer) this.upsert(answer);
      return answer;
    } finally {
      this.#writing.delete(key);
    }
  }

  async replace(objects: readonly KubeObject[], version: string, how?: Replacement): Promise<void> {
    await this.scoped(() => true).replace(objects, version, how);
  }

  upsert(object: KubeObject): void {
    this.#store.upsert(keyOfObject(object), this.#entryOf(object));
  }

  remove(object: KubeObject): void {
    this.#store.remove(keyOfObject(object), object.metadata.resourceVersion);
  }

  /** The sink of a reflector that lists some namespaces only. */
  scoped(inScope: (namespace: string) => boolean): Sink {
    return {
      compact,
      replace: (objects, version, how) =>
        this.#store.replace(
          new Map(objects.map((object) => [keyOfObject(object), () => this.#entryOf(object)])),
          version,
          (key) => inScope(namespaceOfKey(key)),
          how,
        ),
      upsert: (object) => {
        this.upsert(object);
      },
      remove: (object) => {
        this.remove(object);
      },
    };
  }

  #entryOf(object: KubeObject): Entry {
    const { definition, onInvalid } = this.props;
    const { resourceVersion = '' } = object.metadata;
    if (!definition) return { resourceVersion, object: compact(object) };
    const key = keyOfObject(object);
    const resource = checked(definition, object, this.#store.get(key)?.object);
    const problems = problemsOf(resource);
    if (problems.length > 0) onInvalid?.(object.kind, key, 'parse', new Error(textOf(problems)));
    return { resourceVersion, object: resource };
  }

  #count(key: string, by: number): void {
    const namespace = namespaceOfKey(key);
    const count = (this.#counts.get(namespace) ?? 0) + by;
    if (count === 0) this.#counts.delete(namespace);
    else this.#counts.set(namespace, count);
    this.props.onCount(namespace, count);
  }
}

/** Without the metadata that only the API server and kubectl read. */
function compact(object: KubeObject): KubeObject {
  return { ...object, metadata: keptMetadata(object) };
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
