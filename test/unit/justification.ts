import type { Integration } from '../../constructs/kit/integration.js';
import { groupOf } from '../../constructs/kit/object.js';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import type { PermissionSource, ResourceRule } from '../../constructs/install/permissions.js';

/** Why the operator has a right: one verb on one resource, or several with the same reason. */
export interface JustifiedRight {
  /** `<resource>` or `<resource>.<group>`. */
  readonly resource: string;
  /** The objects that the right is limited to; all when empty. */
  readonly names: readonly string[];
  readonly verbs: readonly string[];
  readonly why: string;
  /** Who needs it: kinds of ours, an integration, or a feature. */
  readonly from: string;
}

/** Where rights come from. */
export interface RightSources {
  readonly kinds: readonly PermissionSource[];
  readonly group: string;
  readonly integrations: readonly Integration[];
}

type Reasons = Readonly<Record<string, string>>;

interface Feature {
  readonly from: string;
  /** By verb. */
  readonly why: Reasons;
}

/** Each verb on a kind that resources own. */
const OWNED: Reasons = {
  get: 'reads a live object that the caches do not have, before it adopts or refuses it',
  list: 'fills the cache of children',
  watch: 'learns of changes of children, and repairs them',
  create: 'applies a child that does not exist',
  patch: 'applies a child',
  delete: 'deletes a child that is no longer wanted',
};

/** Each verb on a kind that is only read. */
const READ_ONLY: Reasons = {
  get: 'shows nothing that list does not show',
  list: 'fills the cache of what resources refer to',
  watch: 'learns of changes of what resources refer to',
};

/** Where Secrets differ from other children. */
const SECRETS: Reasons = {
  list: 'asks for metadata only: whether a Secret exists, and its version; RBAC knows no such verb',
  watch: 'asks for metadata only: a changed Secret restarts the pods that read it',
  create: 'creates passwords and keys, once',
  patch: 'repairs labels, annotations and owners of Secrets that it created',
  delete: 'deletes Secrets that it created, under deletionPolicy Delete',
};

const own = (why: string): Reasons => ({ create: why, get: why, patch: why, update: why });

/** Rights that follow from no kind: by resource, and by `<resource>[named]` where names limit them. */
const FEATURES: Readonly<Record<string, Feature>> = {
  pods: {
    from: 'health of workloads',
    why: {
      get: 'reads why a pod is not ready, and the termination message of a Job',
      list: 'finds the pods of a workload or a Job, by metadata only',
      patch: 'annotates pods, so that the kubelet updates a mounted ConfigMap at once',
    },
  },
  'events.events.k8s.io': {
    from: 'events',
    why: {
      list: 'reads why a controller cannot create a pod',
      create: 'records an event when the reason of a condition changes',
      patch: 'counts an event that is repeated',
    },
  },
  'customresourcedefinitions.apiextensions.k8s.io': {
    from: 'discovery',
    why: {
      get: READ_ONLY['get'] ?? '',
      list: 'learns which optional APIs the cluster serves',
      watch: 'learns that an optional API was installed or removed',
    },
  },
  'tokenreviews.authentication.k8s.io': {
    from: '`/metrics`',
    why: { create: 'asks who calls' },
  },
  'subjectaccessreviews.authorization.k8s.io': {
    from: '`/metrics`',
    why: { create: 'asks whether the caller may get the metrics' },
  },
  'leases.coordination.k8s.io': {
    from: 'leader election',
    why: { create: 'creates the Lease', get: 'reads the Lease', update: 'holds the Lease' },
  },
  'servicemonitors.monitoring.coreos.com': {
    from: 'Prometheus Operator',
    why: own('has the operator and the exporters of benches scraped'),
  },
  'prometheusrules.monitoring.coreos.com': {
    from: 'Prometheus Operator',
    why: own('installs the alerts'),
  },
  'secrets[named]': {
    from: 'webhooks',
    why: {
      create: "creates the Secret with the webhooks' keys",
      get: "reads the webhooks' keys",
      list: "reads the webhooks' keys",
      watch: 'learns that another replica renewed the keys',
      update: 'renews the keys',
    },
  },
  'configmaps[named]': {
    from: 'dashboard',
    why: own('installs the dashboard of Grafana'),
  },
  ...Object.fromEntries(
    ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations'].map((name) => [
      `${name}.admissionregistration.k8s.io`,
      {
        from: 'webhooks',
        why: {
          get: "reads the configuration's CA bundle",
          list: "reads the configuration's CA bundle",
          watch: 'learns that the CA bundle was changed',
          patch: 'writes the CA bundle',
        },
      },
    ]),
  ),
};

