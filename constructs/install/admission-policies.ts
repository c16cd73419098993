import { ApiObject } from 'cdk8s';
import { Construct } from 'constructs';
import { API_VERSION } from '../kit/definition.js';
import { COMPONENT_LABEL } from '../kit/labels.js';
import { NAMESPACE_NAME } from '../kit/well-known.js';
import type { AnyKind } from '../registry.js';
import { authorRules } from './author-policy.js';
import { OPERATOR, OPERATOR_LABELS, outsideName } from '../kit/operator-identity.js';
import { limitRules } from './limits-policy.js';
import type { PolicyRules } from './policy.js';

const API = 'admissionregistration.k8s.io/v1';
/** By which an administrator applies them alone: `kubectl apply --selector`. */
const LABELS = { ...OPERATOR_LABELS, [COMPONENT_LABEL]: 'admission-policies' };

/** Updates of metadata, and so of finalizers, pass whatever is stored. */
const SPEC_CHANGES = {
  name: 'spec-changes',
  expression: 'oldObject == null || object.?spec != oldObject.?spec',
};

export interface AdmissionPoliciesProps {
  /** The operator's own namespace, with the ConfigMap of the limits. */
  readonly namespace: string;
  readonly apiGroup: string;
  /** The namespaces that the operator works in, which alone are checked. @default all */
  readonly watchNamespaces?: readonly string[] | undefined;
  readonly kinds: readonly Pick<AnyKind, 'definition' | 'podFields'>[];
}

/**
 * What must hold of each change of our resources, whether the operator runs or not: the API server decides.
 * A kind with `podFields` gets its policies without an edit here.
 */
export class AdmissionPolicies extends Construct {
  constructor(
    scope: Construct,
    id: string,
    private readonly props: AdmissionPoliciesProps,
  ) {
    super(scope, id);
    const { namespace, kinds } = props;
    // Without data, so that no upgrade overwrites what an administrator allows.
    new ApiObject(this, 'limits', {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: OPERATOR.limits, namespace, labels: LABELS },
    });
    for (const { definition, podFields } of kinds) {
      if (!podFields) continue;
      const { plural } = definition;
      if (podFields.shapes || podFields.names) {
        this.policy(`${OPERATOR.authorsPolicy}-${plural}`, plural, authorRules(podFields));
      }
      const limits = limitRules(podFields);
      if (limits.validations.length > 0) {
        this.policy(`${OPERATOR.limitsPolicy}-${plural}`, plural, limits, true);
      }
    }
  }

  private policy(id: string, plural: string, rules: PolicyRules, isLimit = false): void {
    const { namespace, apiGroup } = this.props;
    const name = outsideName(id, namespace);
    const metadata = { name, labels: LABELS };
    new ApiObject(this, id, {
      apiVersion: API,
      kind: 'ValidatingAdmissionPolicy',
      metadata,
      spec: {
        failurePolicy: 'Fail',
        ...(isLimit ? { paramKind: { apiVersion: 'v1', kind: 'ConfigMap' } } : {}),
        matchConstraints: {
          resourceRules: [
            {
              apiGroups: [apiGroup],
              apiVersions: [API_VERSION],
              operations: ['CREATE', 'UPDATE'],
              resources: [plural],
              // The API server's default, so that an apply of the same manifest changes nothing.
              scope: '*',
            },
          ],
        },
        matchConditions: [SPEC_CHANGES],
        variables: rules.variables,
        validations: rules.validations.map((rule) => ({ ...rule, reason: 'Forbidden' })),
      },
    });
    const param = { name: OPERATOR.limits, namespace, parameterNotFoundAction: 'Deny' };
    new ApiObject(this, `${id}-binding`, {
      apiVersion: API,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata,
      spec: {
        policyName: name,
        ...(isLimit ? { paramRef: param } : {}),
        ...this.matchResources(),
        validationActions: ['Deny'],
      },
    });
  }

  private matchResources(): object {
    const { watchNamespaces: values = [] } = this.props;
    if (values.length === 0) return {};
    const expression = { key: NAMESPACE_NAME, operator: 'In', values: [...values] };
    return { matchResources: { namespaceSelector: { matchExpressions: [expression] } } };
  }
}
