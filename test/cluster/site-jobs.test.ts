import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Interference, Labels } from '../../testbed/controlplane/pods.js';
import { type Cluster, startCluster } from './harness.js';
import { aBench, aSite, API_VERSION } from './support/builders.js';
import { completePods, failPods, holdPods, release } from './support/interference.js';
import { at, conditionOf, type Live, type Manifest } from './support/objects.js';

let cluster: Cluster;
before(async () => {
  cluster = await startCluster();
  await cluster.operator([], { clockAheadMs: 40_000 });
});
after(() => cluster.stop());

type Spec = Readonly<Record<string, unknown>>;

function aJob(name: string, spec: Spec = {}, site = 'shop'): Manifest {
  return {
    apiVersion: API_VERSION,
    kind: 'SiteJob',
    metadata: { name },
    spec: { siteRef: { name: site }, command: ['migrate'], ...spec },
  };
}

const theShop = (bench = 'bench'): readonly Manifest[] => [
  aBench(bench),
  aSite('shop', { bench, workloads: 'Shared' }),
];

async function aShop(): Promise<string> {
  const namespace = await cluster.namespace();
  await cluster.apply(namespace, ...theShop());
  await cluster.ready('AppSite', namespace, 'shop');
  return namespace;
}

/** What the script leaves in its pods. */
const words = (fields: Spec): string =>
  JSON.stringify({
    startTime: '2026-01-01T00:00:00Z',
    completionTime: '2026-01-01T00:00:01Z',
    ...fields,
  });

const succeed = (labels: Labels, log: string): Promise<Interference> =>
  completePods(cluster, labels, words({ exitCode: 0, log }));

const becomes = (namespace: string, name: string, phase: string, timeoutMs?: number) =>
  cluster.becomes('SiteJob', namespace, name, {
    what: `is ${phase}`,
    check: (live) =>
      at(live, 'status.phase') === phase &&
      at(live, 'status.observedGeneration') === live.metadata.generation,
    timeoutMs,
  });

const readyOf = (live: Live) => {
  const { status, reason, message } = conditionOf(live, 'Ready') ?? {};
  return [status, reason, message];
};

