import { DEFAULT_API_GROUP, type KindDefinition } from '../kit/definition.js';
import { PrometheusRule, ServiceMonitor } from '../integrations/prometheus-operator/kinds.js';
import { groupOf } from '../kit/object.js';
import { distinctKinds, kindId, type ObjectKind } from '../kit/object-kind.js';
import type { AnyKind } from '../registry.js';
import { OPERATOR, outsideName } from '../kit/operator-identity.js';

/** A rule of a Role or a ClusterRole about resources. */
export interface ResourceRule {
  readonly apiGroups: string[];
  readonly resources: string[];
  readonly verbs: string[];
  readonly resourceNames?: string[];
}

/** The parts of a kind that permissions follow from. */
export type PermissionSource = Pick<AnyKind, 'definition' | 'owns' | 'reads'>;

const READ = ['get', 'list', 'watch'];
/**
 * Children are applied, which is `patch`, and `create` where they are new; nothing is `update`d.
 */
const OWN = [...READ, 'create', 'patch', 'delete'];

/**
 * What the operator does in the namespaces of its resources: the rules follow from what the kinds
 * own and read, so that a new kind brings its own. Kinds of optional APIs are included.
 */
export function namespacedRules(
  kinds: readonly PermissionSource[],
  group: string = DEFAULT_API_GROUP,
): readonly ResourceRule[] {
  const owned = distinctKinds(kinds.flatMap(({ owns }) => owns));
  const ids = new Set(owned.map(kindId));
  const read = distinctKinds(kinds.flatMap(({ reads }) => reads)).filter(
    (kind) => !ids.has(kindId(kind)),
  );
  const plurals = kinds.map(({ definition }) => definition.plural).sort();
  return [
    ...rulesFor(owned, OWN),
    ...owned.flatMap(({ apiVersion, also = [] }) =>
      also.map(({ resource, verbs }) => ({
        apiGroups: [groupOf(apiVersion)],
        resources: [resource],
        verbs: [...verbs],
      })),
    ),
    ...rulesFor(
      read.filter(({ clusterScoped }) => !clusterScoped),
      READ,
    ),
    // Pods and events say why a workload is not ready; the annotation of a pod refreshes its
    // volumes.
    { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'patch'] },
    { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['list', 'create', 'patch'] },
    { apiGroups: [group], resources: plurals, verbs: [...READ, 'patch'] },
    { apiGroups: [group], resources: plurals.map((name) => `${name}/status`), verbs: ['patch'] },
    // Some platforms need this right for an owner reference that blocks its owner's deletion.
    {
      apiGroups: [group],
      resources: plurals.map((name) => `${name}/finalizers`),
      verbs: ['update'],
    },
  ];
}

/** Cluster-wide rights: cluster-scoped objects, CRDs, and the authorization of metrics requests. */
export function clusterRules(kinds: readonly PermissionSource[]): readonly ResourceRule[] {
  const read = distinctKinds(kinds.flatMap(({ reads }) => reads));
  return [
    ...rulesFor(
      read.filter(({ clusterScoped }) => clusterScoped),
      READ,
    ),
    {
      apiGroups: ['apiextensions.k8s.io'],
      resources: ['customresourcedefinitions'],
      verbs: READ,
    },
    { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
    { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
  ];
}

/** What the operator does in its own namespace. */
export function ownNamespaceRules(): readonly ResourceRule[] {
  const keep = ['get', 'patch'];
  return [
    ...named('coordination.k8s.io', 'leases', OPERATOR.lease, ['get', 'update']),
    ...namedOf(ServiceMonitor, [OPERATOR.serviceMonitor, OPERATOR.workloadMonitor], keep),
    ...namedOf(PrometheusRule, [OPERATOR.prometheusRule], keep),
    ...named('', 'configmaps', OPERATOR.dashboard, keep),
  ];
}

/** The Secret with the keys of the webhooks, in the operator's own namespace. */
export function webhookKeyRules(): readonly ResourceRule[] {
  return named('', 'secrets', OPERATOR.webhookSecret, [...READ, 'update']);
}

/** Writing the CA bundle to the two webhook configurations, which the operator does not create. */
export function webhookRules(namespace: string): readonly ResourceRule[] {
  return [
    {
      apiGroups: ['admissionregistration.k8s.io'],
      resources: ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations'],
      resourceNames: [outsideName(OPERATOR.webhookConfiguration, namespace)],
      verbs: [...READ, 'patch'],
    },
  ];
}

function namedOf(
  { apiVersion, plural }: ObjectKind,
  names: readonly string[],
  verbs: string[],
): ResourceRule[] {
  return named(groupOf(apiVersion), plural, names, verbs);
}

/**
 * The creation of objects, which cannot be limited to names, and some verbs on objects of these
 * names.
 */
function named(
  group: string,
  resource: string,
  name: string | readonly string[],
  verbs: string[],
): ResourceRule[] {
  const names = [name].flat();
  return [
    { apiGroups: [group], resources: [resource], verbs: ['create'] },
    { apiGroups: [group], resources: [resource], resourceNames: names, verbs },
  ];
}

/** The rights on resources of our kinds for users who may view or edit a namespace. */
export function userRules(
  definitions: readonly KindDefinition[],
  group: string,
  access: 'view' | 'edit',
): readonly ResourceRule[] {
  const plurals = definitions.map(({ plural }) => plural).sort();
  const resources = [...plurals, ...plurals.map((name) => `${name}/status`)];
  const scaled = definitions.filter(({ scale }) => scale).map(({ plural }) => `${plural}/scale`);
  const view = { apiGroups: [group], resources: [...resources, ...scaled.sort()], verbs: READ };
  if (access === 'view') return [view];
  const write = ['create', 'update', 'patch', 'delete', 'deletecollection'];
  return [
    view,
    { apiGroups: [group], resources: plurals, verbs: write },
    ...(scaled.length > 0
      ? [{ apiGroups: [group], resources: scaled, verbs: ['update', 'patch'] }]
      : []),
  ];
}

/** One rule an API group, in a stable order. */
function rulesFor(kinds: readonly ObjectKind[], verbs: string[]): ResourceRule[] {
  const groups = new Map<string, string[]>();
  for (const { apiVersion, plural } of kinds) {
    const group = groupOf(apiVersion);
    groups.set(group, [...(groups.get(group) ?? []), plural]);
  }
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([group, resources]) => ({ apiGroups: [group], resources: resources.sort(), verbs }));
}
