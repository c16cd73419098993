import { k8s } from 'cdk8s-plus-28';
import { Construct } from 'constructs';
import { API_VERSION, type KindDefinition } from '../kit/definition.js';
import type { AnyKind } from '../registry.js';
import { NAMESPACE_NAME } from '../kit/well-known.js';
import {
  OPERATOR,
  OPERATOR_LABELS,
  OPERATOR_SELECTOR,
  outsideName,
} from '../kit/operator-identity.js';

type GivingKind = Pick<AnyKind, 'definition' | 'givenToPods'>;

export interface WebhooksProps {
  /** The operator's own namespace. */
  readonly namespace: string;
  readonly apiGroup: string;
  readonly definitions: readonly KindDefinition[];
  readonly kinds: readonly GivingKind[];
}

/** Seconds that a write waits at most for each of the two webhooks. */
const TIMEOUT_SECONDS = 3;

/**
 * The admission webhooks. While they are unavailable, the operator validates again what they admit. Only
 * who may get the objects that a change gives to pods is known here alone: without a review, such a
 * change is refused. The operator writes the CA bundle into the configurations.
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
            targetPort: k8s.IntOrString.fromString('webhooks'),
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
    const giving = props.kinds.filter(({ givenToPods }) => givenToPods);
    const gives = givesToPods(giving);
    new k8s.KubeValidatingWebhookConfiguration(this, 'validating', {
      metadata,
      webhooks: [
        {
          ...webhook(props, OPERATOR.validatePath, [changes, deletions]),
          matchConditions: [
            SPEC_CHANGES,
            {
              name: 'gives-nothing-to-pods',
              expression: `request.operation == 'DELETE' || !(${gives})`,
            },
          ],
        },
        {
          ...webhook(props, OPERATOR.validatePath, [
            { ...changes, resources: giving.map(({ definition }) => definition.plural).sort() },
          ]),
          name: `given-to-pods.${props.apiGroup}`,
          failurePolicy: 'Fail',
          // Also of what is being deleted: a bench serves its sites until these are deleted.
          matchConditions: [{ name: 'gives-to-pods', expression: gives }],
        },
      ],
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

/** CEL: whether a create or an update sets a field that can name objects given to pods. */
function givesToPods(kinds: readonly GivingKind[]): string {
  const fields = new Set(kinds.flatMap(({ givenToPods }) => givenToPods?.fields ?? []));
  const changes = [...fields].sort().map((field) => {
    const path = `?spec.?${field.replaceAll('.', '.?')}`;
    const isSet = `object.${path}.hasValue()`;
    return `(${isSet} && (request.operation == 'CREATE' || object.${path} != oldObject.${path}))`;
  });
  return changes.length > 0 ? changes.join(' || ') : 'false';
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
