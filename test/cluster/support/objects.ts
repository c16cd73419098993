import { objectKind } from '../../../constructs/kit/definition.js';
import type { KubeObject } from '../../../constructs/kit/object.js';
import {
  Certificate,
  ClusterIssuer,
  Issuer,
} from '../../../constructs/integrations/cert-manager/kinds.js';
import {
  PostgresCluster,
  PostgresDatabase,
  PostgresRole,
} from '../../../constructs/integrations/cloudnative-pg/kinds.js';
import {
  ScaledObject,
  TriggerAuthentication,
} from '../../../constructs/integrations/keda/kinds.js';
import {
  ExternalMariaDb,
  MariaDb,
  MariaDbDatabase,
  MariaDbGrant,
  MariaDbUser,
} from '../../../constructs/integrations/mariadb-operator/kinds.js';
import type { ObjectKind } from '../../../constructs/kit/object-kind.js';
import { CHILD_KINDS } from '../../../testbed/child-kinds.js';
import { DEFINITIONS } from '../../../constructs/registry.js';

/** An object as the API server has it; `at` reads what is deep in it. */
export interface Live extends KubeObject {
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>>;
  readonly data?: Readonly<Record<string, string>>;
}

/** A manifest as a user writes it. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration?: number;
  readonly lastTransitionTime: string;
}

export { CHILD_KINDS };

export const Namespace: ObjectKind = { apiVersion: 'v1', kind: 'Namespace', plural: 'namespaces' };
export const CustomResourceDefinition: ObjectKind = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
};

const KNOWN = new Map(
  [
    ...CHILD_KINDS,
    ScaledObject,
    TriggerAuthentication,
    Certificate,
    Issuer,
    ClusterIssuer,
    MariaDb,
    ExternalMariaDb,
    MariaDbUser,
    MariaDbGrant,
    PostgresCluster,
    PostgresRole,
    ...DEFINITIONS.map((definition) => objectKind(definition)),
    Namespace,
    CustomResourceDefinition,
    {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      plural: 'apiservices',
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      plural: 'clusterroles',
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      plural: 'clusterrolebindings',
    },
    {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      plural: 'horizontalpodautoscalers',
    },
    { apiVersion: 'v1', kind: 'Pod', plural: 'pods' },
    { apiVersion: 'v1', kind: 'ResourceQuota', plural: 'resourcequotas' },
    { apiVersion: 'v1', kind: 'ServiceAccount', plural: 'serviceaccounts' },
    { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', plural: 'endpointslices' },
    { apiVersion: 'events.k8s.io/v1', kind: 'Event', plural: 'events' },
    { apiVersion: 'apps/v1', kind: 'ReplicaSet', plural: 'replicasets' },
  ].map((kind): [string, ObjectKind] => [kind.kind, kind]),
);
// Two operators have a kind of this name.
KNOWN.set('MariaDbDatabase', MariaDbDatabase);
KNOWN.set('PostgresDatabase', PostgresDatabase);

/** Lets tests of this file use a further kind by its name. */
export function addKind(kind: ObjectKind): void {
  KNOWN.set(kind.kind, kind);
}

/** The kind of this name: any that tests speak about. */
export function kindNamed(name: string): ObjectKind {
  const kind = KNOWN.get(name);
  if (!kind) throw new Error(`no test knows the kind ${name}: add it to ${import.meta.url}`);
  return kind;
}

/** `Deployment/shop-gunicorn`. */
export function nameOf({ kind, metadata }: KubeObject): string {
  return `${kind}/${metadata.name}`;
}

/**
 * What is at a path in an object: `spec.template.spec.containers[0].image`. A key with dots or slashes
 * in it stands in quotes: `metadata.annotations["app-operator.io/paused"]`.
 */
export function at(object: unknown, path: string): unknown {
  let value = object;
  for (const [, quoted, index, key] of path.matchAll(/\["([^"]+)"\]|\[(\d+)\]|([^.[\]]+)/g)) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[quoted ?? index ?? key ?? ''];
  }
  return value;
}

export function conditionsOf(object: Live | undefined): readonly Condition[] {
  return (object?.status?.['conditions'] ?? []) as readonly Condition[];
}

/** Whether a bench or a site is Ready for its present spec. */
export function isReady({ metadata, status }: Live): boolean {
  return status?.['phase'] === 'Ready' && status['observedGeneration'] === metadata.generation;
}

export function conditionOf(object: Live | undefined, type: string): Condition | undefined {
  return conditionsOf(object).find((condition) => condition.type === type);
}

/** Phase and conditions of a resource, in one line. */
export function summaryOf(object: Live | undefined): string {
  if (!object) return 'does not exist';
  const conditions = conditionsOf(object).map(
    ({ type, status, reason, message }) => `${type}=${status} ${reason}: ${message}`,
  );
  const { phase = 'no phase' } = object.status ?? {};
  return `${nameOf(object)} is ${String(phase)}; ${conditions.join('; ') || 'no conditions'}`;
}
