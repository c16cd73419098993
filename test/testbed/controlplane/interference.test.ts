import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import {
  type ControlPlane,
  startControlPlane,
} from '../../../testbed/controlplane/controlplane.js';
import { writePodLogs } from '../../../testbed/controlplane/pod-logs.js';
import { completePods, failPods, holdPods, release } from '../../../testbed/controlplane/pods.js';
import { aDeployment, aJob, apply, get, podTemplate, waitFor, waitForPods } from './support.js';

let cluster: ControlPlane;
before(async () => {
  cluster = await startControlPlane();
});
after(() => cluster.stop());

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
  await waitFor(cluster, 'job/backup', 'condition=Failed');
  await waitFor(cluster, 'job/other', 'condition=Complete');
  const [pod] = (await get<{ items: Pod[] }>(cluster, 'pods', '--selector=job-name=backup')).items;
  const [container] = pod?.status.containerStatuses ?? [];
  assert.equal(pod?.status.phase, 'Failed');
  assert.equal(container?.state.terminated?.exitCode, 3);
  assert.equal(container.state.terminated.message, 'a "b"');

  await release(cluster, failure);
  await cluster.kubectl(['delete', 'job', 'backup']);
  await apply(cluster, aJob('backup'));
  await waitFor(cluster, 'job/backup', 'condition=Complete');
});

test('a Job with retries succeeds once it is released', async () => {
  const failure = await failPods(cluster, { 'job-name': 'retried' });
  await apply(cluster, aJob('retried', 5));
  await waitFor(cluster, 'job/retried', 'jsonpath={.status.failed}=1');
  await release(cluster, failure);
  await waitFor(cluster, 'job/retried', 'condition=Complete');
});

test('held pods become Ready when released', async () => {
  const hold = await holdPods(cluster, { app: 'slow' });
  await apply(cluster, aDeployment('slow'), aDeployment('quick'));
  await waitFor(cluster, 'deployment/quick', 'condition=Available');
  await waitFor(cluster, 'deployment/slow', 'jsonpath={.status.replicas}=2');
  await waitForPods(cluster, 'app=slow', 'condition=Ready=False');
  await release(cluster, hold);
  await waitFor(cluster, 'deployment/slow', 'condition=Available');
});

test('pods that are Ready already are held too', async () => {
  await apply(cluster, aDeployment('later'));
  await waitFor(cluster, 'deployment/later', 'condition=Available');
  const hold = await holdPods(cluster, { app: 'later' });
  await waitFor(cluster, 'deployment/later', 'condition=Available=False');
  await release(cluster, hold);
  await waitFor(cluster, 'deployment/later', 'condition=Available');
});

test("a held Job's pod runs until it is released", async () => {
  const hold = await holdPods(cluster, { 'job-name': 'long' });
  await apply(cluster, aJob('long'));
  await waitFor(cluster, 'job/long', 'jsonpath={.status.active}=1');
  await waitForPods(cluster, 'job-name=long', 'jsonpath={.status.phase}=Running');
  await release(cluster, hold);
  await waitFor(cluster, 'job/long', 'condition=Complete');
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
  await Promise.all(jobs.map((name) => waitFor(cluster, `job/${name}`, 'condition=Failed')));
  await release(cluster, failure);
});

test('a Job completes with a termination message', async () => {
  await completePods(cluster, { 'job-name': 'report' }, '{"users": 3}');
  await apply(cluster, aJob('report'));
  await waitFor(cluster, 'job/report', 'condition=Complete');
  const [pod] = (await get<{ items: Pod[] }>(cluster, 'pods', '--selector=job-name=report')).items;
  const [container] = pod?.status.containerStatuses ?? [];
  assert.equal(container?.state.terminated?.message, '{"users": 3}');
});

test("a Job's pod has the log that it is given, and an empty one otherwise", async () => {
  const hold = await holdPods(cluster, { 'job-name': 'logged' });
  await apply(cluster, aJob('logged'));
  await waitFor(cluster, 'job/logged', 'jsonpath={.status.active}=1');
  await waitForPods(cluster, 'job-name=logged', 'jsonpath={.status.phase}=Running');
  assert.equal(await cluster.kubectl(['logs', 'job/logged']), '');
  await writePodLogs(cluster, { 'job-name': 'logged' }, 'one\ntwo\n');
  await release(cluster, hold);
  await waitFor(cluster, 'job/logged', 'condition=Complete');
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
  await waitFor(cluster, 'job/annotated', 'condition=Failed');
  await waitFor(cluster, 'deployment/annotated', 'jsonpath={.status.replicas}=2');
  await waitForPods(cluster, 'app=annotated', 'condition=Ready=False');
});
