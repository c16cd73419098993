import { randomBytes } from 'node:crypto';
import { Stalled, Waiting } from '../../constructs/kit/errors.js';
import { ownerValue, type MetadataKeys } from '../../constructs/kit/labels.js';
import { groupOf, keyOf, type KubeObject, type Resource } from '../../constructs/kit/object.js';
import { kindId } from '../../constructs/kit/object-kind.js';
import type { ApiError } from '../api/api-error.js';
import {
  isAlreadyExists,
  isConflict,
  isForbidden,
  isInvalid,
  isNotFound,
} from '../api/api-error.js';
import { childOf, FIELD_MANAGER, createOnlyKeys, type Child } from '../cache/child.js';
import type { ChildCache } from '../cache/child-cache.js';
import { APPLY_PATCH, MERGE_PATCH, type Client } from '../api/client.js';
import { withValues } from './generated-secret.js';
import { refreshMounts } from './mounts.js';
import type { Plan, PlannedChild } from '../reconcile/plan.js';
import { resourcePath } from '../api/resource-path.js';

/** What has become of a child. */
export type ApplyAction = 'created' | 'configured' | 'unchanged' | 'deleted' | 'skipped';

export interface ChangeSetEntry {
  readonly kind: string;
  readonly name: string;
  readonly change: ApplyAction;
}

export interface ApplyProps {
  readonly client: Pick<Client, 'request' | 'apply'>;
  readonly children: ChildCache;
  readonly metadataKeys: MetadataKeys;
  /** Told when an optional API is found to be gone. */
  readonly onApiGone: () => void;
}

/** Holds the number of replicas that nobody else has set since it was handed over. */
const HANDOVER_MANAGER = 'app-operator-handover';

interface Scalable extends KubeObject {
  readonly spec?: { readonly replicas?: number };
}

/** Where the API turns out to be there, as it is while an API server learns of it, nothing else leads to the next visit. */
const API_GONE_RETRY_MS = 5_000;

/** No object has this version, so an apply with it can only create. */
const NEVER = '1';

/** Makes children what they should be, one call each, and none for a child that is so already. */
export class Applier {
  constructor(private readonly props: ApplyProps) {}

  /** Whether nothing has to be done for a child. */
  matches(planned: PlannedChild, live: Child | undefined): boolean {
    if (!live || live.deleting) return false;
    if (planned.createOnly !== undefined) return planned.createOnly === live.createOnly;
    const applied = this.props.children.applied(planned.id);
    return applied?.hash === planned.hash && applied.owned === live.owned;
  }

  /**
   * Applies one child, unless it is as it should be already.
   * @throws Stalled where its name is taken by an object of somebody else, or the API server refuses it
   */
  async apply(resource: Resource, plan: Plan, planned: PlannedChild): Promise<ChangeSetEntry> {
    const live = this.props.children.get(planned.id);
    return {
      kind: planned.kind.kind,
      name: planned.name,
      change: await this.#change(resource, plan, planned, live),
    };
  }

