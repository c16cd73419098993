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

export const ConfigMap = define('v1', 'ConfigMap', 'configmaps');
export const Secret = define('v1', 'Secret', 'secrets');
export const Service = define('v1', 'Service', 'services');
export const PersistentVolumeClaim = define(
  'v1',
  'PersistentVolumeClaim',
  'persistentvolumeclaims',
);
export const Deployment = define('apps/v1', 'Deployment', 'deployments');
export const StatefulSet = define('apps/v1', 'StatefulSet', 'statefulsets');
export const Job = define('batch/v1', 'Job', 'jobs');
export const CronJob = define('batch/v1', 'CronJob', 'cronjobs');
export const Ingress = define('networking.k8s.io/v1', 'Ingress', 'ingresses');
export const NetworkPolicy = define('networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies');
export const PodDisruptionBudget = define(
  'policy/v1',
  'PodDisruptionBudget',
  'poddisruptionbudgets',
);
export const ScaledObject = advisory('keda.sh/v1alpha1', 'ScaledObject', 'scaledobjects');
export const TriggerAuthentication = advisory(
  'keda.sh/v1alpha1',
  'TriggerAuthentication',
  'triggerauthentications',
);
export const Certificate = advisory('cert-manager.io/v1', 'Certificate', 'certificates');
export const MariaDbDatabase = optional('k8s.mariadb.com/v1alpha1', 'Database', 'databases');
export const MariaDbUser = optional('k8s.mariadb.com/v1alpha1', 'User', 'users');
export const MariaDbGrant = optional('k8s.mariadb.com/v1alpha1', 'Grant', 'grants');

/** The identity of a kind among all kinds: `<apiVersion>/<kind>`. */
export function kindId(kind: Pick<ObjectKind, 'apiVersion' | 'kind'>): string {
  return `${kind.apiVersion}/${kind.kind}`;
}
