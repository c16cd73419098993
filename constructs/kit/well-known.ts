/** The annotation in which `kubectl apply` keeps a copy of the manifest. */
export const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** The label that the API server puts on each namespace: its name. It cannot be changed. */
export const NAMESPACE_NAME = 'kubernetes.io/metadata.name';

/**
 * For pods: a name of two dots and more is asked as it is before the search list. Kubernetes' own 5 tries
 * the node's search domain first, where a wildcard answers `redis.shop.svc.cluster.local` and
 * `db.example.com` with an address of its own. With one dot, `<service>.<namespace>` needs the search list.
 */
export const DNS_CONFIG = { options: [{ name: 'ndots', value: '2' }] };
