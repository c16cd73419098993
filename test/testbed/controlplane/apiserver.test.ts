import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { countCalls } from '../../../testbed/controlplane/audit.js';
import {
  type ControlPlane,
  startControlPlane,
} from '../../../testbed/controlplane/controlplane.js';
import { aDeployment, apply, get, waitFor } from './support.js';

let cluster: ControlPlane;
before(async () => {
  cluster = await startControlPlane({ audit: true });
});
after(() => cluster.stop());

test('a restart of the API server keeps data and address', async () => {
  await cluster.kubectl(['create', 'configmap', 'kept', '--from-literal=a=b']);
  const [before] = apiServers();
  await cluster.restartApiServer();
  const [now] = apiServers();
  assert.notEqual(now?.pid, before?.pid);
  const kept = await get<{ data: unknown }>(cluster, 'configmap', 'kept');
  assert.deepEqual(kept.data, { a: 'b' });
});

test('controllers go on after the API server was away', async () => {
  await cluster.stopApiServer('SIGKILL');
  assert.deepEqual(apiServers(), []);
  await assert.rejects(cluster.kubectl(['get', 'nodes']), /refused/);
  await cluster.startApiServer();
  await apply(cluster, aDeployment('web'));
  await waitFor(cluster, 'deployment/web', 'condition=Available');
});

test('the audit log counts calls by user', async () => {
  assert.ok(cluster.auditLog);
  const kubeconfig = await cluster.userKubeconfig('counted', ['system:masters']);
  for (let call = 0; call < 3; call++) {
    await cluster.kubectl(['--kubeconfig', kubeconfig, 'get', 'pod', '--namespace=none']);
  }
  const calls = await countCalls(cluster.auditLog, ({ user, verb, objectRef }) =>
    user.username === 'counted' && objectRef ? `${verb} ${objectRef.resource}` : undefined,
  );
  assert.deepEqual(Object.fromEntries(calls), { 'list pods': 3 });
});

function apiServers(): { readonly pid: number }[] {
  return cluster.processes.filter(({ name }) => name === 'kube-apiserver');
}
