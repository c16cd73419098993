import { API_VERSION, DEFAULT_API_GROUP, type KindDefinition } from '../kit/definition.js';
import { rootSchema } from '../kit/schema/root.js';

/** The category of all kinds: `kubectl get apps-bench`. */
export const CATEGORY = 'apps-bench';

/**
 * The CustomResourceDefinition of a kind in a group, as plain data.
 * It needs `apiextensions.k8s.io/v1` with CEL rules: Kubernetes 1.30 or newer.
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
