import { randomBytes } from 'node:crypto';
import { Waiting, type Stalled } from '../../constructs/kit/errors.js';
import { INSTANCE_LABEL } from '../../constructs/kit/labels.js';
import type { MetadataKeys } from '../../constructs/kit/metadata-keys.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import { kindId } from '../../constructs/kit/object-kind.js';
import { isAlreadyExists, isConflict, isInvalid, isNotFound } from '../api/api-error.js';
import { withoutValues } from '../api/media-type.js';
import { MERGE_PATCH, type Client } from '../api/client.js';
import { resourcePath } from '../api/resource-path.js';
import { FIELD_MANAGER, createOnlyKeys, type Child } from '../cache/child.js';
import { BEFORE_APPLY, foreignKeys, isBeforeApply } from '../cache/managed-fields.js';
import type { ChildCache } from '../cache/child-cache.js';
import { ValuesIds } from '../cache/values-ids.js';
import type { Plan, PlannedChild } from '../plan/plan.js';
import type { Status } from '../plan/resource-status.js';
import { alteredField, type WrittenMetadata } from './altered-field.js';
import { isAsApplied } from './as-applied.js';
import { withValues } from './secret-values.js';
import { refreshMounts } from './mount-refresh.js';
import { isRecorded } from '../plan/recorded-runs.js';
import { handOverReplicas } from './replica-handover.js';
import { RunRecords } from './run-records.js';
import {
  foreignOwner,
  ownerKey,
  isOfAnother,
  hasOtherController,
  nameTaken,
  NOT_OURS,
} from './foreign-owner.js';
import { isApiGone, refused } from './refusal.js';

export type ApplyAction = 'created' | 'configured' | 'unchanged' | 'deleted' | 'skipped';

/** What was done to one child. */
export interface ChangeSetEntry {
  readonly kind: string;
  readonly name: string;
  readonly change: ApplyAction;
}

export interface ApplyProps {
  readonly client: Pick<Client, 'request' | 'apply'>;
  readonly children: ChildCache;
  readonly metadataKeys: MetadataKeys;
  /** The ids that kinds expect of generated values. @default none are expected */
  readonly valuesIds?: Pick<ValuesIds, 'next' | 'use'>;
  /**
   * Whether a resource is as the API server has it.
   * @default it is not read
   */
  readonly isCurrent?: (resource: Resource) => Promise<boolean>;
  /**
   * The same, of the resources too that it refers to.
   * @default they are not read
   */
  readonly isCurrentWithParents?: (resource: Resource) => Promise<boolean>;
  /** Called when the API server no longer serves an optional API. */
  readonly onApiGone: () => void;
}

/** While an API server learns of an API, it may answer 404: no watched change follows. */
const API_GONE_RETRY_MS = 5_000;

/** No object has this version, so an apply with it can only create. */
const IMPOSSIBLE_VERSION = '1';

/** What responses of this reconcile already say, so that no read before a Job has to. */
export interface Known {
  /** The resource is as the API server has it. */
  readonly resource: boolean;
  /** The child that records Jobs was created: none has run. */
  readonly holder: boolean;
}

const NOTHING_KNOWN: Known = { resource: false, holder: false };

/** One child to apply. */
interface Task {
  readonly resource: Resource;
  readonly plan: Plan;
  readonly planned: PlannedChild;
  readonly known: Known;
  readonly live: Child | undefined;
  /** Whether it was read, and lacks what the caches know it by. */
  readonly adopted?: true;
}

/** One child to apply that exists. */
interface Existing extends Task {
  readonly live: Child;
}

/** Applies single children: one call for each that differs from its plan, none for the others. */
export class Applier {
  readonly records: RunRecords;

  constructor(private readonly props: ApplyProps) {
    this.records = new RunRecords(props);
  }

  /** Whether a child needs no write. */
  matches(planned: PlannedChild, live: Child | undefined): boolean {
    if (!live || live.deleting) return false;
    const applied = this.props.children.applied(planned.id);
    const isApplied = applied?.hash === planned.hash;
    if (planned.createOnly !== undefined) {
      if (planned.createOnly === live.createOnly) return true;
      // A policy that changes what is written would change it again.
      return isApplied && applied.altered !== undefined && applied.createOnly === live.createOnly;
    }
    return isApplied && applied.owned === live.owned && (!live.unowned || applied.unowned);
  }

  /**
   * Applies one child, unless it matches its plan.
   * @throws Stalled if another owner has an object of its name, or the API server refuses it
   */
  async apply(
    resource: Resource,
    plan: Plan,
    planned: PlannedChild,
    known = NOTHING_KNOWN,
  ): Promise<ChangeSetEntry> {
    const live = this.props.children.get(planned.id);
    const change = await this.#change({ resource, plan, planned, known, live });
    return { kind: planned.kind.kind, name: planned.name, change };
  }

