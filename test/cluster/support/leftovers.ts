/**
 * Deletes what a test file leaves in a shared control plane. Namespaces of tests stay, empty: to delete one
 * the API server answers two requests for each of its seventy kinds, whether it has objects of them or not.
 */
import { objectKind } from '../../../constructs/kit/definition.js';
import { DEFINITIONS } from '../../../constructs/registry.js';
import { type AdminClient, ifExists } from '../../../testbed/controlplane/admin-client.js';

/** Collections of the whole cluster, of which a file's own objects are deleted. */
const CLUSTER_WIDE = [
  '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings',
  '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
  '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
  '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations',
  '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
  '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
  '/apis/rbac.authorization.k8s.io/v1/clusterroles',
  '/apis/kwok.x-k8s.io/v1alpha1/stages',
];
const NAMESPACES = '/api/v1/namespaces';
/** Namespaces of `cluster.namespace()`: no two have the same name. */
const OF_TEST = /^test-\d+$/;

/** What makes pods, before the pods: nothing makes them again, and no claim is in use. */
const FIRST = ['cronjobs', 'jobs', 'deployments', 'statefulsets', 'replicasets', 'pods'];
/** The operator's kinds: without their children there is nothing for the garbage collector. */
const LAST: readonly string[] = DEFINITIONS.map((definition) => objectKind(definition).plural);
/** Objects that Kubernetes itself creates in each namespace, by plural. */
const KEPT: Readonly<Record<string, string>> = {
  configmaps: 'kube-root-ca.crt',
  serviceaccounts: 'default',
};

/** Names of the objects of each collection of the whole cluster. */
export type Names = ReadonlyMap<string, ReadonlySet<string>>;

/** The objects of the whole cluster, to call before a test file begins. */
export async function clusterWide(api: AdminClient): Promise<Names> {
  const lists = [NAMESPACES, ...CLUSTER_WIDE].map(
    async (collection): Promise<[string, ReadonlySet<string>]> => {
      const items = await api.listMetadata(collection);
      return [collection, new Set(items.map(({ metadata }) => metadata.name))];
    },
  );
  return new Map(await Promise.all(lists));
}

/** Deletes what was made since. No operator may run, which would wait for its finalizers. */
export async function deleteLeftovers(api: AdminClient, before: Names): Promise<void> {
  const after = await clusterWide(api);
  const added = (collection: string): string[] =>
    [...(after.get(collection) ?? [])].filter((name) => !before.get(collection)?.has(name));
  const pathsIn = (collection: string): string[] =>
    added(collection).map((name) => `${collection}/${name}`);
  const lasting = CLUSTER_WIDE.flatMap(pathsIn);
  const policies = lasting.filter((one) => one.includes('/validatingadmissionpolic'));
  await Promise.all(policies.map((one) => ifExists(api.request('DELETE', one))));
  await emptyNamespaces(api, new Set(added(NAMESPACES)));
  const named = pathsIn(NAMESPACES).filter((one) => !OF_TEST.test(one.split('/').at(-1) ?? ''));
  await Promise.all([...named, ...lasting].map((one) => ifExists(api.request('DELETE', one))));
  await api.until(
    'what a test file made to be deleted',
    async () => {
      const left = await Promise.all(lasting.map((one) => ifExists(api.request('GET', one))));
      return left.every((one) => one === undefined);
    },
    60_000,
  );
}

/** A kind in namespaces: `{ api: '/apis/apps/v1', plural: 'deployments' }`. */
interface Collection {
  readonly api: string;
  readonly plural: string;
}

async function emptyNamespaces(api: AdminClient, namespaces: ReadonlySet<string>): Promise<void> {
  const all = await namespacedCollections(api);
  const inOrder = FIRST.flatMap((plural) => all.filter((one) => one.plural === plural));
  const own = all.filter(({ plural }) => LAST.includes(plural));
  // An API server that still knows the limits policies refuses changes without their ConfigMap.
  const parameters = all.filter(({ plural }) => plural === 'configmaps');
  const others = all.filter((one) => ![inOrder, own, parameters].flat().includes(one));
  const empty = (collection: Collection): Promise<void> => emptyIn(api, collection, namespaces);
  for (const collection of inOrder) await empty(collection);
  await Promise.all(others.map(empty));
  await Promise.all(own.map(empty));
  await Promise.all(parameters.map(empty));
}

/** Deletes the objects of one kind in those of the namespaces that have any. */
async function emptyIn(
  api: AdminClient,
  { api: version, plural }: Collection,
  namespaces: ReadonlySet<string>,
): Promise<void> {
  const kept = KEPT[plural] ?? '';
  const items = (await api.listMetadata(`${version}/${plural}`)).filter(
    ({ metadata }) => namespaces.has(metadata.namespace ?? '') && metadata.name !== kept,
  );
  const inNamespace = (namespace = ''): string => `${version}/namespaces/${namespace}/${plural}`;
  if (LAST.includes(plural)) {
    const finalized = items.filter(({ metadata }) => metadata.finalizers !== undefined);
    await Promise.all(
      finalized.map(({ metadata: { namespace, name } }) =>
        ifExists(
          api.mergePatch(`${inNamespace(namespace)}/${name}`, { metadata: { finalizers: null } }),
        ),
      ),
    );
  }
  const query = new URLSearchParams({
    propagationPolicy: 'Background',
    gracePeriodSeconds: '0',
    ...(kept === '' ? {} : { fieldSelector: `metadata.name!=${kept}` }),
  });
  const filled = new Set(items.map(({ metadata }) => metadata.namespace));
  await Promise.all(
    [...filled].map((namespace) =>
      api.request('DELETE', `${inNamespace(namespace)}?${query.toString()}`),
    ),
  );
}

interface Discovery {
  readonly items: readonly {
    readonly metadata: { readonly name?: string };
    readonly versions: readonly {
      readonly version: string;
      readonly resources?: readonly {
        readonly resource: string;
        readonly scope: string;
        readonly verbs: readonly string[];
      }[];
    }[];
  }[];
}
const DISCOVERY = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

/** All kinds in namespaces but Events, which end by themselves; each in its group's preferred version. */
async function namespacedCollections(api: AdminClient): Promise<readonly Collection[]> {
  const answers = await Promise.all(['/api', '/apis'].map((root) => api.get(root, DISCOVERY)));
  return (answers as Discovery[])
    .flatMap(({ items }) => items)
    .flatMap(({ metadata: { name = '' }, versions: [preferred] }) =>
      (preferred?.resources ?? [])
        .filter(({ scope, verbs }) => scope === 'Namespaced' && verbs.includes('deletecollection'))
        .map(({ resource }) => ({
          api: name === '' ? `/api/${preferred?.version}` : `/apis/${name}/${preferred?.version}`,
          plural: resource,
        })),
    )
    .filter(({ plural }) => plural !== 'events');
}
