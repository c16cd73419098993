import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Interference } from '../../testbed/controlplane/pods.js';
import { type Cluster, startCluster } from './harness.js';
import { aBench, aSite } from './support/builders.js';
import { failJob, failPods, giveUp, holdPods, release } from './support/interference.js';
import { at, conditionOf, type Live } from './support/objects.js';

let cluster: Cluster;
before(async () => {
  cluster = await startCluster();
  await cluster.operator();
});
after(() => cluster.stop());

const LOG = 'Traceback (most recent call last):\nConnectionError\napp-operator: no database\n';

/** A site stays in a phase of progress: its Job is tried again. */
const failed = (
  kind: string,
  namespace: string,
  name: string,
  phase: 'Provisioning' | 'Updating' = 'Provisioning',
): Promise<Live> =>
  cluster.becomes(kind, namespace, name, {
    what: 'reports the failure, and says why',
    check: (live) =>
      at(live, 'status.phase') === (kind === 'AppSite' ? phase : 'Failed') &&
      (conditionOf(live, 'Ready')?.message.includes('no database') ?? false),
  });

describe('an init Job', { concurrency: true }, () => {
  describe('a bench whose init Job has failed', { concurrency: true }, () => {
    const broken = async (name: string): Promise<{ namespace: string; fault: Interference }> => {
      const namespace = await cluster.namespace();
      const fault = await failJob(cluster, namespace, `${name}-init`, LOG);
      await cluster.apply(namespace, aBench(name));
      return { namespace, fault };
    };

    test('is Failed with the script’s termination message, and no dependent object is created', async () => {
      const { namespace, fault } = await broken('said');
      await cluster.apply(namespace, aSite('s', { bench: 'said' }));
      const bench = await failed('AppBench', namespace, 'said');
      assert.equal(at(bench, 'status.ready'), false);
      const { reason, message } = conditionOf(bench, 'Ready') ?? {};
      assert.equal(reason, 'JobFailed');
      assert.equal(
        message,
        'Job said-init: Job has reached the specified backoff limit: no database',
      );
      assert.equal(await cluster.get('Deployment', namespace, 'said-gunicorn'), undefined);
      assert.equal(await cluster.get('Job', namespace, 's-init'), undefined);
      const site = await cluster.the('AppSite', namespace, 's');
      assert.equal(at(site, 'status.phase'), 'Provisioning');
      assert.equal(conditionOf(site, 'Ready')?.message, 'waiting for bench said to be ready');
      await release(cluster, fault);
    });

    test('is Ready after its Job is deleted by hand', async () => {
      const { namespace, fault } = await broken('by-hand');
      await failed('AppBench', namespace, 'by-hand');
      await release(cluster, fault);
      await cluster.delete('Job', namespace, 'by-hand-init');
      const bench = await cluster.ready('AppBench', namespace, 'by-hand');
      assert.equal(at(bench, 'status.ready'), true);
      assert.equal(conditionOf(bench, 'Stalled'), undefined);
    });

    test('is Ready after a change of its spec', async () => {
      const { namespace, fault } = await broken('by-spec');
      await failed('AppBench', namespace, 'by-spec');
      await release(cluster, fault);
      await cluster.patch('AppBench', namespace, 'by-spec', { spec: { appsJSON: '["hrms"]' } });
      await cluster.ready('AppBench', namespace, 'by-spec');
    });

    test('is Ready after the cause is corrected: the operator runs the Job again', async () => {
      const { namespace, fault } = await broken('by-itself');
      await failed('AppBench', namespace, 'by-itself');
      const before = await cluster.the('Job', namespace, 'by-itself-init');
      await release(cluster, fault);
      await cluster.ready('AppBench', namespace, 'by-itself');
      const after = await cluster.the('Job', namespace, 'by-itself-init');
      assert.notEqual(after.metadata.uid, before.metadata.uid);
    });
  });

  describe('a site', { concurrency: true }, () => {
    let namespace: string;
    before(async () => {
      namespace = await cluster.namespace();
      await cluster.apply(namespace, aBench('b'));
      await cluster.ready('AppBench', namespace, 'b');
    });
    const workloads = async (site: string): Promise<string[]> =>
      (await cluster.list('Deployment', namespace, `site=${site}`)).map(
        ({ metadata }) => metadata.name,
      );

    test('whose init Job failed stays Provisioning with the termination message, and recovers', async () => {
      const fault = await failJob(cluster, namespace, 'broken-init', LOG);
      await cluster.apply(namespace, aSite('broken', { bench: 'b' }));
      const site = await failed('AppSite', namespace, 'broken');
      assert.equal(conditionOf(site, 'Ready')?.reason, 'JobFailed');
      assert.equal(
        conditionOf(site, 'Ready')?.message,
        'Job broken-init: Job has reached the specified backoff limit: no database',
      );
      assert.deepEqual(await workloads('broken'), []);
      await cluster.ready('AppBench', namespace, 'b');
      await release(cluster, fault);
      await cluster.delete('Job', namespace, 'broken-init');
      await cluster.ready('AppSite', namespace, 'broken');
    });

    test('that was Ready keeps its workloads when a later init Job fails', async () => {
      await cluster.apply(namespace, aSite('later', { bench: 'b' }));
      await cluster.ready('AppSite', namespace, 'later');
      const before = await cluster.the('Job', namespace, 'later-init');
      const fault = await failPods(cluster, { 'job-name': 'later-init' }, { message: LOG });
      await cluster.patch('AppSite', namespace, 'later', { spec: { maintenance: true } });
      await cluster.until('the Job is made again', async () => {
        const { metadata } = await cluster.the('Job', namespace, 'later-init');
        return metadata.uid !== before.metadata.uid;
      });
      await giveUp(cluster, namespace, 'later-init');
      await failed('AppSite', namespace, 'later', 'Updating');
      assert.equal((await workloads('later')).length, 4);
      await release(cluster, fault);
      await cluster.patch('AppSite', namespace, 'later', { spec: { maintenance: false } });
      await cluster.ready('AppSite', namespace, 'later');
    });

    test('gets its workloads when its init Job is complete, not before', async () => {
      const hold = await holdPods(cluster, { 'job-name': 'slow-init' });
      await cluster.apply(namespace, aSite('slow', { bench: 'b' }));
      await cluster.becomes('AppSite', namespace, 'slow', {
        what: 'waits for its Job',
        check: (live) =>
          Boolean(
            conditionOf(live, 'Ready')?.message.startsWith('waiting for Job slow-init: running'),
          ),
      });
      await sleep(1_000);
      const site = await cluster.the('AppSite', namespace, 'slow');
      assert.equal(at(site, 'status.phase'), 'Provisioning');
      assert.equal(conditionOf(site, 'Reconciling')?.status, 'True');
      assert.deepEqual(await workloads('slow'), []);
      await release(cluster, hold);
      await cluster.ready('AppSite', namespace, 'slow');
      assert.equal((await workloads('slow')).length, 4);
    });
  });
});
