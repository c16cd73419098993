import { hashOf } from '../../constructs/kit/hash.js';
import { healthOf, type Health } from '../../constructs/kit/health.js';
import { MANAGED_BY_LABEL, type MetadataKeys } from '../../constructs/kit/labels.js';
import { groupOf, keyOf, type KubeObject } from '../../constructs/kit/object.js';
import { kindId, type ObjectKind } from '../../constructs/kit/object-kind.js';
import { ownedHash, owns } from './owned-fields.js';

/** The name under which the operator applies. */
export const FIELD_MANAGER = 'app-operator';

/** What is kept of a child: enough to judge it, and to see that it is still as it was applied. */
export interface Child {
  /** `<apiVersion>/<kind>/<namespace>/<name>`. */
  readonly id: string;
  readonly kind: ObjectKind;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** The resource that it belongs to: `<kind>/<namespace>/<name>`, the kind with its group where that is not ours. */
  readonly owner: string | undefined;
  /** uid of its controller; undefined where it outlives its resource. */
  readonly controller: string | undefined;
  readonly retained: boolean;
  /** Whether it is marked as data, retained or not. */
  readonly holdsData: boolean;
  readonly deleting: boolean;
  /** Hash of what we applied, as it is now. */
  readonly owned: string | undefined;
  /** For what is made once, a generated Secret or a Job: hash of the metadata that is ours. */
  readonly createOnly: string | undefined;
  /** For a Job: what it was made to do. */
  readonly run: string | undefined;
  readonly health: Health;
  /** Of a workload; `ours` where the operator applies the number. */
  readonly replicas:
    { readonly desired: number; readonly current: number; readonly ours: boolean } | undefined;
  /** Since when its operator has not looked at it, in milliseconds since 1970; undefined where it has. */
  readonly unobservedSince: number | undefined;
  /** For a failed Job: when it failed, in milliseconds since 1970. */
  readonly failedAt: number | undefined;
  /** For a Job: when it began and ended, RFC 3339, and whether a failed one is left as it is. */
  readonly job:
    | { readonly startTime?: string; readonly completionTime?: string; readonly once: boolean }
    | undefined;
}

export function childId(kind: ObjectKind, namespace: string, name: string): string {
  return `${kindId(kind)}/${keyOf(namespace, name)}`;
}

interface Workload extends KubeObject {
  readonly spec?: { readonly replicas?: number };
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

/** The record of a live object. */
export function childOf(kind: ObjectKind, object: KubeObject, metadataKeys: MetadataKeys): Child {
  const { metadata } = object;
  const namespace = metadata.namespace ?? '';
  const { spec, status } = object as Workload;
  const annotations = metadata.annotations ?? {};
  const failed = status?.conditions?.find(
    ({ type, status }) => type === 'Failed' && status === 'True',
  );
  // Secrets come as metadata only, and have no health.
  const health = healthOf({ ...object, kind: kind.kind }, kind.health);
  const scales = kind.kind === 'Deployment' || kind.kind === 'StatefulSet';
  return {
    id: childId(kind, namespace, metadata.name),
    kind,
    namespace,
    name: metadata.name,
    uid: metadata.uid ?? '',
    resourceVersion: metadata.resourceVersion ?? '',
    owner: ownerOf(object, metadataKeys),
    controller: metadata.ownerReferences?.find((reference) => reference.controller)?.uid,
    retained: metadata.labels?.[metadataKeys.retain] === 'true',
    holdsData: metadata.labels?.[metadataKeys.retain] !== undefined,
    deleting: metadata.deletionTimestamp !== undefined,
    owned: ownedHash(object, FIELD_MANAGER),
    createOnly: isCreateOnly(kind.kind, annotations, metadataKeys)
      ? createOnlyHash(object, metadataKeys)
      : undefined,
    run: annotations[metadataKeys.run],
    health,
    unobservedSince: health.unobserved ? Date.parse(metadata.creationTimestamp ?? '') : undefined,
    replicas: scales
      ? {
          desired: spec?.replicas ?? 1,
          current: status?.readyReplicas ?? 0,
          ours: owns(object, FIELD_MANAGER, ['spec', 'replicas']),
        }
      : undefined,
    failedAt: failed?.lastTransitionTime ? Date.parse(failed.lastTransitionTime) : undefined,
    job:
      kind.kind === 'Job'
        ? {
            ...(status?.startTime === undefined ? {} : { startTime: status.startTime }),
            ...jobEnd(status?.completionTime ?? failed?.lastTransitionTime),
            once: annotations[metadataKeys.once] === 'true',
          }
        : undefined,
  };
}

function jobEnd(completionTime: string | undefined): { readonly completionTime?: string } {
  return completionTime === undefined ? {} : { completionTime };
}

/** Whether two records differ in anything that a resource could depend on. */
export function sameChild(a: Child, b: Child): boolean {
  return hashOf({ ...a, resourceVersion: '' }) === hashOf({ ...b, resourceVersion: '' });
}

/**
 * A controller reference says whose an object is; objects that outlive their resource have the label,
 * and so have the Jobs that a CronJob of a resource makes.
 */
function ownerOf({ metadata }: KubeObject, metadataKeys: MetadataKeys): string | undefined {
  const controller = metadata.ownerReferences?.find((reference) => reference.controller);
  const namespace = metadata.namespace ?? '';
  const batch = metadata.labels?.[metadataKeys.batch];
  if (controller && batch !== undefined) return `${batch}/${keyOf(namespace, controller.name)}`;
  if (controller && controller.kind !== 'CronJob') {
    const group = groupOf(controller.apiVersion);
    const kind = group === metadataKeys.group ? controller.kind : `${controller.kind}.${group}`;
    return `${kind}/${keyOf(namespace, controller.name)}`;
  }
  const [kind, ...name] = metadata.labels?.[metadataKeys.owner]?.split('.') ?? [];
  return kind && name.length > 0 ? `${kind}/${keyOf(namespace, name.join('.'))}` : undefined;
}

/** Whether an object is made once, and only its metadata is kept as it should be. */
export function isCreateOnly(
  kind: string,
  annotations: Readonly<Record<string, string>>,
  metadataKeys: MetadataKeys,
): boolean {
  return kind === 'Job' || annotations[metadataKeys.generate] !== undefined;
}

/**
 * The labels and annotations that the operator keeps on a generated Secret or a Job. All others are
 * somebody else's, whatever their prefix: they cannot be told from leftovers, and stay.
 */
export function createOnlyKeys(metadataKeys: MetadataKeys) {
  return {
    labels: [
      'app.kubernetes.io/name',
      'app.kubernetes.io/instance',
      'app.kubernetes.io/component',
      MANAGED_BY_LABEL,
      metadataKeys.owner,
      metadataKeys.retain,
      metadataKeys.batch,
    ],
    annotations: [metadataKeys.run, metadataKeys.once, metadataKeys.generate],
  } as const;
}

/** Hash of the metadata of a generated Secret or a Job that is ours: the same for what is wanted and for what is there. */
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
