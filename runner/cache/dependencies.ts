import { canonicalJson, hashOf, hashOfText } from '../../constructs/kit/json/hash.js';
import type { Index, ClusterReader } from '../../constructs/kit/kind.js';
import { Waiting, messageOf } from '../../constructs/kit/errors.js';
import { joined, keyOf, keyOfObject, type KubeObject } from '../../constructs/kit/object.js';
import { kindId, type ObjectKind } from '../../constructs/kit/object-kind.js';
import type { Settings } from '../../constructs/kit/operator-settings.js';
import type { OnUnusable } from './isolation.js';
import { Multimap } from './multimap.js';

/** Picks what a reader needs of an object. */
type Pick = (object: KubeObject) => unknown;

/** How soon a dependent is reconciled: members of one list often change together. */
export type Urgency = 'now' | 'soon';

/** Enqueues a dependent: `<controller>/<namespace>/<name>`. */
export type Enqueue = (dependent: string, urgency: Urgency) => void;

interface Read {
  readonly topic: string;
  readonly pick: Pick | undefined;
  /** The picked value, as canonical JSON; undefined if the object did not exist. */
  readonly picked: string | undefined;
}

/**
 * The objects that kinds read, and their dependents. Each read is a dependency: when the picked value
 * of the object changes, the dependent is enqueued, and only then.
 */
export class DependencyTracker {
  readonly #objects = new Map<string, Map<string, KubeObject>>();
  /** The keys of objects, by index and value. */
  readonly #indexed = new Multimap();
  readonly #served = new Set<string>();
  /** The dependents of each topic. */
  readonly #dependents = new Multimap();
  /** What each dependent has read. */
  readonly #reads = new Map<string, readonly Read[]>();
  readonly #picks: PickCache;
  readonly #indexValues: IndexValues;

  constructor(
    private readonly props: {
      readonly settings: Settings;
      readonly indexes: readonly Index[];
      readonly enqueue: Enqueue;
      /** Milliseconds since 1970. */
      readonly now: () => number;
      readonly onUnusable?: OnUnusable;
    },
  ) {
    const { onUnusable = () => undefined } = props;
    this.#picks = new PickCache(onUnusable);
    this.#indexValues = new IndexValues(onUnusable);
  }

  /** All objects of a kind that can be read. */
  objects(kind: string): ReadonlyMap<string, KubeObject> {
    return this.#objects.get(kind) ?? new Map<string, KubeObject>();
  }

  /** Adds, changes or removes an object, and enqueues the dependents of what changed. */
  update(kind: string, key: string, after: KubeObject | undefined): void {
    const objects = this.#objectsOf(kind);
    const before = objects.get(key);
    if (after) objects.set(key, after);
    else objects.delete(key);
    for (const [dependent, reads] of this.#readsOf(joined(kind, key))) {
      const changed = reads.some(
        ({ pick, picked }) => pick && this.#picks.of(after, pick) !== picked,
      );
      if (changed) this.props.enqueue(dependent, 'now');
    }
    for (const index of this.props.indexes) {
      if (index.kind === kind) this.#reindex(index, key, before, after);
    }
  }

  /** Removes all objects of a kind. */
  drop(kind: string): void {
    for (const key of [...this.objects(kind).keys()]) this.update(kind, key, undefined);
  }

  /** Whether the cluster serves an optional API, without a dependency. */
  serves(kind: ObjectKind): boolean {
    return this.#served.has(kindId(kind));
  }