  async #change(
    resource: Resource,
    plan: Plan,
    planned: PlannedChild,
    live: Child | undefined,
  ): Promise<ApplyAction> {
    if (this.matches(planned, live)) return 'unchanged';
    // It comes back when it is gone: its deletion is an event, of its own owner only.
    if (live?.deleting && !isOfAnother(live, resource)) return 'skipped';
    if (live?.controller !== undefined && live.controller !== resource.metadata.uid) {
      if (live.owner !== ownerKey(resource)) {
        throw nameTaken(planned, `is controlled by ${live.owner ?? 'something else'}`);
      }
      // Of an earlier resource of this name, which is gone: the garbage collector is late.
      await this.delete(live);
      return 'deleted';
    }
    // Data that a resource of this name, but of another kind, has left.
    if (live?.controller === undefined && isOfAnother(live, resource)) {
      throw nameTaken(planned, `was made for ${live.owner}`);
    }
    // A Job cannot be changed: what it has to do is another Job.
    if (live && planned.run !== undefined && planned.run !== live.run) {
      await this.delete(live);
      return 'deleted';
    }
    const object = plan.objects().get(planned.id);
    if (!object) throw new Error(`${planned.id} is planned, but not in the tree`);
    try {
      if (planned.createOnly === undefined) return await this.#applyObject(object, planned, live);
      if (live) return await this.#patchMetadata(object, planned, live);
      return planned.run === undefined
        ? await this.#generate(object, planned)
        : await this.#applyObject(object, planned, live);
    } catch (error) {
      if (!live && (isAlreadyExists(error) || isConflict(error))) {
        await this.#adopt(resource, planned);
        const adopted = this.props.children.get(planned.id);
        if (!adopted) throw new Error(`${planned.id} comes and goes`, { cause: error });
        return await this.#change(resource, plan, planned, adopted);
      }
      if (planned.kind.optional && isApiGone(error)) {
        this.props.onApiGone();
        const message = `the cluster does not serve ${kindId(planned.kind)}`;
        throw new Waiting('ApiGone', message, {}, API_GONE_RETRY_MS);
      }
      throw isInvalid(error) ? refused(planned, error) : error;
    }
  }

  async #applyObject(
    object: KubeObject,
    planned: PlannedChild,
    live: Child | undefined,
  ): Promise<ApplyAction> {
    const { client, children } = this.props;
    // Without a known object only a creation may succeed; with one, only a change of that very object.
    const precondition = live ? { uid: live.uid } : { resourceVersion: NEVER };
    if (live) await this.#handOverReplicas(object, planned, live);
    const result = await client.apply<KubeObject>(
      resourcePath(planned.kind, object.metadata.namespace, planned.name),
      { ...object, metadata: { ...object.metadata, ...precondition } },
      FIELD_MANAGER,
    );
    children.put(planned.kind, result, planned.hash);
    if (!live) return 'created';
    if (result.metadata.resourceVersion === live.resourceVersion) return 'unchanged';
    await refreshMounts(client, result, this.props.metadataKeys);
    return 'configured';
  }

  /**
   * Leaves the number of replicas, as it is, to a manager that never applies again. A field whose last
   * manager stops applying it is removed, and the server would put its default there: one.
   */
  async #handOverReplicas(object: KubeObject, planned: PlannedChild, live: Child): Promise<void> {
    const wanted = (object as Scalable).spec?.replicas;
    if (wanted !== undefined || !live.replicas?.ours) return;
    const { apiVersion, kind, metadata } = object;
    const { name, namespace } = metadata;
    try {
      // Not forced: where another number is there meanwhile, somebody else owns it already.
      await this.props.client.request(
        'PATCH',
        resourcePath(planned.kind, namespace, planned.name),
        {
          query: { fieldManager: HANDOVER_MANAGER },
          contentType: APPLY_PATCH,
          body: {
            apiVersion,
            kind,
            metadata: { name, namespace, uid: live.uid },
            spec: { replicas: live.replicas.desired },
          },
        },
      );
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  }

  /** Creates a generated Secret with its values, which are never read again. */
  async #generate(object: KubeObject, planned: PlannedChild): Promise<ApplyAction> {
    const { client, children, metadataKeys } = this.props;
    const created = await client.request<KubeObject>(
      'POST',
      resourcePath(planned.kind, object.metadata.namespace),
      {
        query: { fieldManager: FIELD_MANAGER },
        body: withValues(object, metadataKeys, randomBytes),
      },
    );
    children.put(planned.kind, created, planned.hash);
    return 'created';
  }

  /** Mends the metadata of what is made once: its content cannot, or must not, be applied again. */
  async #patchMetadata(
    object: KubeObject,
    planned: PlannedChild,
    live: Child,
  ): Promise<ApplyAction> {
    const { client, children, metadataKeys } = this.props;
    const { namespace, labels = {}, annotations = {}, ownerReferences = [] } = object.metadata;
    // What is ours and no longer wanted goes: with it the object would never be as it should be.
    const none = (keys: readonly string[]) => Object.fromEntries(keys.map((key) => [key, null]));
    const keys = createOnlyKeys(metadataKeys);
    const patched = await client.request<KubeObject>(
      'PATCH',
      resourcePath(planned.kind, namespace, planned.name),
      {
        query: { fieldManager: FIELD_MANAGER },
        contentType: MERGE_PATCH,
        body: {
          metadata: {
            uid: live.uid,
            labels: { ...none(keys.labels), ...labels },
            annotations: { ...none(keys.annotations), ...annotations },
            ownerReferences,
          },
        },
      },
    );
    children.put(planned.kind, patched, planned.hash);
    return 'configured';
  }

  /** Takes a child that holds data from its resource: neither the operator nor the garbage collector deletes it now. */
  async retain({ kind, namespace, name, uid }: Child): Promise<void> {
    const { client, children, metadataKeys } = this.props;
    const spec = kind.data?.kept;
    try {
      const kept = await client.request<KubeObject>('PATCH', resourcePath(kind, namespace, name), {
        query: { fieldManager: FIELD_MANAGER },
        contentType: MERGE_PATCH,
        body: {
          metadata: { uid, labels: { [metadataKeys.retain]: 'true' }, ownerReferences: null },
          ...(spec ? { spec } : {}),
        },
      });
      children.put(kind, kept, undefined);
    } catch (error) {
      // Only what is gone needs no keeping; a conflict must not pass for that.
      if (!isNotFound(error)) throw error;
    }
  }

  /** Looks at an object that is there although the caches do not have it: ours with its labels lost, or not ours. */
  async #adopt(resource: Resource, planned: PlannedChild): Promise<void> {
    const { client, children, metadataKeys } = this.props;
    const { namespace } = resource.metadata;
    let found: KubeObject;
    try {
      found = await client.request<KubeObject>(
        'GET',
        resourcePath(planned.kind, namespace, planned.name),
      );
    } catch (error) {
      // Gone again: the next visit creates it.
      if (isNotFound(error)) throw new Error(`${planned.id} comes and goes`, { cause: error });
      throw error;
    }
    const controller = found.metadata.ownerReferences?.find((reference) => reference.controller);
    const isSameName =
      controller?.kind === resource.kind &&
      controller.name === resource.metadata.name &&
      groupOf(controller.apiVersion) === metadataKeys.group;
    if (controller && controller.uid !== resource.metadata.uid && !isSameName) {
      throw nameTaken(planned, `is controlled by ${controller.kind} ${controller.name}`);
    }
    const labelled = found.metadata.labels?.[metadataKeys.owner] === ownerValue(resource);
    const applied = found.metadata.managedFields?.some(({ manager }) => manager === FIELD_MANAGER);
    if (!controller && !labelled && !applied)
      throw nameTaken(planned, 'was not made by the operator');
    const child = childOf(planned.kind, found, metadataKeys);
    if (!controller && isOfAnother(child, resource)) {
      throw nameTaken(planned, `was made for ${child.owner}`);
    }
    children.found(planned.kind, found);
  }

  /** Deletes this very object: another one of its name is left alone. What is gone already is fine. */
  async delete(child: Child): Promise<void> {
    const { client } = this.props;
    try {
      await client.request('DELETE', resourcePath(child.kind, child.namespace, child.name), {
        body: { propagationPolicy: 'Background', preconditions: { uid: child.uid } },
      });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }
}

