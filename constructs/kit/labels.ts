import { isObject } from './is-object.js';
import {
  groupOf,
  versionOf,
  type KubeObject,
  type ManagedFieldsEntry,
  type ObjectMeta,
  type Resource,
} from './object.js';

/** The value of `app.kubernetes.io/managed-by` on everything that the operator makes. */
export const MANAGED_BY = 'app-operator';
export const MANAGED_BY_LABEL = 'app.kubernetes.io/managed-by';
/** On everything that the operator makes, pods included: which part of a bench or a site it is. */
export const COMPONENT_LABEL = 'app.kubernetes.io/component';

/** End of the label's name that says for which resource an object was made. */
export const OWNER = '/owner';

/** End of the label's name that says which shard an object belongs to. */
export const BUCKET = '/bucket';

/** End of the annotation's name on a database server that lists the namespaces which may use it. */
export const DATABASE_GRANT = '/allow-databases-from';

/** End of the annotation's name on a site or an Ingress that lists the namespaces which may have its host names. */
export const HOST_GRANT = '/allow-host-from';

/** End of the annotation's name that identifies the values of a generated Secret. */
export const GENERATED_ID = '/generated-id';

/** Names of the labels and annotations with the API group as prefix. */
export function metadataKeysFor(group: string) {
  return {
    /** The API group itself. */
    group,
    /** Label: `<kind>.<name>` of the resource that an object was made for. It outlives the resource. */
    owner: `${group}${OWNER}`,
    /** Label on the objects of a batch: its name. They belong to the batch, not to the owner's tree. */
    batch: `${group}/batch`,
    /** Label on the children of a sharded operator: the bucket of their bench. */
    bucket: `${group}${BUCKET}`,
    /** Label on the Leases of a sharded operator: how many shards there are. */
    shards: `${group}/shards`,
    /** Label on every pod of a bench and of its sites: the bench. */
    bench: `${group}/bench`,
    /**
     * Label: the object holds data. `true`: it outlives its resource, and the operator never deletes
     * it; `false`: it is deleted with its resource.
     */
    retain: `${group}/retain`,
    /** Annotation on a Job: it runs again when this value changes, and only then. */
    run: `${group}/run`,
    /** Annotation on a Job: `true` if a failed run is not retried automatically. */
    once: `${group}/once`,
    /**
     * Annotation on a Secret: the keys that are generated once, as JSON
     * `{"key": "password" | "fernet" | {"text": …}}`.
     */
    generate: `${group}/generate`,
    /** Annotation on a ConfigMap: label `app` of pods that mount it and need a new version at once. */
    mountedBy: `${group}/mounted-by`,
    /** Annotation on such a pod: the version of the ConfigMap. */
    mounted: `${group}/mounted`,
    /**
     * Annotation on a generated Secret: names its values. Unlike the uid it survives a restore by a
     * backup tool.
     */
    generatedId: `${group}${GENERATED_ID}`,
    /** Annotation on a child that holds data: the Jobs that succeeded for it, see `Kind.recordedIn`. */
    completedRuns: `${group}/completed-runs`,
    /** Annotation on a resource: its name and fields of its status, see `Kind.recordedStatus`. */
    recordedStatus: `${group}/recorded-status`,
    /** Annotation on a bench or a site: its init Job runs again when the value changes. */
    runAgain: `${group}/run-again`,
    /** Annotation on a resource: `true` stops the operator's writes. */
    paused: `${group}/paused`,
    /** Annotation on a deleted resource: `true` skips its cleanup. */
    skipDrop: `${group}/skip-drop`,
    /**
     * Annotation on an AppSite or an Ingress: the namespaces whose sites may serve its host names too,
     * separated by commas.
     */
    allowHostFrom: `${group}${HOST_GRANT}`,
    /**
     * Annotation on a server of a database operator: the namespaces whose benches may use it too,
     * separated by commas.
     */
    allowDatabasesFrom: `${group}${DATABASE_GRANT}`,
    /** Annotation on a pod template: its pods are replaced when the value changes. */
    configHash: `${group}/config-hash`,
    /** Finalizer of resources whose deletion needs work. */
    finalizer: `${group}/finalizer`,
  } as const;
}

export type MetadataKeys = ReturnType<typeof metadataKeysFor>;