  async #change(task: Task): Promise<ApplyAction> {
    const { planned, live } = task;
    if (this.matches(planned, live)) return 'unchanged';
    const instead = live && this.#instead({ ...task, live });
    if (live && instead === 'deleted') {
      return (await this.#mayDelete(task)) ? this.delete(live) : 'skipped';
    }
    if (instead) return instead;
    try {
      return await this.props.children.writing(planned.id, () => this.#write(task));
    } catch (error) {
      if (!live && (isAlreadyExists(error) || isConflict(error))) {
        return this.#change({ ...task, live: await this.#adopt(task, error), adopted: true });
      }
      throw this.#explained(planned, error);
    }
  }

  /**
   * What is done with a live object that cannot be written; undefined if it can.
   * @throws Stalled if it belongs to another owner
   */
  #instead(task: Existing): 'skipped' | 'deleted' | undefined {
    const { resource, planned, live } = task;
    const isForeign = isOfAnother(live, resource);
    // Its deletion is an event of its owner, which creates it again.
    if (live.deleting && !isForeign) return 'skipped';
    if (hasOtherController(live, resource)) {
      if (live.owner !== ownerKey(resource)) {
        throw taken(task, `is controlled by ${live.owner ?? 'an unknown owner'}`);
      }
      // Of a deleted resource of this name: the garbage collector has not deleted it yet, or a backup
      // tool has restored it. Generated values cannot be made again.
      return authorOf(planned, live) === 'operator' ? undefined : 'deleted';
    }
    // Data that a resource of this name, but of another kind, has retained.
    if (live.controller === undefined && isForeign) throw taken(task, `was made for ${live.owner}`);
    // Whatever its labels: who wrote it knows its values.
    if (authorOf(planned, live) === 'another') throw taken(task, NOT_OURS);
    // A Job is immutable.
    return this.#hasOtherTask(task) ? 'deleted' : undefined;
  }

