import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { type Cluster, installCrd, startCluster } from './harness.js';
import { aBench, aSite } from './support/builders.js';
import { clusterWide, deleteLeftovers } from './support/leftovers.js';

let cluster: Cluster;
before(async () => {
  cluster = await startCluster();
});
after(() => cluster.stop());

const WIDGETS = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { kind: 'Widget', listKind: 'WidgetList', plural: 'widgets', singular: 'widget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object' } },
      },
    ],
  },
};

test('a test file leaves nothing in a control plane that the next one uses', async () => {
  const { api } = cluster.controlPlane;
  const kept = await cluster.namespace();
  await cluster.apply(kept, config('kept'));
  const names = await clusterWide(api);

  const namespace = await cluster.namespace();
  const named = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'tenant-of-leftovers' } };
  await cluster.apply('', named);
  const operator = await cluster.operator();
  await cluster.apply(namespace, aBench('b'));
  await cluster.apply(namespace, aSite('s', { bench: 'b' }));
  await cluster.ready('AppSite', namespace, 's');
  await cluster.apply(namespace, config('made'));
  await installCrd(cluster, WIDGETS);
  await api.request('POST', `/apis/example.com/v1/namespaces/${namespace}/widgets`, {
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { name: 'w' },
  });
  operator.kill('SIGKILL');
  await operator.exited;
  assert.ok((await cluster.the('AppBench', namespace, 'b')).metadata.finalizers);

  await deleteLeftovers(api, names);

  // A claim is deleted once no pod uses it.
  await cluster.until('the namespace to be empty', async () => {
    const left = await cluster.everything(namespace);
    const pods = await cluster.list('Pod', namespace);
    return left.length + pods.length === 0;
  });
  for (const kind of ['AppBench', 'AppSite', 'ReplicaSet']) {
    assert.deepEqual(await cluster.list(kind, namespace), [], kind);
  }
  assert.ok(await cluster.get('ServiceAccount', namespace, 'default'));
  assert.ok(await cluster.get('ConfigMap', kept, 'kept'));
  assert.equal((await clusterWide(api)).get(CRDS)?.has(WIDGETS.metadata.name), false);
  await cluster.deleted('Namespace', '', named.metadata.name);
});

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

function config(name: string): { apiVersion: string; kind: string; metadata: { name: string } } {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } };
}
