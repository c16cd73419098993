import { API_VERSION, DEFAULT_API_GROUP, type KindDefinition } from '../kit/definition.js';
import type { KindVersion } from '../kit/conversion.js';
import { rootSchema } from '../kit/schema/root.js';

/** The category of all kinds: `kubectl get apps-bench`. */
export const CATEGORY = 'apps-bench';

/** Versions that are served beside the stored one, and the webhook that converts them. */
export interface ServedVersions {
  readonly versions?: readonly KindVersion[];
  /** How the API server reaches the operator's `/convert`. */
  readonly clientConfig?: object;
}

/**
 * The CustomResourceDefinition of a kind in a group, as plain data.
 * It needs `apiextensions.k8s.io/v1` with CEL rules: Kubernetes 1.29 or newer.
 */
export function crdOf(
  definition: KindDefinition,
  group = DEFAULT_API_GROUP,
  { versions = [], clientConfig }: ServedVersions = {},
): object {
  const { kind, plural, singular, shortNames } = definition;
  const others = versions.filter((version) => version.definition.kind === kind);
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
        versionOf(API_VERSION, definition),
        ...others.map((version) => versionOf(version.name, version.definition)),
      ],
      ...(others.length > 0 && {
        conversion: {
          strategy: 'Webhook',
          webhook: { conversionReviewVersions: ['v1'], clientConfig },
        },
      }),
    },
  };
}

function versionOf(name: string, definition: KindDefinition): object {
  const { printerColumns, scale } = definition;
  return {
    name,
    served: true,
    storage: name === API_VERSION,
    subresources: { status: {}, ...(scale && { scale }) },
    additionalPrinterColumns: printerColumns,
    schema: { openAPIV3Schema: rootSchema(definition) },
  };
}
