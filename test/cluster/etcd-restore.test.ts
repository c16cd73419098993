import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { type Cluster, startCluster } from './harness.js';
import { aBench, aSite } from './support/builders.js';
import { at, nameOf } from './support/objects.js';
import type { Operator } from './support/operator.js';
import { assertNoOrphans, routesOf } from './support/snapshot.js';

const componentReplicas = { workerDefault: 0, workerShort: 0, workerLong: 0 };
const shared = { bench: 'b', workloads: 'Shared', deletionPolicy: 'Delete' } as const;
/** Versions between the copy and the present: a server that starts writes a few dozen. */
const WRITES = 400;

let cluster: Cluster;
let operator: Operator;
let namespace: string;
before(async () => {
  cluster = await startCluster({ own: true });
  namespace = await cluster.namespace();
  // Older versions are believed after 20 seconds.
  operator = await cluster.operator([], { namespaces: [namespace], timeFactor: 4 });
});
after(() => cluster.stop());

async function secrets(): Promise<ReadonlyMap<string, string>> {
  const all = await cluster.list('Secret', namespace);
  return new Map(all.map(({ metadata, data }) => [metadata.name, JSON.stringify(data)]));
}

async function writeMuch(): Promise<void> {
  for (let write = 0; write < WRITES; write++) {
    const data = { write: String(write) };
    const metadata = { name: 'filler' };
    await cluster.apply(namespace, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data });
  }
}

test('an operator continues after etcd was put back to an older copy, without a restart', async () => {
  await cluster.apply(
    namespace,
    aBench('b', { componentReplicas }),
    aSite('stays', { ...shared }),
    aSite('back', { ...shared }),
    aSite('doomed', { ...shared }),
  );
  for (const site of ['stays', 'back', 'doomed']) await cluster.ready('AppSite', namespace, site);
  await cluster.applied('AppBench', namespace, 'b');
  const before = await secrets();
  const copy = await cluster.controlPlane.backUpEtcd();

  // What happens from now on is lost.
  await cluster.delete('AppSite', namespace, 'back');
  await cluster.apply(namespace, aSite('lost', { ...shared }));
  await cluster.patch('AppBench', namespace, 'b', {
    spec: { componentReplicas: { ...componentReplicas, nginx: 3 } },
  });
  await cluster.patch('AppSite', namespace, 'stays', { spec: { ingress: { enabled: true } } });
  await cluster.deleted('AppSite', namespace, 'back');
  await cluster.ready('AppSite', namespace, 'lost');
  await cluster.ready('AppSite', namespace, 'stays');
  await cluster.ready('AppBench', namespace, 'b');
  await writeMuch();
  await cluster.controlPlane.restoreEtcd(copy);

  const sites = await cluster.list('AppSite', namespace);
  assert.deepEqual(sites.map(({ metadata }) => metadata.name).sort(), ['back', 'doomed', 'stays']);
  // Changes of every kind after the return.
  await cluster.delete('Deployment', namespace, 'b-socketio');
  await cluster.delete('AppSite', namespace, 'doomed');
  await cluster.patch('AppSite', namespace, 'back', { spec: { ingress: { enabled: true } } });
  await cluster.apply(namespace, aSite('new', { ...shared }));

  await cluster.deleted('AppSite', namespace, 'doomed');
  for (const site of ['stays', 'back', 'new']) await cluster.ready('AppSite', namespace, site);
  await cluster.becomes('AppBench', namespace, 'b', {
    what: 'is Ready with the sites that are there',
    check: (live) => at(live, 'status.phase') === 'Ready' && at(live, 'status.sites') === 3,
  });
  await cluster.until('the objects to be as the specs say', async () => {
    await cluster.the('Deployment', namespace, 'b-socketio');
    await cluster.the('Ingress', namespace, 'back-ingress');
    assert.equal(await cluster.get('Ingress', namespace, 'stays-ingress'), undefined);
    const nginx = await cluster.the('Deployment', namespace, 'b-nginx');
    assert.equal(at(nginx, 'spec.replicas'), 1);
    const routes = await routesOf(cluster, namespace, 'b');
    assert.deepEqual(routes, ['back.example.com', 'new.example.com', 'stays.example.com']);
    return true;
  });
  await assertNoOrphans(cluster, namespace);
  const left = (await cluster.children(namespace)).map(nameOf);
  assert.deepEqual(
    left.filter((name) => /lost|doomed/.test(name)),
    [],
  );
  const now = await secrets();
  for (const [name, data] of before) {
    if (!name.startsWith('doomed')) assert.equal(now.get(name), data, `Secret ${name}`);
  }
  assert.ok(operator.running, `the same process:\n${operator.tail()}`);
});
