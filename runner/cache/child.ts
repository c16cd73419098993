import { defined } from '../../constructs/kit/json/defined.js';
import { equal } from '../../constructs/kit/json/equal.js';
import { hashOf } from '../../constructs/kit/json/hash.js';
import { healthOf, invalid, type Health } from '../../constructs/kit/health.js';
import { INSTANCE_LABEL, MANAGED_BY_LABEL } from '../../constructs/kit/labels.js';
import type { MetadataKeys } from '../../constructs/kit/metadata-keys.js';
import { groupOf, joined, type KubeObject } from '../../constructs/kit/object.js';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import { readRuns, type CompletedRuns } from './completed-runs.js';
import { foreignKeys, isBeforeApply, ownedHash, owns } from './managed-fields.js';

/** The field manager of the operator's server-side apply. */
export const FIELD_MANAGER = 'app-operator';

/** What is cached of a child: its health, and whether it still is as it was applied. */
export interface Child {
  /** `<apiVersion>/<kind>/<namespace>/<name>`. */
  readonly id: string;
  readonly kind: ObjectKind;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** The resource that it belongs to: `<kind>/<namespace>/<name>`; a foreign kind has its group. */
  readonly owner: string | undefined;
  /** uid of its controller; undefined if it outlives its resource. */
  readonly controller: string | undefined;
  readonly retained: boolean;
  /** Whether it is labelled as data, retained or not. */
  readonly holdsData: boolean;
  readonly deleting: boolean;
  /** Hash of the applied fields with their present values, and of the keys that others added to ours. */
  readonly owned: string | undefined;
  /**
   * Whether fields belong to no manager that applies: its managed fields were cleared. What leaves the
   * plan would stay in such an object.
   */
  readonly unowned: boolean;
  /** For a create-only object, a generated Secret or a Job: hash of our metadata. */
  readonly createOnly: string | undefined;
  /** For a Job: its task. */
  readonly taskHash: string | undefined;
  /** The Jobs that succeeded for the data of this child. */
  readonly runs: CompletedRuns;
  readonly health: Health;
  /** Of a workload; `ours` if the operator applies the number. */
  readonly replicas:
    { readonly desired: number; readonly current: number; readonly ours: boolean } | undefined;
  /** Since when its operator has not observed it, in milliseconds since 1970; undefined if it has. */
  readonly unobservedSince: number | undefined;
  /** For a failed Job: when it failed, in milliseconds since 1970. */
  readonly failedAt: number | undefined;
  /** For a Job: start and end, RFC 3339, and whether a failed one is not retried. */
  readonly job:
    | {
        readonly startTime?: string;
        readonly completionTime?: string;
        readonly once: boolean;
        /** Also where it is being deleted since. */
        readonly succeeded: boolean;
        /** When its TTL ends, in milliseconds since 1970. @default it has no TTL */
        readonly expiresAt?: number;
        /** When it was deleted, in milliseconds since 1970. @default it was not, or has no finalizer */
        readonly deletedAt?: number;
      }
    | undefined;
}

export function childId(kind: ObjectKind, namespace: string, name: string): string {
  return joined(kind.apiVersion, kind.kind, namespace, name);
}

interface Workload extends KubeObject {
  readonly spec?: { readonly replicas?: number; readonly ttlSecondsAfterFinished?: number };
  readonly status?: {
    readonly readyReplicas?: number;
    readonly startTime?: string;
    readonly completionTime?: string;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly lastTransitionTime?: string;
    }[];
  };
}

/**
 * The record of a live object.
 * @param batches the names of batches; an object of another one belongs to its controller
 * @throws where the object is invalid: see `invalidChild`
 */
export function childOf(
  kind: ObjectKind,
  object: KubeObject,
  metadataKeys: MetadataKeys,
  batches?: ReadonlySet<string>,
): Child {
  const { metadata } = object;
  const { namespace = '', name, uid = '', resourceVersion = '', annotations = {} } = metadata;
  // Secrets are watched as metadata only, and have no health.
  const health = healthOf({ ...object, kind: kind.kind }, kind.health);
  const retain = metadata.labels?.[metadataKeys.retain];
  const createOnly = isCreateOnly(kind.kind, annotations, metadataKeys);
  return {
    id: childId(kind, namespace, name),
    kind,
    namespace,
    name,
    uid,
    resourceVersion,
    health,
    owner: ownerOf(object, metadataKeys, batches),
    controller: controllerOf(object)?.uid,
    retained: retain === 'true',
    holdsData: retain !== undefined,
    deleting: metadata.deletionTimestamp !== undefined,
    owned: ownedOf(kind, object),
    unowned: isBeforeApply(object),
    createOnly: createOnly ? createOnlyHash(object, metadataKeys) : undefined,
    taskHash: annotations[metadataKeys.run],
    runs: readRuns(annotations[metadataKeys.completedRuns]),
    unobservedSince: health.unobserved ? Date.parse(metadata.creationTimestamp ?? '') : undefined,
    replicas: replicasOf(kind, object),
    ...jobFields(kind, object, annotations[metadataKeys.once] === 'true'),
  };
}

function ownedOf({ whole }: ObjectKind, object: KubeObject): string | undefined {
  const owned = ownedHash(object, FIELD_MANAGER);
  const foreign = foreignKeys(object, FIELD_MANAGER, whole);
  return Object.keys(foreign).length === 0 ? owned : hashOf([owned ?? '', foreign]);
}