  /** Sets whether the cluster serves an optional API. */
  serve(kind: ObjectKind, served: boolean): void {
    const topic = kindId(kind);
    if (this.#served.has(topic) === served) return;
    if (served) this.#served.add(topic);
    else this.#served.delete(topic);
    for (const dependent of this.#dependents.of(topic)) this.props.enqueue(dependent, 'now');
  }

  /**
   * A reader for one reconcile. On `commit` its reads replace the dependencies of the dependent.
   * `commit` returns when the first point in time passes that was read, in milliseconds since 1970.
   */
  track(dependent: string): { readonly reader: ClusterReader; commit: () => number } {
    const reads: Read[] = [];
    let dueAt = Infinity;
    const { settings, now } = this.props;
    const reader: ClusterReader = {
      settings,
      serves: (kind) => {
        const topic = kindId(kind);
        reads.push({ topic, pick: undefined, picked: undefined });
        return this.#served.has(topic);
      },
      passed: (since, delayMs = 0, together) => {
        const end = Date.parse(since) + delayMs;
        const at = together === undefined || delayMs === 0 ? end : aligned(end, delayMs, together);
        const passed = at <= now();
        if (!passed) dueAt = Math.min(dueAt, at);
        return passed;
      },
      get: <O extends KubeObject, T>(
        kind: string,
        namespace: string,
        name: string,
        pick: (object: O) => T,
      ) => {
        const key = keyOf(namespace, name);
        const object = this.#objects.get(kind)?.get(key) as O | undefined;
        const constant = pick as unknown as Pick;
        reads.push({
          topic: joined(kind, key),
          pick: constant,
          picked: this.#picks.of(object, constant),
        });
        return object && orUnreadable(kind, name, () => pick(object));
      },
      list: <O extends KubeObject, T>(index: Index<O>, value: string, pick: (object: O) => T) => {
        const topic = indexTopic(index, value);
        reads.push({ topic, pick: pick as unknown as Pick, picked: undefined });
        const objects = this.objects(index.kind);
        return [...this.#indexed.of(topic)]
          .sort()
          .flatMap((key) => objects.get(key) ?? [])
          .filter((object) => this.#picks.isReadable(object, pick as unknown as Pick))
          .map((object) => pick(object as O));
      },
    };
    const commit = (): number => {
      this.#replaceReads(dependent, reads);
      return dueAt;
    };
    return { reader, commit };
  }

  /** Removes all dependencies of a dependent. */
  forget(dependent: string): void {
    this.#replaceReads(dependent, []);
  }

  #objectsOf(kind: string): Map<string, KubeObject> {
    const found = this.#objects.get(kind);
    if (found) return found;
    const made = new Map<string, KubeObject>();
    this.#objects.set(kind, made);
    return made;
  }

  /** The dependents of a topic, each with its reads of the topic. */
  *#readsOf(topic: string): Generator<readonly [dependent: string, reads: readonly Read[]]> {
    for (const dependent of this.#dependents.of(topic)) {
      const reads = this.#reads.get(dependent) ?? [];
      yield [dependent, reads.filter((read) => read.topic === topic)];
    }
  }

  #replaceReads(dependent: string, reads: readonly Read[]): void {
    for (const { topic } of this.#reads.get(dependent) ?? []) {
      this.#dependents.delete(topic, dependent);
    }
    for (const { topic } of reads) this.#dependents.add(topic, dependent);
    if (reads.length > 0) this.#reads.set(dependent, reads);
    else this.#reads.delete(dependent);
  }

  #reindex(
    index: Index,
    key: string,
    before: KubeObject | undefined,
    after: KubeObject | undefined,
  ): void {
    const old = new Set(before ? this.#indexValues.of(index, before, undefined) : []);
    const now = new Set(after ? this.#indexValues.of(index, after, before) : []);
    for (const value of new Set([...old, ...now])) {
      const topic = indexTopic(index, value);
      if (now.has(value)) this.#indexed.add(topic, key);
      else this.#indexed.delete(topic, key);
      const moved = old.has(value) !== now.has(value);
      for (const [dependent, reads] of this.#readsOf(topic)) {
        const changed = reads.some(
          ({ pick }) => pick && this.#picks.of(before, pick) !== this.#picks.of(after, pick),
        );
        if (moved || changed) this.props.enqueue(dependent, 'soon');
      }
    }
  }
}

/** What a pick of an object that cannot be read is; no JSON is equal to it. */
const UNREADABLE = 'unreadable';
/** Longer ones are kept as their hash: most of a large fleet's memory is texts. */
const LONGEST_PICK = 40;

/** Many dependents pick the same of one object: it is computed once for each object. */
class PickCache {
  readonly #picked = new WeakMap<KubeObject, Map<Pick, string>>();

  constructor(private readonly onUnusable: OnUnusable) {}

  of(object: KubeObject | undefined, pick: Pick): string | undefined {
    if (!object) return undefined;
    let values = this.#picked.get(object);
    if (!values) this.#picked.set(object, (values = new Map<Pick, string>()));
    const known = values.get(pick);
    if (known !== undefined) return known;
    const value = this.#pickOf(object, pick);
    if (value !== undefined) values.set(pick, value);
    return value;
  }

  isReadable(object: KubeObject, pick: Pick): boolean {
    return this.of(object, pick) !== UNREADABLE;
  }

  #pickOf(object: KubeObject, pick: Pick): string | undefined {
    try {
      const value = pick(object);
      if (value === undefined) return undefined;
      const text = canonicalJson(value);
      return text.length > LONGEST_PICK ? hashOfText(text) : text;
    } catch (error) {
      this.onUnusable(object.kind, keyOfObject(object), 'read', error);
      return UNREADABLE;
    }
  }
}

/** The values of objects under indexes. An object that cannot be read stays where it was found last. */
class IndexValues {
  /** Of objects whose values cannot be computed. */
  readonly #kept = new WeakMap<KubeObject, Map<Index, readonly string[]>>();

  constructor(private readonly onUnusable: OnUnusable) {}

  of(index: Index, object: KubeObject, before: KubeObject | undefined): readonly string[] {
    const kept = this.#kept.get(object)?.get(index);
    if (kept) return kept;
    try {
      return index.values(object);
    } catch (error) {
      this.onUnusable(object.kind, keyOfObject(object), 'index', error);
      const values = before ? this.of(index, before, undefined) : [];
      const ofObject = this.#kept.get(object) ?? new Map<Index, readonly string[]>();
      this.#kept.set(object, ofObject.set(index, values));
      return values;
    }
  }
}

/** @throws Waiting where an object cannot be read */
function orUnreadable<T>(kind: string, name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    const why = messageOf(error);
    const message = `${kind} ${name}: cannot be read: ${why}; correct it`;
    throw new Waiting('Unreadable', message);
  }
}

/** The moment nearest to `end` of those, `every` milliseconds apart, that all users of one text share. */
function aligned(end: number, every: number, together: string): number {
  const offset = parseInt(hashOf(together).slice(0, 8), 16) % every;
  return Math.round((end - offset) / every) * every + offset;
}

function indexTopic(index: { readonly name: string }, value: string): string {
  return [index.name, value].join('=');
}
