import assert from 'node:assert/strict';
import { test } from 'node:test';

import { startControlPlane } from '../../../testbed/controlplane/controlplane.js';

test('two control planes run side by side and know nothing of each other', async () => {
  await using one = await startControlPlane({ kwokNodes: 1, persistentVolumes: 0 });
  await using two = await startControlPlane({ kwokNodes: 0, persistentVolumes: 0 });
  await one.kubectl(['create', 'namespace', 'only-here']);
  assert.notEqual(one.server, two.server);
  await one.kubectl(['get', 'namespace', 'only-here']);
  await assert.rejects(two.kubectl(['get', 'namespace', 'only-here']), /NotFound/);
  assert.equal(await two.kubectl(['get', 'nodes', '--output=name']), '');
});

test('the API server alone runs without the controllers', async () => {
  const options = { controllerManager: false, scheduler: false, kwokNodes: 0 };
  await using cluster = await startControlPlane(options);
  const names = cluster.processes.map(({ name }) => name);
  assert.deepEqual(names, ['etcd', 'kube-apiserver']);
  await cluster.kubectl(['create', 'configmap', 'stored', '--from-literal=a=b']);
});
