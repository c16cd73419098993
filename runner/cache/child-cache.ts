import { keepNewest } from '../kit/keep-newest.js';
import { defined } from '../../constructs/kit/json/defined.js';
import { pickBySuffix } from '../../constructs/kit/json/pick-by-suffix.js';
import { hashOf } from '../../constructs/kit/json/hash.js';
import { READY } from '../../constructs/kit/health.js';
import { MANAGED_BY_LABEL } from '../../constructs/kit/labels.js';
import { OWNER, type MetadataKeys } from '../../constructs/kit/metadata-keys.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import { childId, childOf, invalidChild, sameChild, type Child } from './child.js';
import type { OnInvalid } from './invalid-objects.js';
import type { Replacement } from './reflector.js';
import { Multimap } from './multimap.js';
import { Store } from './store.js';

/** What was applied last, and the hash of our fields in the response. */
interface Applied {
  readonly hash: string;
  readonly owned: string | undefined;
  readonly createOnly: string | undefined;
  /** Whether fields without an owner were left in it. */
  readonly unowned: boolean;
  /** The field that an admission policy has changed. */
  readonly altered: string | undefined;
}

/** A deleted Job that had succeeded. */
export interface EndedJob extends Child {
  /** Whether it was deleted neither by the operator nor because its TTL had passed. */
  readonly deletedByUser: boolean;
}

const ENDED_KEPT = 2_000;
/** The clocks of the API server and of the controller that deletes Jobs after their TTL differ. */
const CLOCK_SKEW_MS = 10_000;

/** All children of all resources, by id and by owner, and what was last applied to each. */
export class ChildCache {
  readonly #store = new Store<Child>(sameChild);
  readonly #byOwner = new Multimap();
  readonly #applied = new Map<string, Applied>();
  /** By id. */
  readonly #ended = new Map<string, EndedJob>();
  /** The uids of Jobs that the operator has deleted itself. */
  readonly #ownDeletions = new Set<string>();
  /** The children that are being written: the versions that came meanwhile, and that was put in. */
  readonly #writing = new Map<string, { seen?: string; put?: string }>();

