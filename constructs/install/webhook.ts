import { k8s } from 'cdk8s-plus-28';
import { Construct } from 'constructs';
import { API_VERSION, type KindDefinition } from '../kit/definition.js';
import { CONTROL_PLANE, OPERATOR, OPERATOR_LABELS } from './identity.js';

export interface WebhooksProps {
  /** The operator's own namespace. */
  readonly namespace: string;
  readonly apiGroup: string;
  readonly definitions: readonly KindDefinition[];
}

/** Seconds. A write waits this long at most for each of the two, where nobody answers. */
const TIMEOUT_SECONDS = 3;

/**
 * The admission webhooks. They never keep anybody from anything by being away: the operator judges
 * again what they let pass. The operator itself puts in the authority that they are trusted by.
 */
export class Webhooks extends Construct {
  constructor(scope: Construct, id: string, props: WebhooksProps) {
    super(scope, id);
    const { namespace } = props;
    new k8s.KubeService(this, 'service', {
      metadata: { name: OPERATOR.webhookService, namespace, labels: OPERATOR_LABELS },
      spec: {
        selector: { ...CONTROL_PLANE },
        ports: [
          {
            name: 'webhooks',
            port: 443,
            targetPort: k8s.IntOrString.fromString('webhooks'),
            protocol: 'TCP',
          },
        ],
      },
    });
    const metadata = { name: OPERATOR.webhookConfiguration, labels: OPERATOR_LABELS };
    const plurals = props.definitions.map(({ plural }) => plural).sort();
    const changes = { operations: ['CREATE', 'UPDATE'], resources: plurals };
    // Only a bench has something to say of its deletion, which waits for its sites.
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
    // Where the operator works in some namespaces only, it lets others pass by itself.
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
    // Finalizers, labels and whatever is being deleted are none of our business.
    matchConditions: [
      {
        name: 'spec-changes',
        expression:
          "request.operation != 'UPDATE' || (object.spec != oldObject.spec && !has(object.metadata.deletionTimestamp))",
      },
    ],
  };
}

/** Label that every namespace has. */
const NAMESPACE_NAME = 'kubernetes.io/metadata.name';

function isBench(plural: string): boolean {
  return plural === 'appbenchs';
}
