import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import {
  type ControlPlane,
  startControlPlane,
} from '../../../testbed/controlplane/controlplane.js';
import { writePodLogs } from '../../../testbed/controlplane/pod-logs.js';
import { completePods, failPods, holdPods, release } from '../../../testbed/controlplane/pods.js';
import { DEFAULT_MINOR, readVersions } from '../../../testbed/controlplane/versions.js';
import {
  aClaim,
  aDeployment,
  aJob,
  apply,
  get,
  podsOf,
  podTemplate,
  remove,
  untilCondition,
  untilPods,
  untilStatus,
} from './support.js';

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
  await untilCondition(cluster, 'deployment/web', 'Available');
});

test('a Job completes', async () => {
  await apply(cluster, aJob('once'));
  await untilCondition(cluster, 'job/once', 'Complete');
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
  await untilStatus(cluster, 'statefulset/data', 'readyReplicas', 1);
});

test('the next PersistentVolumeClaim gets the volume of a deleted one', async () => {
  for (const name of ['first', 'second', 'third']) {
    await apply(cluster, aClaim(name, 'ReadWriteMany'));
    await untilStatus(cluster, `persistentvolumeclaim/${name}`, 'phase', 'Bound');
    await remove(cluster, `persistentvolumeclaim/${name}`);
  }
});

