import { groupOf, type Resource } from './object.js';

/** End of the label's name that says for which resource an object was made. */
export const OWNER = '/owner';

/** End of the annotation's name on a database server that lists the namespaces which may use it. */
export const DATABASE_GRANT = '/allow-databases-from';

/** End of the annotation's name on a site or an Ingress that lists the namespaces which may have its host names. */
export const HOST_GRANT = '/allow-host-from';

/** End of the annotation's name on a Job that names the field which gives it more time. */
export const TIMEOUT_FIELD = '/timeout-field';

/** End of the annotation's name that identifies the values of a generated Secret. */
export const GENERATED_ID = '/generated-id';

/** End of the annotation's name on the root Secret of a PostgreSQL server that names the server's image. */
export const SERVER_IMAGE = '/server-image';

/** Names of the labels and annotations with the API group as prefix. */
export function metadataKeysFor(group: string) {
  return {
    /** The API group itself. */
    group,
    /** Label: `<kind>.<name>` of the resource that an object was made for. It outlives the resource. */
    owner: `${group}${OWNER}`,
    /** Label on the objects of a batch: its name. They belong to the batch, not to the owner's tree. */
    batch: `${group}/batch`,
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
    /** Annotation on a Job: the field of its resource that gives it more time. */
    timeoutField: `${group}${TIMEOUT_FIELD}`,
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
    /** Annotation on the root Secret of a PostgreSQL server: its image, which it keeps. */
    serverImage: `${group}${SERVER_IMAGE}`,
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
