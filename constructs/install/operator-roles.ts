import { Construct } from 'constructs';
import * as k8s from '../kit/k8s.js';
import { OPERATOR, OPERATOR_LABELS, outsideName } from '../kit/operator-identity.js';
import {
  clusterRules,
  namespacedRules,
  ownNamespaceRules,
  type PermissionSource,
  type ResourceRule,
  webhookKeyRules,
  webhookRules,
} from './permissions.js';

const RBAC = 'rbac.authorization.k8s.io';

export interface OperatorAccessProps {
  /** The operator's own namespace. */
  readonly namespace: string;
  readonly apiGroup: string;
  readonly kinds: readonly PermissionSource[];
  /** The namespaces that the operator works in. @default all, through a ClusterRole */
  readonly watchNamespaces?: readonly string[] | undefined;
  /** Whether there is no ClusterRole at all. @default false */
  readonly namespaced?: boolean | undefined;
  /** Whether it serves admission webhooks. */
  readonly webhooks: boolean;
}

/** The operator's ServiceAccount, and no more rights than its work takes. */
export class OperatorAccess extends Construct {
  constructor(
    scope: Construct,
    id: string,
    private readonly props: OperatorAccessProps,
  ) {
    super(scope, id);
    const { namespace, apiGroup, kinds, watchNamespaces = [], webhooks } = props;
    const namespaced = namespacedRules(kinds, apiGroup);
    new k8s.KubeServiceAccount(this, 'service-account', {
      metadata: { name: OPERATOR.serviceAccount, namespace, labels: OPERATOR_LABELS },
      // The Deployment mounts the token itself: no other pod gets it by taking this account's name.
      automountServiceAccountToken: false,
    });
    if (!props.namespaced) {
      this.clusterRole([
        ...(watchNamespaces.length === 0 ? namespaced : []),
        ...clusterRules(kinds),
        ...(webhooks ? webhookRules(namespace) : []),
      ]);
    }
    for (const name of watchNamespaces) {
      const role = outsideName(OPERATOR.managerRole, namespace);
      this.role(`namespace-${name}`, role, name, namespaced);
    }
    this.role('own-namespace', OPERATOR.ownRole, namespace, [
      ...ownNamespaceRules(),
      ...(webhooks ? webhookKeyRules() : []),
    ]);
  }

  private clusterRole(rules: readonly ResourceRule[]): void {
    const name = outsideName(OPERATOR.managerRole, this.props.namespace);
    const metadata = { name, labels: OPERATOR_LABELS };
    new k8s.KubeClusterRole(this, 'cluster-role', { metadata, rules: [...rules] });
    new k8s.KubeClusterRoleBinding(this, 'cluster-role-binding', {
      metadata: { ...metadata, name: bindingOf(name) },
      roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name },
      subjects: [this.subject],
    });
  }

  private role(id: string, name: string, namespace: string, rules: readonly ResourceRule[]): void {
    const scope = new Construct(this, id);
    const metadata = { name, namespace, labels: OPERATOR_LABELS };
    new k8s.KubeRole(scope, 'role', { metadata, rules: [...rules] });
    new k8s.KubeRoleBinding(scope, 'binding', {
      metadata: { ...metadata, name: bindingOf(name) },
      roleRef: { apiGroup: RBAC, kind: 'Role', name },
      subjects: [this.subject],
    });
  }

  private get subject(): k8s.Subject {
    const { namespace } = this.props;
    return { kind: 'ServiceAccount', name: OPERATOR.serviceAccount, namespace };
  }
}

function bindingOf(role: string): string {
  return role.replace(/-role(?=-|$)/, '-rolebinding');
}