test('a deleted Deployment takes its pods along', async () => {
  await apply(cluster, aDeployment('deleted'));
  await untilCondition(cluster, 'deployment/deleted', 'Available');
  await remove(cluster, 'deployment/deleted', 'Foreground');
  assert.deepEqual(await podsOf(cluster, 'app=deleted'), []);
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

interface Pod {
  readonly status: {
    readonly phase: string;
    readonly containerStatuses: readonly {
      readonly state: { readonly terminated?: { exitCode: number; message: string } };
    }[];
  };
}

test('a Job fails on demand, and the next one succeeds after release', async () => {
  const failure = await failPods(
    cluster,
    { 'job-name': 'backup' },
    { exitCode: 3, message: 'a "b"' },
  );
  await apply(cluster, aJob('backup'), aJob('other'));
  await untilCondition(cluster, 'job/backup', 'Failed');
  await untilCondition(cluster, 'job/other', 'Complete');
  const [pod] = await podsOf<Pod>(cluster, 'job-name=backup');
  const [container] = pod?.status.containerStatuses ?? [];
  assert.equal(pod?.status.phase, 'Failed');
  assert.equal(container?.state.terminated?.exitCode, 3);
  assert.equal(container.state.terminated.message, 'a "b"');

  await release(cluster, failure);
  await remove(cluster, 'job/backup');
  await apply(cluster, aJob('backup'));
  await untilCondition(cluster, 'job/backup', 'Complete');
});

test('a Job with retries succeeds once it is released', async () => {
  const failure = await failPods(cluster, { 'job-name': 'retried' });
  await apply(cluster, aJob('retried', 5));
  await untilStatus(cluster, 'job/retried', 'failed', 1);
  await release(cluster, failure);
  await untilCondition(cluster, 'job/retried', 'Complete');
});

test('held pods become Ready when released', async () => {
  const hold = await holdPods(cluster, { app: 'slow' });
  await apply(cluster, aDeployment('slow'), aDeployment('quick'));
  await untilCondition(cluster, 'deployment/quick', 'Available');
  await untilStatus(cluster, 'deployment/slow', 'replicas', 2);
  await untilPods(cluster, 'app=slow', { condition: 'Ready=False' });
  await release(cluster, hold);
  await untilCondition(cluster, 'deployment/slow', 'Available');
});

test('pods that are Ready already are held too', async () => {
  await apply(cluster, aDeployment('later'));
  await untilCondition(cluster, 'deployment/later', 'Available');
  const hold = await holdPods(cluster, { app: 'later' });
  await untilCondition(cluster, 'deployment/later', 'Available=False');
  await release(cluster, hold);
  await untilCondition(cluster, 'deployment/later', 'Available');
});

test("a held Job's pod runs until it is released", async () => {
  const hold = await holdPods(cluster, { 'job-name': 'long' });
  await apply(cluster, aJob('long'));
  await untilStatus(cluster, 'job/long', 'active', 1);
  await untilPods(cluster, 'job-name=long', { phase: 'Running' });
  await release(cluster, hold);
  await untilCondition(cluster, 'job/long', 'Complete');
});

test('held pods fail on request', async () => {
  const labels = { group: 'doomed' };
  const jobs = Array.from({ length: 12 }, (_, index) => `doomed-${String(index)}`);
  const template = podTemplate(labels, 'Never');
  await holdPods(cluster, labels);
  const failure = await failPods(cluster, labels);
  await apply(
    cluster,
    ...jobs.map((name) => ({
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name },
      spec: { backoffLimit: 0, template },
    })),
  );
  await Promise.all(jobs.map((name) => untilCondition(cluster, `job/${name}`, 'Failed')));
  await release(cluster, failure);
});

test('a Job completes with a termination message', async () => {
  await completePods(cluster, { 'job-name': 'report' }, '{"users": 3}');
  await apply(cluster, aJob('report'));
  await untilCondition(cluster, 'job/report', 'Complete');
  const [pod] = await podsOf<Pod>(cluster, 'job-name=report');
  const [container] = pod?.status.containerStatuses ?? [];
  assert.equal(container?.state.terminated?.message, '{"users": 3}');
});

test("a Job's pod has the log that it is given, and an empty one otherwise", async () => {
  const hold = await holdPods(cluster, { 'job-name': 'logged' });
  await apply(cluster, aJob('logged'));
  await untilStatus(cluster, 'job/logged', 'active', 1);
  await untilPods(cluster, 'job-name=logged', { phase: 'Running' });
  assert.equal(await cluster.kubectl(['logs', 'job/logged']), '');
  await writePodLogs(cluster, { 'job-name': 'logged' }, 'one\ntwo\n');
  await release(cluster, hold);
  await untilCondition(cluster, 'job/logged', 'Complete');
  assert.equal(await cluster.kubectl(['logs', 'job/logged']), 'one\ntwo\n');
  assert.equal(await cluster.kubectl(['logs', 'job/logged', '--tail=1']), 'two\n');
});

test('annotations of the pod do the same', async () => {
  const failing = podTemplate({}, 'Never', { 'kwok.test/fail': 'true' });
  await apply(cluster, aDeployment('annotated', { 'kwok.test/hold': 'true' }), {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'annotated' },
    spec: { backoffLimit: 0, template: failing },
  });
  await untilCondition(cluster, 'job/annotated', 'Failed');
  await untilStatus(cluster, 'deployment/annotated', 'replicas', 2);
  await untilPods(cluster, 'app=annotated', { condition: 'Ready=False' });
});

// These come last: controllers wait after the API server was away.
test('a restart of the API server keeps data and address', async () => {
  await cluster.kubectl(['create', 'configmap', 'kept', '--from-literal=a=b']);
  const [before] = apiServers();
  await cluster.restartApiServer();
  const [now] = apiServers();
  assert.notEqual(now?.pid, before?.pid);
  const kept = await get<{ data: unknown }>(cluster, 'configmap/kept');
  assert.deepEqual(kept.data, { a: 'b' });
});

test('controllers go on after the API server was away', async () => {
  await cluster.stopApiServer('SIGKILL');
  assert.deepEqual(apiServers(), []);
  await assert.rejects(cluster.kubectl(['get', 'nodes']), /refused/);
  await cluster.startApiServer();
  await apply(cluster, aDeployment('later-on'));
  await untilCondition(cluster, 'deployment/later-on', 'Available');
});

function apiServers(): { readonly pid: number }[] {
  return cluster.processes.filter(({ name }) => name === 'kube-apiserver');
}