  /** Whether a live Job does another task than the planned one. */
  #hasOtherTask({ plan, planned, live }: Existing): boolean {
    if (planned.taskHash === undefined || planned.taskHash === live.taskHash) return false;
    return live.taskHash !== undefined || !isRecorded(this.props.children, plan, planned);
  }

  #write(task: Task): Promise<ApplyAction> {
    const { planned, live } = task;
    if (planned.createOnly !== undefined && live) return this.#patchMetadata({ ...task, live });
    if (planned.taskHash !== undefined) return this.#begin(task);
    if (planned.createOnly !== undefined) return this.#generate(task);
    if (live && this.#isUnknown(task)) return this.#compare({ ...task, live });
    return this.#applyObject(task);
  }

  /** Whether nothing says if a live object is as it should be. */
  #isUnknown({ resource, planned, adopted }: Task): boolean {
    const { appliedHash } = (resource.status ?? {}) as Status;
    return !adopted && !this.props.children.applied(planned.id) && appliedHash === undefined;
  }

  /** The error for the user, if it is one that the user must see. */
  #explained(planned: PlannedChild, error: unknown): unknown {
    if (planned.kind.optional && isApiGone(error)) {
      this.props.onApiGone();
      const message = `the cluster does not serve ${kindId(planned.kind)}`;
      return new Waiting('ApiGone', message, {}, API_GONE_RETRY_MS);
    }
    return isInvalid(error) ? refused(planned, error) : error;
  }

  /** Creates a Job, unless it has succeeded before; then what is cached of it was not true. */
  async #begin(task: Task): Promise<ApplyAction> {
    const { resource, plan, planned, known } = task;
    const { isCurrent = () => Promise.resolve(true) } = this.props;
    const isRead = known.resource || plan.owner === undefined;
    if (!isRead && !(await isCurrent(resource))) return 'skipped';
    if (!known.holder && (await this.records.begin(plan, planned))) return 'unchanged';
    return this.#applyObject(task);
  }

  /** A Job that does another task may migrate a site: a stale bench must not end it. */
  async #mayDelete({ resource, plan }: Task): Promise<boolean> {
    if (plan.owner === undefined) return true;
    return (await this.props.isCurrentWithParents?.(resource)) ?? true;
  }

  /**
   * Reads an object before it is applied. An operator that is killed again and again would never
   * come to the end of a long stage, if it applied what an earlier one has applied.
   */
  async #compare(task: Existing): Promise<ApplyAction> {
    const { client, children } = this.props;
    const { planned, live } = task;
    const object = objectOf(task);
    const path = resourcePath(planned.kind, object.metadata.namespace, planned.name);
    const deletion = children.deletionOf(planned.id);
    const found = await client.request<KubeObject>('GET', path);
    const foreign = Object.keys(foreignKeys(found, FIELD_MANAGER, planned.kind.whole));
    if (found.metadata.uid !== live.uid || foreign.length > 0 || !isAsApplied(object, found)) {
      return this.#applyObject(task);
    }
    if (!children.found(planned.kind, found, deletion)) throw unstable(planned, undefined);
    children.trustAppliedHash(planned.id, planned.hash);
    return 'unchanged';
  }

  async #applyObject(task: Task): Promise<ApplyAction> {
    const { client, children } = this.props;
    const { planned, live } = task;
    const object = objectOf(task);
    // Without a live object only a creation may succeed; with one, only a change of that object.
    const precondition = live ? { uid: live.uid } : { resourceVersion: IMPOSSIBLE_VERSION };
    if (live) await handOverReplicas(client, planned, { object, live });
    const result = await client.apply<KubeObject>(
      resourcePath(planned.kind, object.metadata.namespace, planned.name),
      { ...object, metadata: { ...object.metadata, ...precondition } },
      FIELD_MANAGER,
    );
    const answer = await this.#removeForeignKeys(planned, await this.#takeOver(planned, result));
    children.put(planned.kind, answer, planned.hash, alteredField(object.metadata, result));
    if (!live) return 'created';
    if (answer.metadata.resourceVersion === live.resourceVersion) return 'unchanged';
    await refreshMounts(client, result, this.props.metadataKeys);
    return 'configured';
  }

  /**
   * Takes the fields from the manager that the API server makes up for an object whose managed fields
   * were cleared. It never applies, so a field of it would stay when it leaves the plan.
   */
  async #takeOver({ kind }: PlannedChild, { metadata, ...rest }: KubeObject): Promise<KubeObject> {
    const { namespace, name, uid, resourceVersion, managedFields } = metadata;
    if (!isBeforeApply({ ...rest, metadata })) return { ...rest, metadata };
    const kept = managedFields?.filter(({ manager }) => manager !== BEFORE_APPLY);
    return this.props.client.request<KubeObject>('PATCH', resourcePath(kind, namespace, name), {
      query: { fieldManager: FIELD_MANAGER },
      contentType: MERGE_PATCH,
      body: { metadata: { uid, resourceVersion, managedFields: kept } },
    });
  }

  /** Removes the keys that others have added to a map which is ours as a whole. */
  async #removeForeignKeys({ kind }: PlannedChild, applied: KubeObject): Promise<KubeObject> {
    const foreign = Object.entries(foreignKeys(applied, FIELD_MANAGER, kind.whole));
    if (foreign.length === 0) return applied;
    const { namespace, name, uid, resourceVersion } = applied.metadata;
    const removed = foreign.map(([field, keys]) => [
      field,
      Object.fromEntries(keys.map((key) => [key, null])),
    ]);
    return this.props.client.request<KubeObject>('PATCH', resourcePath(kind, namespace, name), {
      query: { fieldManager: FIELD_MANAGER },
      contentType: MERGE_PATCH,
      body: { ...Object.fromEntries(removed), metadata: { uid, resourceVersion } },
    });
  }

  /** Creates a generated Secret with its values, which the operator never reads again. */
  async #generate(task: Task): Promise<ApplyAction> {
    const { client, children, metadataKeys, valuesIds = new ValuesIds() } = this.props;
    const { planned } = task;
    const object = objectOf(task);
    const { namespace = '', name } = object.metadata;
    const id = valuesIds.next(namespace, name);
    const created = await client.request<KubeObject>(
      'POST',
      resourcePath(planned.kind, namespace),
      {
        query: { fieldManager: FIELD_MANAGER },
        body: withValues(object, metadataKeys, id, randomBytes),
      },
    );
    valuesIds.use(namespace, name);
    children.put(planned.kind, created, planned.hash, alteredField(this.#written(object), created));
    return 'created';
  }

  /** The metadata of a create-only object. Without our keys that are no longer wanted, it matches its plan. */
  #written({ metadata }: KubeObject): WrittenMetadata {
    const keys = createOnlyKeys(this.props.metadataKeys);
    const none = (names: readonly string[]) =>
      Object.fromEntries(names.map((name) => [name, null]));
    return {
      labels: { ...none(keys.labels), ...metadata.labels },
      annotations: { ...none(keys.annotations), ...metadata.annotations },
      ownerReferences: metadata.ownerReferences ?? [],
    };
  }

  /** Repairs the metadata of a create-only object, whose content is not applied again. */
  async #patchMetadata(task: Existing): Promise<ApplyAction> {
    const { client, children } = this.props;
    const { planned, live } = task;
    const object = objectOf(task);
    const written = this.#written(object);
    const patched = await client.request<KubeObject>(
      'PATCH',
      resourcePath(planned.kind, object.metadata.namespace, planned.name),
      {
        query: { fieldManager: FIELD_MANAGER },
        contentType: MERGE_PATCH,
        body: {
          metadata: { ...written, uid: live.uid },
        },
      },
    );
    children.put(planned.kind, patched, planned.hash, alteredField(written, patched));
    return 'configured';
  }

  /** Takes a child with data from its resource: neither the operator nor the garbage collector deletes it. */
  async retain({ kind, namespace, name, uid }: Child): Promise<void> {
    const { client, children, metadataKeys } = this.props;
    const spec = kind.data?.kept;
    try {
      const retained = await client.request<KubeObject>(
        'PATCH',
        resourcePath(kind, namespace, name),
        {
          query: { fieldManager: FIELD_MANAGER },
          contentType: MERGE_PATCH,
          body: {
            metadata: {
              uid,
              // Data that no plan has since an earlier release may have that label still.
              labels: { [metadataKeys.retain]: 'true', [INSTANCE_LABEL]: null },
              ownerReferences: null,
            },
            ...(spec ? { spec } : {}),
          },
        },
      );
      children.put(kind, retained, undefined);
    } catch (error) {
      // Only a deleted object needs no patch; a conflict must be retried.
      if (!isNotFound(error)) throw error;
    }
  }

  /**
   * Reads an object that exists although the caches do not have it: ours without its labels, or one
   * of another owner.
   * @throws Stalled if it belongs to another owner
   */
  async #adopt(task: Task, cause: unknown): Promise<Child> {
    const { client, children, metadataKeys } = this.props;
    const { resource, planned } = task;
    const deletion = children.deletionOf(planned.id);
    let found: KubeObject;
    try {
      const path = resourcePath(planned.kind, resource.metadata.namespace, planned.name);
      found = await client.request<KubeObject>('GET', path, withoutValues(planned.kind));
    } catch (error) {
      // Deleted again: the next reconcile creates it.
      throw isNotFound(error) ? unstable(planned, error) : error;
    }
    const owner = foreignOwner(found, task, metadataKeys);
    if (owner !== undefined) throw taken(task, owner);
    children.found(planned.kind, found, deletion);
    const child = children.get(planned.id);
    if (!child) throw unstable(planned, cause);
    return child;
  }

  /** Reads a child into the caches: the watch that should tell of it may hang. */
  async refresh(child: Child): Promise<void> {
    const { client, children } = this.props;
    const { id, kind, namespace, name } = child;
    const deletion = children.deletionOf(id);
    try {
      const path = resourcePath(kind, namespace, name);
      const found = await client.request<KubeObject>('GET', path, withoutValues(kind));
      children.found(kind, found, deletion);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      children.notFound(child);
    }
  }

  /**
   * Deletes this object, but not another one of its name. An object that does not exist is fine.
   * @returns `skipped` if another object has its name
   */
  async delete(child: Child): Promise<'deleted' | 'skipped'> {
    const { client, children } = this.props;
    children.deletes(child);
    try {
      await client.request('DELETE', resourcePath(child.kind, child.namespace, child.name), {
        body: { propagationPolicy: 'Background', preconditions: { uid: child.uid } },
      });
    } catch (error) {
      if (isConflict(error)) return 'skipped';
      if (!isNotFound(error)) throw error;
    }
    return 'deleted';
  }
}

/** The error of a child whose name another object has. */
function taken({ plan, planned }: Task, why: string): Stalled {
  return nameTaken(planned, why, plan.fieldOf?.(planned));
}

/** Who wrote the values of a Secret in place of a generated one; undefined for other children. */
function authorOf(
  { kind, createOnly }: PlannedChild,
  live: Child,
): 'operator' | 'another' | undefined {
  if (kind.kind !== 'Secret' || createOnly === undefined) return undefined;
  return live.createOnly === undefined ? 'another' : 'operator';
}

function objectOf({ plan, planned }: Task): KubeObject {
  const object = plan.object(planned.id);
  if (!object) throw new Error(`${planned.id}: planned, but not in the tree`);
  return object;
}

/** Created and deleted at the same time by another client. */
function unstable({ id }: PlannedChild, cause: unknown): Error {
  return new Error(`${id}: created and deleted by another client`, { cause });
}
