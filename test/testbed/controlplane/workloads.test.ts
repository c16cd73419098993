import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import {
  type ControlPlane,
  startControlPlane,
} from '../../../testbed/controlplane/controlplane.js';
import { DEFAULT_MINOR, readVersions } from '../../../testbed/controlplane/versions.js';
import { aClaim, aDeployment, aJob, apply, get, podTemplate, waitFor } from './support.js';

let cluster: ControlPlane;
before(async () => {
  cluster = await startControlPlane({ persistentVolumes: 2 });
});
after(() => cluster.stop());

test('two nodes are Ready', async () => {
  const nodes = await cluster.kubectl(['get', 'nodes', '--no-headers']);
  assert.match(nodes, /^kwok-0 +Ready .*\nkwok-1 +Ready /);
});

test('the server and kubectl know their version', async () => {
  const version = await cluster.kubectl(['version']);
  const [client, server] = [readVersions(DEFAULT_MINOR), readVersions()];
  assert.ok(version.includes(`Client Version: ${client.kubernetes}\n`), version);
  assert.ok(version.includes(`Server Version: ${server.kubernetes}\n`), version);
});

test('a Deployment becomes Available', async () => {
  await apply(cluster, aDeployment('web'));
  await waitFor(cluster, 'deployment/web', 'condition=Available');
});

test('a Job completes', async () => {
  await apply(cluster, aJob('once'));
  await waitFor(cluster, 'job/once', 'condition=Complete');
});

test('a StatefulSet with a PersistentVolumeClaim has its replicas Ready', async () => {
  const labels = { app: 'data' };
  await apply(cluster, {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'data' },
    spec: {
      serviceName: 'data',
      selector: { matchLabels: labels },
      template: podTemplate(labels, 'Always'),
      volumeClaimTemplates: [aClaim('files', 'ReadWriteOnce')],
    },
  });
  await waitFor(cluster, 'statefulset/data', 'jsonpath={.status.readyReplicas}=1');
});

test('the next PersistentVolumeClaim gets the volume of a deleted one', async () => {
  for (const name of ['first', 'second', 'third']) {
    await apply(cluster, aClaim(name, 'ReadWriteMany'));
    await waitFor(cluster, `persistentvolumeclaim/${name}`, 'jsonpath={.status.phase}=Bound');
    await cluster.kubectl(['delete', 'persistentvolumeclaim', name]);
  }
});

test('a deleted Deployment takes its pods along', async () => {
  await apply(cluster, aDeployment('deleted'));
  await waitFor(cluster, 'deployment/deleted', 'condition=Available');
  await cluster.kubectl(['delete', 'deployment', 'deleted', '--cascade=foreground']);
  const pods = await get<{ items: unknown[] }>(cluster, 'pods', '--selector=app=deleted');
  assert.deepEqual(pods.items, []);
});

test('a service account token is known to TokenReview', async () => {
  const token = (await cluster.kubectl(['create', 'token', 'default'])).trim();
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } };
  const path = '/apis/authentication.k8s.io/v1/tokenreviews';
  const answer = (await cluster.api.request('POST', path, review)) as {
    status: { authenticated: boolean; user: { username: string } };
  };
  assert.equal(answer.status.authenticated, true);
  assert.equal(answer.status.user.username, 'system:serviceaccount:default:default');
});

test('a user may do what RBAC grants and nothing else', async () => {
  const kubeconfig = await cluster.userKubeconfig('reader');
  await cluster.kubectl([
    'create',
    'clusterrolebinding',
    'r',
    '--clusterrole=view',
    '--user=reader',
  ]);
  // The authorizer of the API server sees new bindings a moment later.
  await cluster.api.until('the binding to count', async () => {
    await cluster.kubectl(['--kubeconfig', kubeconfig, 'get', 'pods']);
    return true;
  });
  await assert.rejects(
    cluster.kubectl(['--kubeconfig', kubeconfig, 'get', 'secrets']),
    /forbidden/,
  );
});

test('the scheduler tries a pod again, also without a new event', async () => {
  await apply(cluster, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'nowhere' },
    spec: {
      nodeSelector: { 'example.test/none': 'true' },
      containers: [{ name: 'main', image: 'example.test/none:1' }],
    },
  });
  const failures = new URLSearchParams({
    fieldSelector: 'reason=FailedScheduling,regarding.name=nowhere',
  });
  const path = `/apis/events.k8s.io/v1/namespaces/default/events?${failures.toString()}`;
  await cluster.api.until('a second attempt', async () => {
    const { items } = (await cluster.api.request('GET', path)) as {
      readonly items: readonly { readonly series?: { readonly count: number } }[];
    };
    return items.reduce((sum, { series }) => sum + (series?.count ?? 1), 0) >= 2;
  });
});
