import { Construct } from 'constructs';
import * as k8s from '../kit/k8s.js';
import { API_VERSION, type KindDefinition } from '../kit/definition.js';
import { NAMESPACE_NAME } from '../kit/well-known.js';
import {
  OPERATOR,
  OPERATOR_LABELS,
  OPERATOR_SELECTOR,
  outsideName,
} from '../kit/operator-identity.js';

export interface WebhooksProps {
  /** The operator's own namespace. */
  readonly namespace: string;
  readonly apiGroup: string;
  readonly definitions: readonly KindDefinition[];
}

/** Seconds that a write waits at most for each of the two webhooks. */
const TIMEOUT_SECONDS = 3;

/**
 * The admission webhooks. They are advice: while they are unavailable, the operator reports what they would
 * refuse. What must hold is in `AdmissionPolicies`. The operator writes the CA bundle into the configurations.
 */
export class Webhooks extends Construct {
  constructor(scope: Construct, id: string, props: WebhooksProps) {
    super(scope, id);
    const { namespace } = props;
    new k8s.KubeService(this, 'service', {
      metadata: { name: OPERATOR.webhookService, namespace, labels: OPERATOR_LABELS },
      spec: {
        selector: { ...OPERATOR_SELECTOR },
        ports: [
          {
            name: 'webhooks',
            port: 443,
            targetPort: 'webhooks',
            protocol: 'TCP',
          },
        ],
      },
    });
    const name = outsideName(OPERATOR.webhookConfiguration, namespace);
    const metadata = { name, labels: OPERATOR_LABELS };
    const plurals = props.definitions.map(({ plural }) => plural).sort();
    const changes = { operations: ['CREATE', 'UPDATE'], resources: plurals };
    // Only the deletion of a bench has a warning: it waits for its sites.
    const deletions = { operations: ['DELETE'], resources: plurals.filter(isBench) };
    new k8s.KubeValidatingWebhookConfiguration(this, 'validating', {
      metadata,
      webhooks: [webhook(props, OPERATOR.validatePath, [changes, deletions])],
    });
    new k8s.KubeMutatingWebhookConfiguration(this, 'mutating', {
      metadata,
      webhooks: [webhook(props, OPERATOR.mutatePath, [changes])],
    });
  }
}

/** Changes of metadata and of objects that are being deleted are not validated. */
const SPEC_CHANGES = {
  name: 'spec-changes',
  expression:
    "request.operation != 'UPDATE' || (object.spec != oldObject.spec && !has(object.metadata.deletionTimestamp))",
} as const;

function webhook(
  { namespace, apiGroup }: WebhooksProps,
  path: string,
  rules: readonly { readonly operations: string[]; readonly resources: string[] }[],
): k8s.ValidatingWebhook {
  return {
    name: `${path.slice(1)}.${apiGroup}`,
    admissionReviewVersions: ['v1'],
    clientConfig: { service: { namespace, name: OPERATOR.webhookService, path, port: 443 } },
    failurePolicy: 'Ignore',
    matchPolicy: 'Equivalent',
    sideEffects: 'None',
    timeoutSeconds: TIMEOUT_SECONDS,
    // The operator itself admits everything in namespaces that it does not watch.
    namespaceSelector: {
      matchExpressions: [
        { key: NAMESPACE_NAME, operator: 'NotIn', values: ['kube-system', namespace] },
      ],
    },
    rules: rules
      .filter(({ resources }) => resources.length > 0)
      .map((rule) => ({
        ...rule,
        apiGroups: [apiGroup],
        apiVersions: [API_VERSION],
        scope: 'Namespaced',
      })),
    matchConditions: [SPEC_CHANGES],
  };
}

function isBench(plural: string): boolean {
  return plural === 'appbenchs';
}