  /**
   * @param onChange called with the owner, `<kind>/<namespace>/<name>`, of each changed child; `isOwn`:
   * while a reconcile of this owner writes it, see `writing`
   * @param options `now`: milliseconds since 1970; `batches`: their names, any name is one by default;
   * `onMissed`: called with an object that a read has found, and no list or event has brought
   */
  constructor(
    private readonly metadataKeys: MetadataKeys,
    private readonly onChange: (
      owner: string,
      before: Child | undefined,
      after: Child | undefined,
      isOwn: boolean,
    ) => void,
    private readonly onInvalid: OnInvalid = () => undefined,
    private readonly options: {
      readonly now?: () => number;
      readonly batches?: ReadonlySet<string>;
      readonly onMissed?: (kind: ObjectKind, object: KubeObject) => void;
    } = {},
  ) {
    this.#store.onChange((id, before, after) => {
      const writing = this.#writing.get(id);
      if (writing) writing.seen = after?.resourceVersion ?? 'deleted';
      for (const owner of new Set([before?.owner, after?.owner])) {
        if (owner === undefined) continue;
        const isOwner = after?.owner === owner;
        if (isOwner) this.#byOwner.add(owner, id);
        else this.#byOwner.delete(owner, id);
        onChange(owner, before, after, isOwner && writing !== undefined);
      }
      this.#keepEnded(id, before, after);
    });
  }

  #keepEnded(id: string, before: Child | undefined, after: Child | undefined): void {
    if (!after) {
      this.#applied.delete(id);
      this.#rememberEnded(before);
    } else if (this.#ended.get(id)?.uid !== after.uid) this.#ended.delete(id);
  }

  #now(): number {
    return (this.options.now ?? Date.now)();
  }

  get size(): number {
    return this.#store.size;
  }

  get(id: string): Child | undefined {
    return this.#store.get(id);
  }

  /** The children of a resource: `<kind>/<namespace>/<name>`. */
  of(owner: string): readonly Child[] {
    return [...this.#byOwner.of(owner)].flatMap((id) => this.#store.get(id) ?? []);
  }

  /**
   * A deleted Job that had succeeded. A reconcile may come after both, as when a policy deletes
   * Jobs a second after their end.
   */
  ended(id: string): EndedJob | undefined {
    return this.#ended.get(id);
  }

  /** The operator is about to delete a Job: its deletion is none by a user. */
  deletes({ job, uid }: Child): void {
    if (!job) return;
    this.#ownDeletions.add(uid);
    keepNewest(this.#ownDeletions, ENDED_KEPT);
  }

  applied(id: string): Applied | undefined {
    return this.#applied.get(id);
  }

  /** Assumes that a child matches its plan, since a digest of all children does. */
  trustAppliedHash(id: string, hash: string): void {
    const child = this.#store.get(id);
    if (!child) return;
    const { owned, createOnly } = child;
    this.#applied.set(id, { hash, owned, createOnly, unowned: false, altered: undefined });
  }

  /**
   * Puts in the response to a write: the next reconcile sees it before the watch delivers it.
   * @param hash of what was applied; undefined if it was not the whole object
   * @param altered the field that an admission policy has changed
   */
  put(kind: ObjectKind, object: KubeObject, hash: string | undefined, altered?: string): void {
    const { id, owned, createOnly, unowned } = this.#upsert(kind, object);
    const writing = this.#writing.get(id);
    if (writing) writing.put = object.metadata.resourceVersion ?? '';
    if (hash !== undefined) this.#applied.set(id, { hash, owned, createOnly, unowned, altered });
  }

  /**
   * Runs a write of a child, up to its `put`, for a reconcile that reads the child afterwards. Its watch often
   * delivers the write before the response. What another client has written meanwhile is news to the owner.
   */
  async writing<T>(id: string, write: () => Promise<T>): Promise<T> {
    const writing: { seen?: string; put?: string } = {};
    this.#writing.set(id, writing);
    try {
      return await write();
    } finally {
      this.#writing.delete(id);
      const child = this.#store.get(id);
      const isNews = writing.seen !== undefined && writing.seen !== writing.put;
      if (isNews && child?.owner !== undefined) this.onChange(child.owner, child, child, false);
    }
  }

  /** The last deletion of a child, to call before it is read. */
  deletionOf(id: string): string | undefined {
    return this.#store.deletionOf(id);
  }

  /**
   * Puts in the result of a read.
   * @param deletion what `deletionOf` returned before the read
   * @returns false if the child was deleted meanwhile
   */
  found(kind: ObjectKind, object: KubeObject, deletion: string | undefined): boolean {
    const child = this.#childOf(kind, object);
    const isMissed = this.#store.get(child.id) === undefined;
    const isFound = this.#store.found(child.id, child, deletion);
    if (isMissed && isFound) this.options.onMissed?.(kind, object);
    return isFound;
  }

  /** Forgets a child that a read has not found, unless something newer is known by now. */
  notFound(child: Child): void {
    if (this.#store.get(child.id) === child) this.#store.remove(child.id, undefined);
  }

  /** The sink of a kind's reflector. */
  sink(kind: ObjectKind, inScope: (namespace: string) => boolean) {
    const prefix = childId(kind, '', '').slice(0, -1);
    /** The records of objects that were compacted. */
    const records = new WeakMap<KubeObject, Child>();
    return {
      compact: (object: KubeObject): KubeObject => {
        const identity = identityOf(object);
        records.set(identity, this.#childOf(kind, object));
        return identity;
      },
      replace: (objects: readonly KubeObject[], version: string, how?: Replacement) => {
        const children = objects.map(
          (object) => records.get(object) ?? this.#childOf(kind, object),
        );
        return this.#store.replace(
          new Map(children.map((child) => [child.id, () => child])),
          version,
          (id) => id.startsWith(prefix) && inScope(this.#store.get(id)?.namespace ?? ''),
          how,
        );
      },
      upsert: (object: KubeObject) => {
        this.#upsert(kind, object);
      },
      remove: (object: KubeObject) => {
        const { namespace = '', name, resourceVersion } = object.metadata;
        const id = childId(kind, namespace, name);
        this.#store.remove(id, resourceVersion);
        // The last event may have what no event before it had.
        if (!this.#store.get(id)) this.#rememberEnded(this.#childOf(kind, object));
      },
    };
  }

  /** Forgets all children of a kind that the cluster no longer serves. */
  drop(kind: ObjectKind): void {
    const prefix = childId(kind, '', '').slice(0, -1);
    for (const [id] of [...this.#store.entries()]) {
      if (id.startsWith(prefix)) this.#store.remove(id, undefined);
    }
  }

  #rememberEnded(child: Child | undefined): void {
    if (!child?.job?.succeeded) return;
    const { expiresAt = Infinity, deletedAt = this.#now() } = child.job;
    const deletedByUser =
      !this.#ownDeletions.has(child.uid) && deletedAt < expiresAt - CLOCK_SKEW_MS;
    // Its deletion says nothing about its end.
    this.#ended.set(child.id, { ...child, deleting: false, health: READY, deletedByUser });
    keepNewest(this.#ended, ENDED_KEPT);
  }

  #upsert(kind: ObjectKind, object: KubeObject): Child {
    const { namespace = '', name, uid, resourceVersion } = object.metadata;
    const known = this.#store.get(childId(kind, namespace, name));
    // The watch delivers what the response to each write has delivered before.
    if (known && known.uid === uid && known.resourceVersion === resourceVersion) return known;
    const child = this.#childOf(kind, object);
    this.#store.upsert(child.id, child);
    return child;
  }

  /** The record of an object; of an invalid one, a record with the reason. */
  #childOf(kind: ObjectKind, object: KubeObject): Child {
    try {
      return childOf(kind, object, this.metadataKeys, this.options.batches);
    } catch (error) {
      const child = invalidChild(kind, object, this.metadataKeys, error);
      this.onInvalid(kind.kind, `${child.namespace}/${child.name}`, 'parse', error);
      return child;
    }
  }
}

/** By what an object is found and selected. */
export function identityOf({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  const { name, namespace } = metadata;
  const labels = pickBySuffix([MANAGED_BY_LABEL, OWNER], metadata.labels);
  return { apiVersion, kind, metadata: { name, ...defined({ namespace, labels }) } };
}

/** One hash of the planned children and of their present state. */
export function digestOf(
  entries: readonly (readonly [id: string, hash: string, owned: string | undefined])[],
): string {
  return hashOf(entries);
}
