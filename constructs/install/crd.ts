import {
  API_VERSION,
  DEFAULT_API_GROUP,
  type KindDefinition,
  type Schema,
  type ValidationRule,
} from '../kit/definition.js';

/** The category of all kinds: `kubectl get apps-bench`. */
export const CATEGORY = 'apps-bench';

/**
 * The CustomResourceDefinition of a kind in a group, as plain data.
 * It needs `apiextensions.k8s.io/v1` with CEL rules: Kubernetes 1.29 or newer.
 */
export function crdOf(definition: KindDefinition, group = DEFAULT_API_GROUP): object {
  const { kind, plural, singular, shortNames, printerColumns, scale } = definition;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular,
        shortNames,
        categories: [CATEGORY],
      },
      versions: [
        {
          name: API_VERSION,
          served: true,
          storage: true,
          subresources: { status: {}, ...(scale && { scale }) },
          additionalPrinterColumns: printerColumns,
          schema: { openAPIV3Schema: rootSchema(definition) },
        },
      ],
    },
  };
}

/** The schema of the whole object: what `crdOf` publishes and what `admit` judges by. */
export function rootSchema(definition: KindDefinition): Schema {
  return {
    type: 'object',
    description: definition.description,
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object' },
      spec: definition.spec,
      status: definition.status,
    },
    'x-kubernetes-validations': nameRules(definition.maxNameLength),
  };
}

/** Names go into the names of Services and into labels, which take less than the names of objects do. */
function nameRules(maxLength: number): readonly ValidationRule[] {
  return [
    {
      rule: `self.metadata.name.size() <= ${maxLength}`,
      message: `metadata.name must have at most ${maxLength} characters: child objects add suffixes to it`,
    },
    {
      rule: "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
      message:
        'metadata.name must be a DNS label (RFC 1035) of lower-case letters, digits and -, starting with a letter and ending with a letter or a digit: Services are named after it',
    },
  ];
}
