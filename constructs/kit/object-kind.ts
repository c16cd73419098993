import { defined } from './json/defined.js';
import { pickBySuffix } from './json/pick-by-suffix.js';
import type { HealthRule } from './health.js';
import { MANAGED_BY_LABEL } from './labels.js';
import { HOST_GRANT } from './metadata-keys.js';
import type { KubeObject, Resource } from './object.js';

/** A kind of object in the Kubernetes API: enough to watch it, apply it and write RBAC for it. */
export interface ObjectKind {
  readonly apiVersion: string;
  readonly kind: string;
  /** The resource name in paths and RBAC, for example `deployments`. */
  readonly plural: string;
  /**
   * A cluster may not serve the API, as when its operator is not installed. `advisory`: a resource is
   * ready without objects of this kind too; a condition names what they lack.
   * @default every cluster serves it
   */
  readonly optional?: true | 'advisory';
  /** Whether its objects are in no namespace. */
  readonly clusterScoped?: true;
  /**
   * What kinds read of objects that a spec names: `whole` the spec and the status, a function the part
   * that is kept in memory, `ofChildren` nothing but of our own children, which are repaired.
   * @default the metadata
   */
  readonly content?: 'whole' | 'ofChildren' | ((object: KubeObject) => KubeObject);
  /** Rights that the operator needs beside those on the kind itself. */
  readonly also?: readonly { readonly resource: string; readonly verbs: readonly string[] }[];
  /**
   * Whether it is deleted after the other children of its owner: its operator cannot delete it
   * earlier.
   */
  readonly deletedLast?: true;
  /** Its objects hold data. `kept`: what their spec says where the data outlives them. */
  readonly data?: { readonly kept?: Readonly<Record<string, string>> };
  /** Fields with maps that are the operator's as a whole: the keys of others are removed. @default none */
  readonly whole?: readonly string[];
  /**
   * How the health of its objects is evaluated.
   * @default the rules for core kinds, see `healthOf`
   */
  readonly health?: HealthRule;
}

/** A kind that every cluster serves. */
function coreKind(apiVersion: string, kind: string, plural: string): ObjectKind {
  return { apiVersion, kind, plural };
}

/** A kind that a cluster may not serve. */
export function optionalKind(apiVersion: string, kind: string, plural: string): ObjectKind {
  return { apiVersion, kind, plural, optional: true };
}

/** A kind that a cluster may not serve, and without whose objects a resource is ready. */
export function advisoryKind(apiVersion: string, kind: string, plural: string): ObjectKind {
  return { apiVersion, kind, plural, optional: 'advisory' };
}

/**
 * Resources may name any ConfigMap, of which only the version is read. The values of children are
 * watched too: they are repaired where they were changed.
 */
export const ConfigMap: ObjectKind = {
  ...coreKind('v1', 'ConfigMap', 'configmaps'),
  content: 'ofChildren',
  // Pods mount all keys, and run what is in them.
  whole: ['data', 'binaryData'],
};
export const Secret = coreKind('v1', 'Secret', 'secrets');
export const Service = coreKind('v1', 'Service', 'services');
export const PersistentVolumeClaim: ObjectKind = {
  ...coreKind('v1', 'PersistentVolumeClaim', 'persistentvolumeclaims'),
  data: {},
  content: modesOfClaim,
};
export const Deployment = coreKind('apps/v1', 'Deployment', 'deployments');
export const StatefulSet = coreKind('apps/v1', 'StatefulSet', 'statefulsets');
export const Job = coreKind('batch/v1', 'Job', 'jobs');
export const CronJob = coreKind('batch/v1', 'CronJob', 'cronjobs');
/** Of the Ingresses of others, only their host names are read; of ours, whether they have an address. */
export const Ingress: ObjectKind = {
  ...coreKind('networking.k8s.io/v1', 'Ingress', 'ingresses'),
  content: hostsOfIngress,
};
export const NetworkPolicy = coreKind('networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies');
export const PodDisruptionBudget = coreKind(
  'policy/v1',
  'PodDisruptionBudget',
  'poddisruptionbudgets',
);
/**
 * Advisory, so that an operator without the right to read it works without it, and a resource is ready
 * whether it scales or not.
 */
export const HorizontalPodAutoscaler: ObjectKind = {
  ...advisoryKind('autoscaling/v2', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers'),
  content: 'whole',
};

/** A claim as far as a spec that names it depends on it. */
function modesOfClaim(object: KubeObject): KubeObject {
  const { spec, status } = object as Partial<Resource<Readonly<Record<string, unknown>>>> & {
    readonly status?: { readonly phase?: string } | null;
  };
  const modes = spec?.['accessModes'];
  const { name, namespace, deletionTimestamp, labels } = object.metadata;
  const managedBy = labels?.[MANAGED_BY_LABEL];
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: {
      name,
      ...defined({ namespace, deletionTimestamp }),
      ...(managedBy === undefined ? {} : { labels: { [MANAGED_BY_LABEL]: managedBy } }),
    },
    spec: { accessModes: Array.isArray(modes) ? modes.map(String) : [] },
    status: { phase: status?.phase },
  } as Resource;
}

/** The longest grant of an Ingress that is kept: users may write any text. */
const MAX_GRANT_LENGTH = 8 * 1024;

/** An Ingress with its host names, its address, its age, its owner and its annotations of a grant. */
function hostsOfIngress(object: KubeObject): KubeObject {
  const { spec, status } = object as Resource<
    { readonly rules?: readonly { readonly host?: string }[] },
    { readonly loadBalancer?: { readonly ingress?: readonly object[] } }
  >;
  const { name, namespace, creationTimestamp, ownerReferences } = object.metadata;
  const annotations = pickBySuffix([HOST_GRANT], object.metadata.annotations, MAX_GRANT_LENGTH);
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: {
      name,
      ...defined({ namespace, creationTimestamp, ownerReferences, annotations }),
    },
    spec: { rules: (spec.rules ?? []).map(({ host }) => ({ ...(host ? { host } : {}) })) },
    ...(status?.loadBalancer?.ingress?.length
      ? { status: { loadBalancer: { ingress: [{}] } } }
      : {}),
  } as Resource;
}

/** Whether kinds read the spec and the status of objects that a spec names. */
export function readsContent({ content }: Pick<ObjectKind, 'content'>): boolean {
  return content !== undefined && content !== 'ofChildren';
}

/** The identity of a kind among all kinds: `<apiVersion>/<kind>`. */
export function kindId(kind: Pick<ObjectKind, 'apiVersion' | 'kind'>): string {
  return `${kind.apiVersion}/${kind.kind}`;
}

/** Some kinds, each once, in the order in which they first occur. */
export function distinctKinds(kinds: readonly ObjectKind[]): readonly ObjectKind[] {
  return [...new Map(kinds.map((kind) => [kindId(kind), kind])).values()];
}
