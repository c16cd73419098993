import type { AdminClient, KubernetesObject } from './admin-client.js';

const GROUP = 'kwok.x-k8s.io';
const VERSION = 'v1alpha1';

/** The kinds of kwok that tests create, by their plural; `kwok --enable-crds` lists them too. */
const KINDS = {
  stages: { kind: 'Stage', scope: 'Cluster' },
  logs: { kind: 'Logs', scope: 'Namespaced' },
  clusterlogs: { kind: 'ClusterLogs', scope: 'Cluster' },
} as const;

type Plural = keyof typeof KINDS;

export const KWOK_KINDS: readonly string[] = Object.values(KINDS).map(({ kind }) => kind);

/** Path of a collection of one of the kinds; `logs` need a namespace. */
export function collectionOf(plural: Plural, namespace?: string): string {
  const scope = namespace === undefined ? '' : `namespaces/${namespace}/`;
  return `/apis/${GROUP}/${VERSION}/${scope}${plural}`;
}

/** An object of one of the kinds. */
export function kwokObject(
  plural: Plural,
  metadata: KubernetesObject['metadata'],
  spec: unknown,
): KubernetesObject {
  return { apiVersion: `${GROUP}/${VERSION}`, kind: KINDS[plural].kind, metadata, spec };
}

/** Creates the kinds and waits until they are served; kwok starts after them. */
export async function createKinds(api: AdminClient): Promise<void> {
  const plurals = Object.keys(KINDS) as Plural[];
  await Promise.all(
    plurals.map(async (plural) => {
      await api.ensure('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd(plural));
      await api.until(`the kind ${KINDS[plural].kind}`, async () => {
        await api.request('GET', collectionOf(plural));
        return true;
      });
    }),
  );
}

/** As much of the definition as the API server has to know: kwok itself checks the rest. */
function crd(plural: Plural): KubernetesObject {
  const { kind, scope } = KINDS[plural];
  const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${GROUP}` },
    spec: {
      group: GROUP,
      scope,
      names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() },
      versions: [
        {
          name: VERSION,
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: {
            openAPIV3Schema: { type: 'object', properties: { spec: anything, status: anything } },
          },
        },
      ],
    },
  };
}