/** The record of an invalid object, of which only the metadata is read. */
export function invalidChild(
  kind: ObjectKind,
  { apiVersion, metadata }: KubeObject,
  metadataKeys: MetadataKeys,
  error: unknown,
): Child {
  const { managedFields: _unread, ...others } = metadata;
  const child = childOf(kind, { apiVersion, kind: kind.kind, metadata: others }, metadataKeys);
  return { ...child, health: invalid(error), unobservedSince: undefined };
}

function replicasOf({ kind }: ObjectKind, object: Workload): Child['replicas'] {
  if (kind !== 'Deployment' && kind !== 'StatefulSet') return undefined;
  return {
    desired: object.spec?.replicas ?? 1,
    current: object.status?.readyReplicas ?? 0,
    ours: owns(object, FIELD_MANAGER, ['spec', 'replicas']),
  };
}

function jobFields(
  { kind }: ObjectKind,
  { metadata, spec, status }: Workload,
  once: boolean,
): Pick<Child, 'failedAt' | 'job'> {
  const failedAt = status?.conditions?.find(
    (condition) => condition.type === 'Failed' && condition.status === 'True',
  )?.lastTransitionTime;
  const startTime = status?.startTime;
  const completionTime = status?.completionTime ?? failedAt;
  const { deletionTimestamp: deleted } = metadata;
  const job = {
    ...defined({ startTime, completionTime }),
    ...defined({ expiresAt: expiryOf(spec?.ttlSecondsAfterFinished, completionTime) }),
    ...(deleted === undefined ? {} : { deletedAt: Date.parse(deleted) }),
    once,
    succeeded: hasCondition(status, 'Complete'),
  };
  return {
    failedAt: failedAt ? Date.parse(failedAt) : undefined,
    job: kind === 'Job' ? job : undefined,
  };
}

function expiryOf(ttlSeconds: number | undefined, end: string | undefined): number | undefined {
  if (ttlSeconds === undefined || end === undefined) return undefined;
  return Date.parse(end) + ttlSeconds * 1_000;
}

function hasCondition(status: Workload['status'], wanted: string): boolean {
  return (status?.conditions ?? []).some(
    ({ type, status: value }) => type === wanted && value === 'True',
  );
}

/** Whether two records are equal in everything that a resource could depend on. */
export function sameChild(a: Child, b: Child): boolean {
  return equal({ ...a, resourceVersion: '' }, { ...b, resourceVersion: '' });
}

/**
 * The owner by the controller reference, or by the label: objects that outlive their resource and the
 * Jobs of a CronJob have no reference to the resource.
 */
function ownerOf(
  object: KubeObject,
  metadataKeys: MetadataKeys,
  batches: ReadonlySet<string> | undefined,
): string | undefined {
  const { namespace = '', labels = {} } = object.metadata;
  const controller = controllerOf(object);
  const batch = knownBatch(labels[metadataKeys.batch], batches);
  if (controller && batch !== undefined) return joined(batch, namespace, controller.name);
  if (controller && controller.kind !== 'CronJob') {
    const group = groupOf(controller.apiVersion);
    const kind = group === metadataKeys.group ? controller.kind : `${controller.kind}.${group}`;
    return joined(kind, namespace, controller.name);
  }
  const [kind, ...name] = labels[metadataKeys.owner]?.split('.') ?? [];
  return kind && name.length > 0 ? joined(kind, namespace, name.join('.')) : undefined;
}

/** Release 0.2.0 had batches that are none any more. */
function knownBatch(
  name: string | undefined,
  batches: ReadonlySet<string> | undefined,
): string | undefined {
  return name === undefined || batches?.has(name) === false ? undefined : name;
}

function controllerOf({ metadata }: KubeObject) {
  return metadata.ownerReferences?.find((reference) => reference.controller);
}

/** Whether only the metadata of an object is applied after its creation. */
export function isCreateOnly(
  kind: string,
  annotations: Readonly<Record<string, string>>,
  metadataKeys: MetadataKeys,
): boolean {
  const { generate, generatedId } = metadataKeys;
  return [generate, generatedId].some((key) => annotations[key] !== undefined) || kind === 'Job';
}

/**
 * The labels and annotations that the operator owns on a create-only object. All others belong to
 * another field manager, whatever their prefix, and stay.
 */
export function createOnlyKeys(metadataKeys: MetadataKeys) {
  return {
    labels: [
      'app.kubernetes.io/name',
      INSTANCE_LABEL,
      'app.kubernetes.io/component',
      MANAGED_BY_LABEL,
      metadataKeys.owner,
      metadataKeys.retain,
      metadataKeys.batch,
    ],
    annotations: [metadataKeys.run, metadataKeys.once, metadataKeys.generate],
  } as const;
}

/** Hash of our metadata of a create-only object: equal for the planned and the live object. */
export function createOnlyHash({ metadata }: KubeObject, metadataKeys: MetadataKeys): string {
  const { labels, annotations } = createOnlyKeys(metadataKeys);
  const ours = (all: Readonly<Record<string, string>> = {}, keys: readonly string[]) =>
    Object.entries(all)
      .filter(([key]) => keys.includes(key))
      .sort();
  return hashOf([
    ours(metadata.labels, labels),
    ours(metadata.annotations, annotations),
    metadata.ownerReferences?.map(({ uid, controller }) => [uid, controller]) ?? [],
  ]);
}