describe('jobs in a site', { concurrency: true }, () => {
  test('wait for their site, run once as soon as it is Ready, and report the result', async () => {
    const namespace = await cluster.namespace();
    const fault = await succeed({ sitejob: 'early' }, 'Migrating\nUpdating Dashboard for frappe');
    const odd = ['execute', '$(SITE_NAME)', '$$(HOME)', "it's", 'a "b"\n`c`', '漢'];
    await cluster.apply(namespace, aJob('early', { command: odd }));
    const missing = await becomes(namespace, 'early', 'Pending');
    assert.deepEqual(readyOf(missing).slice(0, 2), ['False', 'SiteMissing']);
    // The site is not Ready for as long as the bench is not.
    const hold = await holdPods(cluster, { 'job-name': 'slow-init' });
    await cluster.apply(namespace, ...theShop('slow'));
    await cluster.becomes('SiteJob', namespace, 'early', {
      what: 'sees its site',
      check: (live) => readyOf(live).includes('SiteNotReady'),
    });
    assert.equal(await cluster.get('Job', namespace, 'early-run'), undefined);
    await release(cluster, hold);
    await cluster.ready('AppSite', namespace, 'shop');
    const done = await becomes(namespace, 'early', 'Succeeded');
    assert.deepEqual(readyOf(done), ['True', 'Succeeded', 'Job early-run has succeeded']);
    assert.equal(at(done, 'status.exitCode'), 0);
    assert.equal(at(done, 'status.log'), 'Migrating\nUpdating Dashboard for frappe');
    for (const time of ['startTime', 'completionTime', 'lastSuccessfulTime']) {
      assert.ok(Date.parse(String(at(done, `status.${time}`))) > Date.now() - 120_000, time);
    }
    const [pod] = await cluster.list('Pod', namespace, 'sitejob=early');
    assert.ok(pod);
    const env = at(pod, 'spec.containers.0.env') as { name: string; value: string }[];
    const text = env.find(({ name }) => name === 'JOB_COMMAND')?.value ?? '';
    assert.deepEqual(JSON.parse(text), odd);
    await release(cluster, fault);
    // Neither a deleted Job nor another image makes it run again.
    await cluster.delete('Job', namespace, 'early-run');
    await cluster.patch('AppBench', namespace, 'slow', { spec: { image: { tag: 'v15.50.0' } } });
    await cluster.becomes('AppSite', namespace, 'shop', {
      what: 'is upgraded',
      check: (live) => at(live, 'status.image') === 'frappe/erpnext:v15.50.0',
      timeoutMs: 90_000,
    });
    await sleep(2_000);
    assert.equal(await cluster.get('Job', namespace, 'early-run'), undefined);
    const later = await becomes(namespace, 'early', 'Succeeded');
    assert.equal(at(later, 'status.completionTime'), at(done, 'status.completionTime'));
  });

  test('fail permanently with the script’s message, and run again for a changed spec', async () => {
    const namespace = await aShop();
    const log = 'Traceback\nValidationError: not today';
    const message = words({ exitCode: 3, log });
    const fault = await failPods(cluster, { sitejob: 'broken' }, { exitCode: 3, message });
    await cluster.apply(namespace, aJob('broken'));
    const failed = await becomes(namespace, 'broken', 'Failed');
    const why = 'Job broken-run: exit code 3: ValidationError: not today';
    assert.deepEqual(readyOf(failed), ['False', 'JobFailed', why]);
    assert.equal(conditionOf(failed, 'Stalled')?.status, 'True');
    assert.deepEqual([at(failed, 'status.exitCode'), at(failed, 'status.log')], [3, log]);
    const { uid } = (await cluster.the('Job', namespace, 'broken-run')).metadata;
    await release(cluster, fault);
    const repaired = await succeed({ sitejob: 'broken' }, 'fine');
    // Other failed Jobs are run again at once by a clock that is so far ahead.
    await sleep(2_000);
    assert.equal((await cluster.the('Job', namespace, 'broken-run')).metadata.uid, uid);
    await cluster.patch('SiteJob', namespace, 'broken', { spec: { backoffLimit: 1 } });
    const done = await becomes(namespace, 'broken', 'Succeeded');
    assert.deepEqual([at(done, 'status.exitCode'), at(done, 'status.log')], [0, 'fine']);
    assert.equal(conditionOf(done, 'Stalled'), undefined);
    assert.notEqual((await cluster.the('Job', namespace, 'broken-run')).metadata.uid, uid);
    await release(cluster, repaired);
  });

  test('that are evicted begin again, and no attempt is counted', async () => {
    const namespace = await aShop();
    const hold = await holdPods(cluster, { sitejob: 'moved' });
    await cluster.apply(namespace, aJob('moved', { backoffLimit: 0 }));
    const runningPod = () =>
      cluster.until('a pod that runs', async () => {
        const pods = await cluster.list('Pod', namespace, 'job-name=moved-run');
        return pods.find((pod) => at(pod, 'status.phase') === 'Running')?.metadata.name;
      });
    const first = await runningPod();
    // As the kubelet of a node under pressure does.
    const target = { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' };
    await cluster.patchStatus('Pod', namespace, first, {
      status: { phase: 'Failed', conditions: [target] },
    });
    assert.notEqual(await runningPod(), first);
    const job = await cluster.the('Job', namespace, 'moved-run');
    assert.deepEqual(
      [conditionOf(job, 'Failed'), at(job, 'status.failed')],
      [undefined, undefined],
    );
    await release(cluster, hold);
    await becomes(namespace, 'moved', 'Succeeded');
  });

  test('are not started again when their running Job is deleted, except for a changed spec', async () => {
    const namespace = await aShop();
    const hold = await holdPods(cluster, { sitejob: 'stopped' });
    await cluster.apply(namespace, aJob('stopped'));
    const running = await becomes(namespace, 'stopped', 'Running');
    await cluster.until('it has begun', async () =>
      at(await cluster.the('SiteJob', namespace, 'stopped'), 'status.startTime'),
    );
    await cluster.delete('Job', namespace, 'stopped-run');
    const stopped = await becomes(namespace, 'stopped', 'Failed');
    const why =
      'Job stopped-run was deleted while it ran: its result is unknown; change the spec to run it again';
    assert.deepEqual(readyOf(stopped), ['False', 'Terminated', why]);
    assert.equal(conditionOf(stopped, 'Stalled')?.status, 'True');
    assert.equal(at(stopped, 'metadata.generation'), at(running, 'metadata.generation'));
    await sleep(2_000);
    assert.equal(await cluster.get('Job', namespace, 'stopped-run'), undefined);
    await release(cluster, hold);
    const fault = await succeed({ sitejob: 'stopped' }, 'fine');
    await cluster.patch('SiteJob', namespace, 'stopped', { spec: { backoffLimit: 1 } });
    const done = await becomes(namespace, 'stopped', 'Succeeded');
    assert.equal(conditionOf(done, 'Stalled'), undefined);
    await release(cluster, fault);
  });

  test('run by a schedule, which is suspended while the site is closed and deleted with it', async () => {
    const namespace = await aShop();
    const fault = await succeed({ sitejob: 'often' }, 'tick');
    await cluster.apply(
      namespace,
      aJob('often', { schedule: '* * * * *', timeZone: 'Asia/Tokyo' }),
    );
    await cluster.becomes('SiteJob', namespace, 'often', {
      what: 'is Scheduled',
      check: (live) => ['Scheduled', 'Running'].includes(String(at(live, 'status.phase'))),
    });
    const done = await cluster.becomes('SiteJob', namespace, 'often', {
      what: 'has run',
      check: (live) => at(live, 'status.lastSuccessfulTime') !== undefined,
      timeoutMs: 90_000,
    });
    assert.match(String(at(done, 'status.job')), /^often-run-\d+$/);
    assert.deepEqual([at(done, 'status.exitCode'), at(done, 'status.log')], [0, 'tick']);
    assert.ok(at(done, 'status.lastScheduleTime'));
    const suspended = async (): Promise<unknown> =>
      at(await cluster.the('CronJob', namespace, 'often-run'), 'spec.suspend');
    assert.equal(await suspended(), false);
    await cluster.patch('AppSite', namespace, 'shop', { spec: { paused: true } });
    await cluster.until('the schedule rests', async () => (await suspended()) === true);
    const resting = await becomes(namespace, 'often', 'Pending');
    assert.match(String(readyOf(resting)[2]), /the schedule waits: .*"shop" is paused$/);
    // A run that was missed meanwhile would begin as soon as the schedule is resumed.
    await cluster.patch('SiteJob', namespace, 'often', { spec: { schedule: '0 0 1 1 *' } });
    await cluster.becomes('CronJob', namespace, 'often-run', {
      what: 'is changed',
      check: (live) => Object.is(at(live, 'spec.schedule'), '0 0 1 1 *'),
    });
    await cluster.patch('AppSite', namespace, 'shop', { spec: { paused: null } });
    await cluster.until('the schedule goes on', async () => (await suspended()) === false);
    await cluster.delete('AppSite', namespace, 'shop');
    await cluster.deleted('CronJob', namespace, 'often-run');
    const left = await becomes(namespace, 'often', 'Pending');
    assert.equal(readyOf(left)[1], 'SiteMissing');
    assert.equal(at(left, 'status.log'), 'tick');
    await release(cluster, fault);
  });

  test('are refused with the API server’s message for a time zone that it does not know', async () => {
    const namespace = await aShop();
    await cluster.apply(namespace, aJob('zone', { schedule: '@daily', timeZone: 'Mars/Olympus' }));
    const live = await becomes(namespace, 'zone', 'Failed');
    assert.equal(readyOf(live)[1], 'ApplyRefused');
    assert.match(String(readyOf(live)[2]), /unknown time zone Mars\/Olympus/);
  });
});
