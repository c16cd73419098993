import { Construct } from 'constructs';
import * as k8s from '../kit/k8s.js';
import type { KindDefinition } from '../kit/definition.js';
import { OPERATOR, OPERATOR_LABELS, outsideName } from '../kit/operator-identity.js';
import { userRules } from './permissions.js';

export interface UserRolesProps {
  /** The operator's own namespace. */
  readonly namespace: string;
  readonly apiGroup: string;
  readonly definitions: readonly KindDefinition[];
}

/**
 * ClusterRoles for users and for Prometheus. Users who may view or edit a namespace may do so with
 * resources of our kinds too: these roles are added to the cluster's own `view`, `edit` and
 * `admin`.
 */
export class UserRoles extends Construct {
  constructor(scope: Construct, id: string, { namespace, apiGroup, definitions }: UserRolesProps) {
    super(scope, id);
    const nameOf = (role: string): string => outsideName(role, namespace);
    new k8s.KubeClusterRole(this, 'view', {
      metadata: {
        name: nameOf(OPERATOR.viewRole),
        labels: { ...OPERATOR_LABELS, ...addedTo('view', 'edit', 'admin') },
      },
      rules: [...userRules(definitions, apiGroup, 'view')],
    });
    new k8s.KubeClusterRole(this, 'edit', {
      metadata: {
        name: nameOf(OPERATOR.editRole),
        labels: { ...OPERATOR_LABELS, ...addedTo('edit', 'admin') },
      },
      rules: [...userRules(definitions, apiGroup, 'edit')],
    });
    // Not bound: bind it to the service account of the scraper.
    new k8s.KubeClusterRole(this, 'metrics-reader', {
      metadata: { name: nameOf(OPERATOR.metricsReaderRole), labels: OPERATOR_LABELS },
      rules: [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }],
    });
  }
}

function addedTo(...roles: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    roles.map((role) => [`rbac.authorization.k8s.io/aggregate-to-${role}`, 'true']),
  );
}
