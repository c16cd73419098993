import { canonicalJson, hashOf, hashOfText } from '../../constructs/kit/json/hash.js';
import type { Index, ClusterReader } from '../../constructs/kit/kind.js';
import { Waiting, messageOf, textOf } from '../../constructs/kit/errors.js';
import { joined, keyOf, keyOfObject, type KubeObject } from '../../constructs/kit/object.js';
import { kindId, type ObjectKind } from '../../constructs/kit/object-kind.js';
import type { Settings } from '../../constructs/kit/operator-settings.js';
import { problemsOf } from './checked.js';
import { ValuesIds } from './values-ids.js';
import type { OnInvalid } from './invalid-objects.js';
import { Multimap } from './multimap.js';

/** Picks what a reader needs of an object. */
type Picker = (object: KubeObject) => unknown;

/**
 * How soon a dependent is reconciled: children often change together (`next`), and members of one list even
 * more (`soon`).
 */
export type Urgency = 'now' | 'next' | 'soon';

/** Enqueues a dependent, `<controller>/<namespace>/<name>`; `cause` is for the metrics. */
export type Enqueue = (dependent: string, urgency: Urgency, cause: string) => void;

interface Read {
  readonly topic: string;
  readonly pick: Picker | undefined;
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
  readonly valuesIds = new ValuesIds();
  readonly #onInvalid: OnInvalid;