/** Each verb on our own kinds. */
const RESOURCES: Reasons = {
  get: READ_ONLY['get'] ?? '',
  list: 'fills the cache of resources',
  watch: 'learns of changes of resources',
  patch: 'sets and removes the finalizer',
  'status patch': 'writes the status',
  'finalizers update': 'sets owner references that block the deletion of the owner',
};

/**
 * The reason of each right in some rules.
 * @throws where a right has no reason: it is declared with the right
 */
export function justify(
  rules: readonly ResourceRule[],
  sources: RightSources,
): readonly JustifiedRight[] {
  return rules.flatMap(({ apiGroups, resources, verbs, resourceNames = [] }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        grouped({ resource: nameOf(resource, group), names: resourceNames }, verbs, (verb) =>
          reasonOf({ group, resource, verb, names: resourceNames }, sources),
        ),
      ),
    ),
  );
}

interface Right {
  readonly group: string;
  readonly resource: string;
  readonly verb: string;
  readonly names: readonly string[];
}

type Reason = Pick<JustifiedRight, 'why' | 'from'>;

/** The first that knows a right gives its reason. */
function reasonOf(right: Right, sources: RightSources): Reason {
  const found =
    resourceReason(right, sources) ?? childReason(right, sources) ?? featureReason(right);
  if (found) return found;
  const { verb, resource, group } = right;
  throw new Error(`${verb} ${nameOf(resource, group)}: the right has no reason`);
}

function resourceReason(
  { group, resource, verb }: Right,
  sources: RightSources,
): Reason | undefined {
  if (group !== sources.group) return undefined;
  const [plural, sub] = resource.split('/');
  const kind = sources.kinds.find(({ definition }) => definition.plural === plural);
  const why = RESOURCES[sub === undefined ? verb : `${sub} ${verb}`];
  return kind && why !== undefined ? { why, from: kind.definition.kind } : undefined;
}

function childReason({ group, resource, verb, names }: Right, sources: RightSources) {
  if (names.length > 0) return undefined;
  const { kinds } = sources;
  const isOf = (kind: ObjectKind): boolean =>
    groupOf(kind.apiVersion) === group && kind.plural === resource;
  const also = kinds
    .flatMap(({ owns }) => owns)
    .find(
      (kind) =>
        groupOf(kind.apiVersion) === group && kind.also?.some((one) => one.resource === resource),
    );
  if (also)
    return { why: `sets a field of a ${also.kind} that needs it`, from: fromOf(also, sources) };
  const owned = kinds.flatMap(({ owns }) => owns).find(isOf);
  const kind = owned ?? kinds.flatMap(({ reads }) => reads).find(isOf);
  if (!kind) return undefined;
  const secrets = kind.kind === 'Secret' ? SECRETS : {};
  const why = secrets[verb] ?? (owned ? OWNED : READ_ONLY)[verb];
  return why === undefined ? undefined : { why, from: fromOf(kind, sources) };
}

/** The integration that brings a kind, else the kinds of ours that need it. */
function fromOf(kind: ObjectKind, { kinds, integrations }: RightSources): string {
  const same = (other: ObjectKind): boolean =>
    other.kind === kind.kind && other.apiVersion === kind.apiVersion;
  const integration = integrations.find(({ uses = {} }) =>
    Object.values(uses).some(({ owns = [], reads = [] }) => [...owns, ...reads].some(same)),
  );
  if (integration) return integration.title;
  return kinds
    .filter(({ owns, reads }) => [...owns, ...reads].some(same))
    .map(({ definition }) => definition.kind)
    .join(', ');
}

/** A creation cannot be limited to names: it has the reason of the named right. */
function featureReason({ group, resource, verb, names }: Right): Reason | undefined {
  const name = nameOf(resource, group);
  const feature = (names.length > 0 ? FEATURES[`${name}[named]`] : undefined) ?? FEATURES[name];
  const why = feature?.why[verb];
  return feature && why !== undefined ? { why, from: feature.from } : undefined;
}

/** One entry for the verbs of a resource that have the same reason. */
function grouped(
  of: Pick<JustifiedRight, 'resource' | 'names'>,
  verbs: readonly string[],
  reason: (verb: string) => Reason,
): readonly JustifiedRight[] {
  const byWhy = new Map<string, JustifiedRight>();
  for (const verb of verbs) {
    const { why, from } = reason(verb);
    const known = byWhy.get(why);
    byWhy.set(why, { ...of, why, from, verbs: [...(known?.verbs ?? []), verb] });
  }
  return [...byWhy.values()];
}

function nameOf(resource: string, group: string): string {
  return group === '' ? resource : `${resource}.${group}`;
}
