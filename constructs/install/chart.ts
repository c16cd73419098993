import { ApiObject, type ApiObjectProps, Chart } from 'cdk8s';
import { Construct } from 'constructs';
import * as k8s from '../kit/k8s.js';
import { DEFAULT_API_GROUP, type KindDefinition } from '../kit/definition.js';
import { type AnyKind, DEFINITIONS, KINDS } from '../registry.js';
import { OperatorAccess } from './operator-roles.js';
import { AdmissionPolicies } from './admission-policies.js';
import { crdOf } from './crd.js';
import { OPERATOR, OPERATOR_LABELS } from '../kit/operator-identity.js';
import { OperatorDeployment } from './manager.js';
import { MetricsService } from './metrics-service.js';
import { OperatorNetwork } from './network-policy.js';
import type { PermissionSource } from './permissions.js';
import { UserRoles } from './user-roles.js';
import { Webhooks } from './webhook.js';

/** The choices of an installation of the operator. */
export interface InstallProps {
  /** The operator's image with its tag. */
  readonly image: string;
  /** @default 1; of several, one works and the others stand by */
  readonly replicas?: number;
  /**
   * The operator's own namespace, which is created. Objects outside of another one than the default end
   * with its name, so that a cluster can have several installations. @default app-operator-system
   */
  readonly namespace?: string;
  /**
   * The namespaces that the operator works in; they must exist. The operator then has no right to
   * Secrets, or to anything else that is in a namespace, anywhere else.
   * @default all, those to come included
   */
  readonly watchNamespaces?: readonly string[];
  /** The resources of our kinds that the operator works for, as for kubectl. @default all */
  readonly watchLabelSelector?: string;
  /** Whether it has the CRDs. One installation of a cluster has them. @default true */
  readonly crds?: boolean;
  /**
   * Only objects that a user with rights in these namespaces alone can apply: no Namespace, no
   * CRDs, no
   * ClusterRoles. Namespaces must be named, and an administrator installs the CRDs. The metrics are
   * then to be had on the pod's loopback only, since asking the cluster who calls takes a
   * ClusterRole.
   * @default false
   */
  readonly namespaced?: boolean;
  /**
   * Whether the platform assigns user and group ids, as OpenShift does: the operator then sets no
   * ids on the pods that it creates. @default false
   */
  readonly platformIds?: boolean;
  /**
   * Whether the operator's NetworkPolicy limits what it reaches too, see `OperatorNetwork`.
   * @default false
   */
  readonly limitEgress?: boolean;
  /** The namespace from which alone the operator's metrics can be read. @default all */
  readonly metricsNamespace?: string;
  /**
   * Whether the operator's metrics are served over plain HTTP too, on port 8080 of its Service, to
   * everyone who reaches it. @default false: over HTTPS, to callers who may read them
   */
  readonly plainMetrics?: boolean;
  /** The namespace of KEDA's operator. @default keda */
  readonly kedaNamespace?: string;
  /**
   * Whether the operator serves admission webhooks. Their configurations are cluster-scoped.
   * @default true, but not where `namespaced`
   */
  readonly webhooks?: boolean;
  /**
   * Name of a ConfigMap in the operator's namespace, whose key `ca.crt` has the authorities of the
   * only clients that the webhooks answer: the API server's. @default every client is answered
   */
  readonly webhookClientCa?: string | undefined;
  /**
   * Whether there are admission policies, which are cluster-scoped.
   * @default true, but not where `namespaced`
   */
  readonly policies?: boolean;
  /** API group of the custom resources. @default app-operator.io */
  readonly apiGroup?: string;
  /** The kinds whose CRDs are installed. @default all */
  readonly definitions?: readonly KindDefinition[];
  /**
   * The kinds that the operator works for: its rights follow from them.
   * @default all with a controller
   */
  readonly kinds?: readonly (PermissionSource & Pick<AnyKind, 'definition' | 'podFields'>)[];
}

/**
 * Everything of an installation: namespace, CRDs, rights, the operator, its Service, its network.
 */
export class InstallChart extends Chart {
  constructor(scope: Construct, id: string, props: InstallProps) {
    super(scope, id, { disableResourceNameHashes: true });
    const { image, replicas = 1, platformIds = false, limitEgress = false } = props;
    const {
      metricsNamespace,
      kedaNamespace,
      plainMetrics,
      watchLabelSelector,
      crds = true,
    } = props;
    const common = commonProps(props);
    const { namespace, namespaced, webhooks, policies } = common;
    refuseContradictions(common);
    if (!namespaced) {
      new OperatorNamespace(this, 'namespace', namespace);
      if (crds) new Crds(this, 'crds', common);
    }
    new OperatorAccess(this, 'access', common);
    if (!namespaced) new UserRoles(this, 'user-roles', common);
    new MetricsService(this, 'metrics-service', { namespace, plainMetrics });
    const network = { namespace, webhooks, egress: limitEgress, metricsNamespace, plainMetrics };
    new OperatorNetwork(this, 'network', network);
    const { webhookClientCa } = props;
    const settings = { kedaNamespace, webhookClientCa, plainMetrics, watchLabelSelector };
    const operator = { ...common, image, replicas, platformIds, ...settings };
    new OperatorDeployment(this, 'manager', operator);
    if (webhooks) new Webhooks(this, 'webhooks', common);
    if (policies) new AdmissionPolicies(this, 'policies', common);
  }
}

/** What several parts of an installation need. */
function commonProps(props: InstallProps) {
  const { watchNamespaces, namespaced = false, webhooks = !namespaced } = props;
  const { policies = !namespaced } = props;
  const { namespace = OPERATOR.namespace, apiGroup = DEFAULT_API_GROUP } = props;
  const { definitions = DEFINITIONS, kinds = KINDS } = props;
  const scope = { namespace, apiGroup, watchNamespaces, namespaced };
  return { ...scope, webhooks, policies, definitions, kinds };
}

function refuseContradictions(props: ReturnType<typeof commonProps>): void {
  const { namespaced, watchNamespaces, webhooks, policies } = props;
  if (!namespaced) return;
  if (!watchNamespaces?.length) {
    throw new Error('namespaced: an installation without ClusterRoles needs watchNamespaces');
  }
  if (policies) {
    throw new Error('namespaced: an installation without ClusterRoles has no admission policies');
  }
  if (webhooks) {
    throw new Error('namespaced: an installation without ClusterRoles has no webhooks');
  }
}

const POD_SECURITY = {
  'pod-security.kubernetes.io/enforce': 'restricted',
  'pod-security.kubernetes.io/audit': 'restricted',
  'pod-security.kubernetes.io/warn': 'restricted',
} as const;

/** The operator's namespace. Only pods of the `restricted` standard run in it. */
class OperatorNamespace extends Construct {
  constructor(scope: Construct, id: string, name: string) {
    super(scope, id);
    new k8s.KubeNamespace(this, 'namespace', {
      metadata: { name, labels: { ...OPERATOR_LABELS, ...POD_SECURITY } },
    });
  }
}

class Crds extends Construct {
  constructor(
    scope: Construct,
    id: string,
    props: { readonly definitions: readonly KindDefinition[]; readonly apiGroup: string },
  ) {
    super(scope, id);
    for (const definition of props.definitions) {
      new ApiObject(this, definition.plural, crdOf(definition, props.apiGroup) as ApiObjectProps);
    }
  }
}
