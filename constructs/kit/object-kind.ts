/** A kind of object in the Kubernetes API: enough to watch it, apply it and write RBAC for it. */
export interface ObjectKind {
  readonly apiVersion: string;
  readonly kind: string;
  /** The resource name in paths and RBAC, for example `deployments`. */
  readonly plural: string;
  /** Whether the API may be missing from a cluster, as with an operator that is not installed. */
  readonly optional?: true;
  /** Whether objects of it only help: a resource is ready without them, and says in a condition what they lack. */
  readonly advisory?: true;
  /** Whether its objects are in no namespace. */
  readonly clusterScoped?: true;
  /** Whether what its objects hold can be read, and not only that they are there. */
  readonly content?: true;
  /** Rights that its owner needs beside those on the kind itself. */
  readonly also?: readonly { readonly resource: string; readonly verbs: readonly string[] }[];
  /** Whether it goes when the other children of its owner have gone: another operator cannot remove it before. */
  readonly deletedLast?: true;
  /** Whether `app-operator status` shows a Ready object on its own line, instead of only counting it. */
  readonly shownWhenReady?: true;
  /** Its objects hold data, or stand for some. `kept`: what their spec says where that is to outlive them, too. */
  readonly data?: { readonly kept?: Readonly<Record<string, string>> };
}

const define = (apiVersion: string, kind: string, plural: string): ObjectKind => ({
  apiVersion,
  kind,
  plural,
});
const optional = (apiVersion: string, kind: string, plural: string): ObjectKind => ({
  apiVersion,
  kind,
  plural,
  optional: true,
});

const advisory = (apiVersion: string, kind: string, plural: string): ObjectKind => ({
  ...optional(apiVersion, kind, plural),
  advisory: true,
});

const shown = (kind: ObjectKind): ObjectKind => ({ ...kind, shownWhenReady: true });

export const ConfigMap = define('v1', 'ConfigMap', 'configmaps');
export const Secret = define('v1', 'Secret', 'secrets');
export const Service = define('v1', 'Service', 'services');
export const PersistentVolumeClaim: ObjectKind = {
  ...define('v1', 'PersistentVolumeClaim', 'persistentvolumeclaims'),
  data: {},
};
export const Deployment = shown(define('apps/v1', 'Deployment', 'deployments'));
export const StatefulSet = shown(define('apps/v1', 'StatefulSet', 'statefulsets'));
export const Job = shown(define('batch/v1', 'Job', 'jobs'));
export const CronJob = shown(define('batch/v1', 'CronJob', 'cronjobs'));
export const Ingress = shown(define('networking.k8s.io/v1', 'Ingress', 'ingresses'));
export const NetworkPolicy = define('networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies');
export const PodDisruptionBudget = define(
  'policy/v1',
  'PodDisruptionBudget',
  'poddisruptionbudgets',
);
export const ScaledObject = shown(advisory('keda.sh/v1alpha1', 'ScaledObject', 'scaledobjects'));
export const TriggerAuthentication = advisory(
  'keda.sh/v1alpha1',
  'TriggerAuthentication',
  'triggerauthentications',
);
/** Optional only so that an operator without the right to read it works on without. */
export const HorizontalPodAutoscaler: ObjectKind = {
  ...optional('autoscaling/v2', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers'),
  content: true,
};
export const Certificate = shown(advisory('cert-manager.io/v1', 'Certificate', 'certificates'));
export const TraefikMiddleware = advisory('traefik.io/v1alpha1', 'Middleware', 'middlewares');
/** Only who may do this as well may name the host of a Route. */
export const Route: ObjectKind = {
  ...optional('route.openshift.io/v1', 'Route', 'routes'),
  also: [{ resource: 'routes/custom-host', verbs: ['create', 'update'] }],
};
export const SecurityContextConstraints: ObjectKind = {
  ...optional(
    'security.openshift.io/v1',
    'SecurityContextConstraints',
    'securitycontextconstraints',
  ),
  clusterScoped: true,
};
export const Issuer = optional('cert-manager.io/v1', 'Issuer', 'issuers');
export const ClusterIssuer: ObjectKind = {
  ...optional('cert-manager.io/v1', 'ClusterIssuer', 'clusterissuers'),
  clusterScoped: true,
};
export const MariaDb: ObjectKind = {
  ...optional('k8s.mariadb.com/v1alpha1', 'MariaDB', 'mariadbs'),
  content: true,
};
export const ExternalMariaDb: ObjectKind = {
  ...optional('k8s.mariadb.com/v1alpha1', 'ExternalMariaDB', 'externalmariadbs'),
  content: true,
};
const SKIP = { data: { kept: { cleanupPolicy: 'Skip' } } } as const;
export const MariaDbDatabase: ObjectKind = {
  ...optional('k8s.mariadb.com/v1alpha1', 'Database', 'databases'),
  ...SKIP,
};
export const MariaDbUser: ObjectKind = {
  ...optional('k8s.mariadb.com/v1alpha1', 'User', 'users'),
  ...SKIP,
};
export const MariaDbGrant: ObjectKind = {
  ...optional('k8s.mariadb.com/v1alpha1', 'Grant', 'grants'),
  ...SKIP,
};
export const PostgresCluster: ObjectKind = {
  ...optional('postgresql.cnpg.io/v1', 'Cluster', 'clusters'),
  content: true,
};
export const PostgresDatabase: ObjectKind = {
  ...optional('postgresql.cnpg.io/v1', 'Database', 'databases'),
  data: { kept: { databaseReclaimPolicy: 'retain' } },
};
/** PostgreSQL drops no role that still owns a database. */
export const PostgresRole: ObjectKind = {
  ...optional('postgresql.cnpg.io/v1', 'DatabaseRole', 'databaseroles'),
  deletedLast: true,
  data: { kept: { databaseRoleReclaimPolicy: 'retain' } },
};

/** The identity of a kind among all kinds: `<apiVersion>/<kind>`. */
export function kindId(kind: Pick<ObjectKind, 'apiVersion' | 'kind'>): string {
  return `${kind.apiVersion}/${kind.kind}`;
}