/** As `Child.owner` names a resource. */
function ownerKey({ kind, metadata }: Resource): string {
  return `${kind}/${keyOf(metadata.namespace, metadata.name)}`;
}

/** Whether an object is labelled as another resource's. */
function isOfAnother(
  child: Child | undefined,
  resource: Resource,
): child is Child & { readonly owner: string } {
  return child?.owner !== undefined && child.owner !== ownerKey(resource);
}

/** Whether a definition goes, or has gone: its objects go first, and none can be made. */
function isApiGone(error: unknown): boolean {
  return (
    isNotFound(error) || (isForbidden(error) && String(error).includes('definition is terminating'))
  );
}

function nameTaken(planned: PlannedChild, why: string): Stalled {
  return new Stalled(
    'NameTaken',
    `${planned.kind.kind} ${planned.name} exists and ${why}; it is left untouched: rename it, or this resource`,
    60_000,
  );
}

function refused(planned: PlannedChild, error: unknown): Stalled {
  const { details, message } = error as ApiError;
  const causes = details.causes?.map(({ field, message: text }) =>
    [field, firstLine(text ?? '')].filter(Boolean).join(': '),
  );
  const why = causes && causes.length > 0 ? causes.join('; ') : firstLine(message);
  return new Stalled(
    'ApplyRefused',
    `the API server refuses ${planned.kind.kind} ${planned.name}: ${why}`,
    300_000,
  );
}

/** Some refusals go on with a difference over many lines. */
function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
