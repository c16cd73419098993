import { objectKind } from '../../../constructs/kit/definition.js';
import { metadataKeysFor } from '../../../constructs/kit/metadata-keys.js';
import type { KubeObject } from '../../../constructs/kit/object.js';
import {
  kindId,
  PersistentVolumeClaim,
  Secret,
  StatefulSet,
} from '../../../constructs/kit/object-kind.js';
import { isConflict, isNotFound } from '../../../runner/api/api-error.js';
import { METADATA } from '../../../runner/api/media-type.js';
import { resourcePath } from '../../../runner/api/resource-path.js';
import { CliError } from '../../arguments/errors.js';
import type { ApiClient } from '../../kube/connect.js';
import { OWNER_KINDS, type RetainedObject, type RetainedOwner } from './retained-data.js';

/** What became of an object. */
export interface Removal {
  readonly object: RetainedObject;
  /** Why it was not deleted; undefined where it was. */
  readonly skipped?: string;
}

/** Pods first, then what they use; Secrets last, since nothing restores them. */
const ORDER = [StatefulSet, undefined, PersistentVolumeClaim, Secret].map((kind) =>
  kind === undefined ? undefined : kindId(kind),
);

/** Deletes what a deleted resource has left. Each object, and the owner, is read again before. */
export class Remover {
  constructor(
    private readonly client: Pick<ApiClient, 'request'>,
    private readonly apiGroup: string,
  ) {}

  /** @throws CliError where the owner, or a resource that uses it, exists again */
  async remove(owner: RetainedOwner): Promise<readonly Removal[]> {
    const removals: Removal[] = [];
    const inOrder = owner.objects.toSorted((a, b) => rank(a) - rank(b));
    for (const object of inOrder) {
      await this.#requireDeleted(owner);
      const skipped = await this.#delete(owner, object);
      removals.push({ object, ...(skipped === undefined ? {} : { skipped }) });
    }
    return removals;
  }

  async #requireDeleted({ namespace, kind, name }: RetainedOwner): Promise<void> {
    const known = OWNER_KINDS.find(({ definition }) => definition.kind === kind);
    if (!known) throw new CliError(`${kind} ${name}: not a kind that retains data`);
    const path = resourcePath(objectKind(known.definition, this.apiGroup), namespace, name);
    if ((await this.#read(path)) === undefined) return;
    throw new CliError(`${kind} ${name} exists in namespace ${namespace}: its data is in use`);
  }

  /** @returns why it was not deleted */
  async #delete(owner: RetainedOwner, object: RetainedObject): Promise<string | undefined> {
    const { namespace, kind, name } = owner;
    const keys = metadataKeysFor(this.apiGroup);
    const path = resourcePath(object.kind, namespace, object.name);
    const live = await this.#read(path);
    if (!live) return 'already deleted';
    const { uid, resourceVersion, labels = {}, ownerReferences = [] } = live.metadata;
    if (uid !== object.uid) return 'another object has its name now';
    const isRetained = labels[keys.retain] === 'true' && labels[keys.owner] === `${kind}.${name}`;
    if (!isRetained) return 'its labels have changed: it is not retained for this owner';
    if (ownerReferences.length > 0) return 'it has an owner again';
    try {
      await this.client.request('DELETE', path, {
        body: { propagationPolicy: 'Background', preconditions: { uid, resourceVersion } },
      });
      return undefined;
    } catch (error) {
      if (isNotFound(error)) return 'already deleted';
      if (isConflict(error)) return 'it has just changed; run the command again';
      throw error;
    }
  }

  /** The metadata of an object, from the API server; undefined if it does not exist. */
  async #read(path: string): Promise<KubeObject | undefined> {
    try {
      return await this.client.request<KubeObject>('GET', path, { accept: METADATA });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}

function rank({ kind }: RetainedObject): number {
  const at = ORDER.indexOf(kindId(kind));
  return at < 0 ? ORDER.indexOf(undefined) : at;
}