  constructor(
    private readonly props: {
      readonly settings: Settings;
      readonly indexes: readonly Index[];
      readonly enqueue: Enqueue;
      /** Milliseconds since 1970. */
      readonly now: () => number;
      readonly onInvalid?: OnInvalid;
    },
  ) {
    this.#onInvalid = props.onInvalid ?? (() => undefined);
    this.#picks = new PickCache(this.#onInvalid);
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
    if (after && kind === 'Secret') this.valuesIds.seen(key);
    for (const [dependent, reads] of this.#readsOf(joined(kind, key))) {
      const changed = reads.some(
        ({ pick, picked }) => pick && this.#picks.of(after, pick) !== picked,
      );
      if (changed) this.props.enqueue(dependent, 'now', kind);
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
    for (const dependent of this.#dependents.of(topic))
      this.props.enqueue(dependent, 'now', kind.kind);
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
      isDue: (since, afterMs = 0, { alignedBy } = {}) => {
        const at = endOf(since, afterMs, alignedBy);
        // A status can hold any text: what is no time would never be due.
        if (Number.isNaN(at)) return true;
        const due = at <= now();
        if (!due) dueAt = Math.min(dueAt, at);
        return due;
      },
      get: <O extends KubeObject, T>(
        kind: string,
        namespace: string,
        name: string,
        pick: (object: O) => T,
      ) => {
        const key = keyOf(namespace, name);
        const object = this.#objects.get(kind)?.get(key) as O | undefined;
        const constant = pick as unknown as Picker;
        reads.push({
          topic: joined(kind, key),
          pick: constant,
          picked: this.#picks.of(object, constant),
        });
        return object && readOne(object, pick);
      },
      generated: <T>(namespace: string, name: string, pick: (secret: KubeObject) => T) => {
        const key = keyOf(namespace, name);
        const secret = this.objects('Secret').get(key) ?? this.valuesIds.expected(namespace, name);
        reads.push({ topic: joined('Secret', key), pick, picked: this.#picks.of(secret, pick) });
        return readOne(secret, pick);
      },
      list: <O extends KubeObject, T>(index: Index<O>, value: string, pick: (object: O) => T) => {
        const topic = indexTopic(index, value);
        const constant = pick as unknown as Picker;
        reads.push({ topic, pick: constant, picked: undefined });
        return this.#under(index, topic)
          .filter((object) => this.#picks.of(object, constant) !== INVALID)
          .map((object) => pick(object as O));
      },
      names: <O extends KubeObject>(index: Index<O>, value: string) => {
        const topic = indexTopic(index, value);
        reads.push({ topic, pick: undefined, picked: undefined });
        return this.#under(index, topic).map(({ metadata }) => metadata.name);
      },
    };
    const commit = (): number => {
      this.#replaceReads(dependent, reads);
      return dueAt;
    };
    return { reader, commit };
  }

  /** The objects under an index value, sorted by key. */
  #under({ kind }: { readonly kind: string }, topic: string): readonly KubeObject[] {
    const objects = this.objects(kind);
    return [...this.#indexed.of(topic)].sort().flatMap((key) => objects.get(key) ?? []);
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
    const old = new Set(before ? valuesOf(index, before) : []);
    const now = new Set(after ? valuesOf(index, after, this.#onInvalid) : []);
    for (const value of new Set([...old, ...now])) {
      const topic = indexTopic(index, value);
      if (now.has(value)) this.#indexed.add(topic, key);
      else this.#indexed.delete(topic, key);
      const moved = old.has(value) !== now.has(value);
      for (const [dependent, reads] of this.#readsOf(topic)) {
        const changed = reads.some(
          ({ pick }) => pick && this.#picks.of(before, pick) !== this.#picks.of(after, pick),
        );
        if (moved || changed) this.props.enqueue(dependent, 'soon', index.name);
      }
    }
  }
}

/** What a pick of an invalid object is; no JSON is equal to it. */
const INVALID = 'invalid';
/** Longer ones are kept as their hash: most of a large fleet's memory is texts. */
const LONGEST_PICK = 40;

/** Many dependents pick the same of one object: it is computed once for each object. */
class PickCache {
  readonly #picked = new WeakMap<KubeObject, Map<Picker, string>>();

  constructor(private readonly onInvalid: OnInvalid) {}

  of(object: KubeObject | undefined, pick: Picker): string | undefined {
    if (!object) return undefined;
    let values = this.#picked.get(object);
    if (!values) this.#picked.set(object, (values = new Map<Picker, string>()));
    const known = values.get(pick);
    if (known !== undefined) return known;
    const value = this.#pickOf(object, pick);
    if (value !== undefined) values.set(pick, value);
    return value;
  }

  #pickOf(object: KubeObject, pick: Picker): string | undefined {
    if (problemsOf(object).length > 0) return INVALID;
    try {
      const value = pick(object);
      if (value === undefined) return undefined;
      const text = canonicalJson(value);
      return text.length > LONGEST_PICK ? hashOfText(text) : text;
    } catch (error) {
      // Of an API whose schema we do not know.
      this.onInvalid(object.kind, keyOfObject(object), 'read', error);
      return INVALID;
    }
  }
}

/** The values of an object under an index: none where it lacks what the index reads. */
function valuesOf(index: Index, object: KubeObject, onInvalid?: OnInvalid): readonly string[] {
  try {
    return index.values(object);
  } catch (error) {
    onInvalid?.(object.kind, keyOfObject(object), 'index', error);
    return [];
  }
}

/** @throws Waiting where the object is invalid */
function readOne<O extends KubeObject, T>(object: O, pick: (object: O) => T): T {
  let why = textOf(problemsOf(object));
  try {
    if (why === '') return pick(object);
  } catch (error) {
    why = messageOf(error);
  }
  const { kind, metadata } = object;
  throw new Waiting('Unreadable', `${kind} ${metadata.name}: is invalid: ${why}; correct it`);
}

/** `every` milliseconds after `since`; with a text the nearest moment that all its users share. */
function endOf(since: string, every: number, alignedBy: string | undefined): number {
  const end = Date.parse(since) + every;
  if (alignedBy === undefined || every === 0) return end;
  const offset = parseInt(hashOf(alignedBy).slice(0, 8), 16) % every;
  return Math.round((end - offset) / every) * every + offset;
}

function indexTopic(index: { readonly name: string }, value: string): string {
  return [index.name, value].join('=');
}
