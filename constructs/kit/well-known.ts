/** The annotation in which `kubectl apply` keeps a copy of the manifest. */
export const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** The label that the API server puts on each namespace: its name. It cannot be changed. */
export const NAMESPACE_NAME = 'kubernetes.io/metadata.name';