/** The label and annotation keys in the group of a resource. */
export function metadataKeysOf(resource: Resource): MetadataKeys {
  return metadataKeysFor(groupOf(resource.apiVersion));
}

/** Whether nothing may be written for a resource, by its spec or its annotation. */
export function isPaused(resource: Resource): boolean {
  // A CRD that lost its schema stores resources without a spec.
  const { spec } = resource;
  return (
    (isObject(spec) && spec['paused'] === true) ||
    resource.metadata.annotations?.[metadataKeysOf(resource).paused] === 'true'
  );
}

/**
 * What identifies the values of a generated Secret, as a pick: values that were generated again have
 * another one. Releases before 0.3 have written no annotation: there it is the uid.
 */
export function valuesIdOf({ metadata }: KubeObject): string {
  const id = Object.entries(metadata.annotations ?? {}).find(([key]) => key.endsWith(GENERATED_ID));
  return id?.[1] ?? metadata.uid ?? '';
}

/** A Secret of a name that the operator generates, where users may have created or edited it. */
export interface NamedSecret {
  /** Whether the operator generated it: without owner label and id it is a user's. */
  readonly generated: boolean;
  /** See `valuesIdOf`. */
  readonly id: string;
  /** The version of values that a user gave; '' for generated values. */
  readonly version: string;
}

/** Such a Secret, as a pick. A preview assumes Secrets to exist, without a uid: as generated. */
export function namedSecretOf(secret: KubeObject): NamedSecret {
  const { uid, labels = {}, annotations = {} } = secret.metadata;
  const generated =
    uid === undefined ||
    Object.keys(labels).some((key) => key.endsWith(OWNER)) ||
    Object.keys(annotations).some((key) => key.endsWith(GENERATED_ID));
  const given = !generated || dataEdits(secret.metadata).length > 0;
  return { generated, id: valuesIdOf(secret), version: given ? versionOf(secret) : '' };
}

/**
 * The managers that have changed the data of a generated Secret. A tool that restores a backup gives
 * the data when it creates the object: that changes nothing.
 */
export function dataEdits({
  creationTimestamp = '',
  managedFields = [],
}: Pick<ObjectMeta, 'creationTimestamp' | 'managedFields'>): readonly ManagedFieldsEntry[] {
  return managedFields
    .filter(
      ({ manager, time = '', fieldsV1 }) =>
        manager !== MANAGED_BY && fieldsV1?.['f:data'] !== undefined && time > creationTimestamp,
    )
    .map(({ manager, operation, time = '' }) => ({
      manager,
      operation,
      time,
      fieldsV1: { 'f:data': {} },
    }));
}

/** The value with which a user requests that the init Job runs again. */
export function runAgainOf(resource: Resource): string | undefined {
  return resource.metadata.annotations?.[metadataKeysOf(resource).runAgain];
}

/** Whether the cleanup of a deleted resource is skipped. */
export function isReleased(resource: Resource): boolean {
  return resource.metadata.annotations?.[metadataKeysOf(resource).skipDrop] === 'true';
}

/** Value of the owner label: kinds have no dots, so it is unambiguous; at most 63 characters. */
export function ownerValue(resource: Pick<Resource, 'kind' | 'metadata'>): string {
  return `${resource.kind}.${resource.metadata.name}`;
}

/** Labels of every child of a resource. */
export function childLabels(resource: Resource, component: string): Record<string, string> {
  return {
    'app.kubernetes.io/name': 'frappe',
    'app.kubernetes.io/instance': resource.metadata.name,
    [COMPONENT_LABEL]: component,
    [MANAGED_BY_LABEL]: MANAGED_BY,
    [metadataKeysOf(resource).owner]: ownerValue(resource),
  };
}

/** Whether the data of a resource outlives it: a cleanup that is skipped drops nothing. */
export function retainsData(resource: Resource<{ readonly deletionPolicy: string }>): boolean {
  return resource.spec.deletionPolicy !== 'Delete' || isReleased(resource);
}

/** The label of a child that holds data: whether it outlives its resource. */
export function retention(
  resource: Resource<{ readonly deletionPolicy: string }>,
): Record<string, string> {
  return { [metadataKeysOf(resource).retain]: String(retainsData(resource)) };
}
