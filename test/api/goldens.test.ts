import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { after, before, suite, test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { groupOf, type KubeObject } from '../../constructs/kit/object.js';
import { kindId } from '../../constructs/kit/object-kind.js';
import { KINDS } from '../../constructs/registry.js';
import { resourcePath } from '../../runner/api/resource-path.js';
import type { AdminClient, KubernetesObject } from '../../testbed/controlplane/admin-client.js';
import { startControlPlane, type ControlPlane } from '../../testbed/controlplane/controlplane.js';
import { crdsOf } from '../cluster/support/modules.js';
import { corpus, podTemplates } from '../golden/corpus.js';
import { ROOT } from '../support/docs-tables.js';

/** The kinds of others; where a module is not to be had, its kinds are left out. */
const FOREIGN = [
  await crdsOf('keda.sh.ts', [
    'config/crd/bases/keda.sh_scaledobjects.yaml',
    'config/crd/bases/keda.sh_triggerauthentications.yaml',
  ]),
  await crdsOf('cert-manager.io.ts', ['deploy/crds/cert-manager.io_certificates.yaml']),
];
/** CRDs whose modules cannot be had, in our words. */
const SUBSETS = globSync(`${ROOT}constructs/integrations/*/crds.yaml`);
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const OWNED = new Map(KINDS.flatMap(({ owns }) => owns.map((kind) => [kindId(kind), kind])));
const GRAPHS = corpus();

async function installCrds(api: AdminClient): Promise<ReadonlySet<string>> {
  const subsets = SUBSETS.flatMap((file) =>
    parseAllDocuments(readFileSync(file, 'utf8')).map(
      (document) => document.toJS() as KubernetesObject,
    ),
  );
  const all = [...subsets, ...FOREIGN.flatMap(({ crds }) => crds as readonly KubernetesObject[])];
  for (const crd of all) {
    await api.ensure(CRDS, crd);
    await api.until(`${crd.metadata.name} is served`, async () => {
      const { status } = (await api.request('GET', `${CRDS}/${crd.metadata.name}`)) as {
        readonly status?: { readonly conditions?: readonly { type: string; status: string }[] };
      };
      return (
        status?.conditions?.some((c) => c.type === 'Established' && c.status === 'True') ?? false
      );
    });
  }
  return new Set(
    all.map((crd) => {
      const { group, names } = crd['spec'] as { group: string; names: { kind: string } };
      return `${group}/${names.kind}`;
    }),
  );
}

/** All problems that the API server has with the objects, each once; it is asked once for each object. */
async function refusals(
  api: AdminClient,
  objects: readonly (readonly [string, KubeObject, string])[],
) {
  const found = new Map<string, string>();
  const asked = new Set<string>();
  for (const [path, object, where] of objects) {
    const question = `${path} ${JSON.stringify(object)}`;
    if (asked.has(question)) continue;
    asked.add(question);
    try {
      await api.request('POST', `${path}?dryRun=All&fieldValidation=Strict`, object);
    } catch (error) {
      found.set(String(error), `${where}: ${object.kind} ${object.metadata.name}`);
    }
  }
  return Object.fromEntries(found);
}

suite('a real API server', () => {
  let plane: ControlPlane;
  let served: ReadonlySet<string>;
  before(async () => {
    plane = await startControlPlane({ kwokNodes: 0, controllerManager: false, scheduler: false });
    served = await installCrds(plane.api);
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    const namespace = {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'restricted', labels },
    };
    await plane.api.ensure('/api/v1/namespaces', namespace);
    for (const name of ['default', 'erp', 'acme', 'business', 'customer']) {
      const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } };
      await plane.api.ensure('/api/v1/namespaces/restricted/serviceaccounts', account);
      const priority = {
        apiVersion: 'scheduling.k8s.io/v1',
        kind: 'PriorityClass',
        metadata: { name },
        value: 1,
      };
      await plane.api.ensure('/apis/scheduling.k8s.io/v1/priorityclasses', priority);
    }
    await plane.api.ensure('/apis/node.k8s.io/v1/runtimeclasses', {
      apiVersion: 'node.k8s.io/v1',
      kind: 'RuntimeClass',
      metadata: { name: 'gvisor' },
      handler: 'runsc',
    });
  });
  after(() => plane.stop());

  for (const { skip } of FOREIGN) {
    if (skip !== false) test('accepts the objects of an optional API', { skip });
  }

  test('accepts every golden object, and has each of its fields', async () => {
    const objects = GRAPHS.flatMap(({ scenario, objects: all }) =>
      all.flatMap((object) => {
        const kind = OWNED.get(kindId(object));
        assert.ok(kind);
        if (kind.optional && !served.has(`${groupOf(kind.apiVersion)}/${kind.kind}`)) return [];
        return [[resourcePath(kind, object.metadata.namespace), object, scenario] as const];
      }),
    );
    assert.deepEqual(await refusals(plane.api, objects), {});
  });

  test('takes every golden pod into a namespace of Pod Security "restricted"', async () => {
    const pods = GRAPHS.flatMap(({ scenario, objects }) =>
      podTemplates(objects).map((template) => {
        const pod = {
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { name: 'pod', labels: template.labels },
          spec: template.spec,
        };
        return ['/api/v1/namespaces/restricted/pods', pod, `${scenario}, ${template.of}`] as const;
      }),
    );
    assert.deepEqual(await refusals(plane.api, pods), {});
  });

  test('would refuse an unknown field, and a pod that may run as root', async () => {
    const config = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, dada: {} };
    const [template] = podTemplates(GRAPHS[0]?.objects ?? []);
    assert.ok(template);
    const spec = { ...template.spec, securityContext: {} };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec };
    const refused = await refusals(plane.api, [
      ['/api/v1/namespaces/default/configmaps', config, 'here'],
      ['/api/v1/namespaces/restricted/pods', pod, 'there'],
    ]);
    assert.deepEqual(Object.values(refused), ['here: ConfigMap a', 'there: Pod a']);
  });
});
