import { hashOf } from '../../constructs/kit/json/hash.js';
import type { ClusterReader, Index } from '../../constructs/kit/kind.js';
import {
  keyOf,
  type KubeObject,
  type ObjectKey,
  type Resource,
} from '../../constructs/kit/object.js';
import type { MetadataKeys } from '../../constructs/kit/metadata-keys.js';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import { referenceName } from '../../constructs/kit/reference.js';
import type { AnyKind } from '../../constructs/registry.js';
import { isNotFound } from '../api/api-error.js';
import { MERGE_PATCH, type Client } from '../api/client.js';
import { listAll } from '../api/list.js';
import { resourcePath } from '../api/resource-path.js';
import { checked } from '../cache/checked.js';
import { FIELD_MANAGER } from '../cache/child.js';
import { keptAnnotations } from '../cache/kept-metadata.js';
import { withRecordedStatus } from './status.js';
import type { Status } from '../plan/resource-status.js';

/** A kind of ours, as the API serves it and as the caches keep it. */
export interface OwnKind {
  readonly api: ObjectKind;
  readonly kind: AnyKind;
  /** Puts in an object that was read; a newer one enqueues it. */
  readonly found: (object: KubeObject) => void;
  readonly cached: (key: ObjectKey) => KubeObject | undefined;
}

/**
 * Reads resources from the API server before something is done that cannot be undone: the caches may
 * be stale, and a label selector hides what lost its label.
 */
export class LiveResources {
  constructor(
    private readonly client: Pick<Client, 'request'>,
    /** By the name of the kind. */
    private readonly kinds: ReadonlyMap<string, OwnKind>,
    private readonly metadataKeys: MetadataKeys,
  ) {}

  /** Whether a cached resource is as it is now. If not, the caches get what was read. */
  async isCurrent(resource: Resource): Promise<boolean> {
    const own = this.kinds.get(resource.kind);
    if (!own) return true;
    const found = await this.#read(resource, own);
    if (!found) return false;
    const stored = checked(own.kind.definition, found) as typeof found;
    const live = withRecordedStatus(own.kind, this.metadataKeys, stored);
    if (deletionInputsOf(live, own) === deletionInputsOf(resource, own)) return true;
    own.found(found);
    return false;
  }

  /** Whether a cached resource, and each one of ours that it refers to, is as it is now. */
  async isCurrentWithParents(resource: Resource): Promise<boolean> {
    if (!(await this.isCurrent(resource))) return false;
    const { namespace = 'default' } = resource.metadata;
    for (const reference of this.kinds.get(resource.kind)?.kind.references ?? []) {
      const own = this.kinds.get(reference.kind);
      const stored = own?.cached(keyOf(namespace, referenceName(resource, reference) ?? ''));
      if (!own || !stored) continue;
      const parent = withRecordedStatus(
        own.kind,
        this.metadataKeys,
        stored as Resource<unknown, Status>,
      );
      if (!(await this.isCurrentWithParents(parent))) return false;
    }
    return true;
  }

  /**
   * Reads a resource into the caches.
   * @returns whether it still exists
   */
  async refresh(resource: Resource): Promise<boolean> {
    const own = this.kinds.get(resource.kind);
    const found = own && (await this.#read(resource, own));
    if (found) own.found(found);
    return found?.metadata.uid === resource.metadata.uid;
  }

  async #read(
    { metadata: { namespace, name } }: Resource,
    { api }: OwnKind,
  ): Promise<Resource<unknown, Status> | undefined> {
    try {
      return await this.client.request('GET', resourcePath(api, namespace, name));
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Lists the resources of some indexes as they are now, in one namespace. */
  async reader(
    indexes: readonly Index[],
    namespace: string,
  ): Promise<Pick<ClusterReader, 'names'>> {
    const lists = await Promise.all(
      indexes.map(async (index) => [index.name, await this.#list(index, namespace)] as const),
    );
    const live = new Map<string, readonly KubeObject[]>(lists);
    return {
      names: <O extends KubeObject>(index: Index<O>, value: string) => {
        const objects = live.get(index.name) as readonly O[] | undefined;
        if (!objects) throw new Error(`${index.name}: not in \`listsLive\` of its kind`);
        return objects
          .filter((object) => isUnder(index, object, value))
          .map(({ metadata }) => metadata.name)
          .sort();
      },
    };
  }

  async #list({ kind }: Index, namespace: string): Promise<readonly KubeObject[]> {
    const own = this.kinds.get(kind);
    if (!own) return [];
    const compact = (object: KubeObject): KubeObject => checked(own.kind.definition, object);
    const { items } = await listAll(this.client, resourcePath(own.api, namespace), { compact });
    return items;
  }
}

/** An invalid object may belong to any: what it needs must not be deleted. */
function isUnder<O extends KubeObject>(index: Index<O>, object: O, value: string): boolean {
  try {
    return index.values(object).includes(value);
  } catch {
    return true;
  }
}

/** Hash of what decides about the effects of a resource, above all of its deletion. */
function deletionInputsOf(resource: Resource, { kind }: OwnKind): string {
  const { uid, generation, deletionTimestamp } = resource.metadata;
  const annotations = keptAnnotations(resource) ?? {};
  const status = (resource.status ?? {}) as Readonly<Record<string, unknown>>;
  const done = [...kind.durableStatus, ...(kind.recordedStatus ?? [])].map(
    (field) => status[field] ?? null,
  );
  return hashOf([uid, generation, deletionTimestamp ?? null, annotations, done]);
}

/**
 * Adds and removes the operator's finalizer. Other finalizers stay: the list is written with the
 * version in which it was read, so a concurrent change is a conflict.
 */
export class Finalizer {
  constructor(
    private readonly client: Pick<Client, 'request'>,
    private readonly metadataKeys: MetadataKeys,
  ) {}

  has({ metadata }: Resource): boolean {
    return metadata.finalizers?.includes(this.metadataKeys.finalizer) ?? false;
  }

  /** @returns the updated resource; undefined if it no longer exists */
  async set(
    kind: ObjectKind,
    resource: Resource,
    wanted: boolean,
  ): Promise<KubeObject | undefined> {
    const { namespace, name, resourceVersion, finalizers = [] } = resource.metadata;
    const others = finalizers.filter((finalizer) => finalizer !== this.metadataKeys.finalizer);
    try {
      return await this.client.request<KubeObject>('PATCH', resourcePath(kind, namespace, name), {
        query: { fieldManager: FIELD_MANAGER },
        contentType: MERGE_PATCH,
        body: {
          metadata: {
            resourceVersion,
            finalizers: wanted ? [...others, this.metadataKeys.finalizer] : others,
          },
        },
      });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}
