import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { type Cluster, startCluster } from './harness.js';
import { aBench, aSite } from './support/builders.js';
import { at, conditionOf, type Live, nameOf } from './support/objects.js';

const MESSAGE = 'the operator writes nothing while the resource is paused';

let cluster: Cluster;
before(async () => {
  cluster = await startCluster({ audit: true });
  await cluster.operator();
});
after(() => cluster.stop());

/** Two ways to say it. */
const WAYS = {
  'spec.paused': (paused: boolean) => ({ spec: { paused } }),
  'the annotation': (paused: boolean) => ({
    metadata: { annotations: { 'app-operator.io/paused': paused ? 'true' : null } },
  }),
} as const;

const isPaused = (kind: string, namespace: string, name: string): Promise<Live> =>
  cluster.becomes(kind, namespace, name, {
    what: 'says that it is paused',
    check: (live) => Boolean(conditionOf(live, 'Paused')),
  });

describe('a paused bench and site', { concurrency: true }, () => {
  for (const [how, pause] of Object.entries(WAYS)) {
    test(`are not reconciled, report it, and are reconciled again afterwards (${how})`, async () => {
      const namespace = await cluster.namespace();
      await cluster.apply(namespace, aBench('b'), aSite('s', { bench: 'b' }));
      await cluster.ready('AppSite', namespace, 's');
      await cluster.ready('AppBench', namespace, 'b');
      await sleep(1_300);
      for (const [kind, name] of [
        ['AppBench', 'b'],
        ['AppSite', 's'],
      ] as const) {
        await cluster.patch(kind, namespace, name, pause(true));
        const live = await isPaused(kind, namespace, name);
        const { status, reason, message } = conditionOf(live, 'Paused') ?? {};
        assert.deepEqual([status, reason, message], ['True', 'Paused', MESSAGE]);
        assert.equal(at(live, 'status.phase'), 'Ready', 'what runs goes on');
        assert.equal(conditionOf(live, 'Ready')?.status, 'True');
        assert.equal(conditionOf(live, 'Reconciling'), undefined);
      }

      const since = new Date();
      await cluster.delete('Service', namespace, 'b-nginx');
      await cluster.delete('Job', namespace, 's-init');
      await cluster.patch('Deployment', namespace, 's-gunicorn', { spec: { replicas: 4 } });
      await cluster.patch('AppBench', namespace, 'b', { spec: { appsJSON: '["erpnext"]' } });
      await cluster.patch('AppSite', namespace, 's', { spec: { workloads: 'Shared' } });
      await cluster.apply(namespace, aSite('new', { bench: 'b', paused: true }));
      await sleep(1_500);
      const writes = (await cluster.writes({ namespace, since })).filter(
        (write) => !write.endsWith('/status'),
      );
      assert.deepEqual(writes, []);

      await cluster.patch('AppBench', namespace, 'b', pause(false));
      await cluster.patch('AppSite', namespace, 's', pause(false));
      const bench = await cluster.ready('AppBench', namespace, 'b');
      assert.deepEqual(at(bench, 'status.apps'), ['erpnext']);
      await cluster.ready('AppSite', namespace, 's');
      assert.ok(await cluster.get('Service', namespace, 'b-nginx'));
      await cluster.deleted('Deployment', namespace, 's-gunicorn');
      for (const [kind, name] of [
        ['AppBench', 'b'],
        ['AppSite', 's'],
      ] as const) {
        await cluster.becomes(kind, namespace, name, {
          what: 'is not paused',
          check: (live) => !conditionOf(live, 'Paused'),
        });
      }
    });
  }

  test('that are new are not begun with', async () => {
    const namespace = await cluster.namespace();
    await cluster.apply(
      namespace,
      aBench('b', { paused: true }),
      aSite('s', { bench: 'b', paused: true }),
    );
    for (const [kind, name] of [
      ['AppBench', 'b'],
      ['AppSite', 's'],
    ] as const) {
      const live = await isPaused(kind, namespace, name);
      assert.equal(at(live, 'status.phase'), 'Pending');
      const { status, reason, message } = conditionOf(live, 'Ready') ?? {};
      assert.deepEqual([status, reason, message], ['False', 'Paused', MESSAGE]);
    }
    await sleep(1_000);
    assert.deepEqual((await cluster.everything(namespace)).map(nameOf), []);
    assert.deepEqual((await cluster.writes({ namespace })).sort(), [
      'patch appbenchs/b/status',
      'patch appsites/s/status',
    ]);
    await cluster.patch('AppBench', namespace, 'b', { spec: { paused: false } });
    await cluster.ready('AppBench', namespace, 'b');
    await cluster.patch('AppSite', namespace, 's', { spec: { paused: null } });
    await cluster.ready('AppSite', namespace, 's');
  });

  test('that are deleted go when they are no longer paused', async () => {
    const namespace = await cluster.namespace();
    await cluster.apply(
      namespace,
      aBench('b'),
      aSite('s', { bench: 'b', deletionPolicy: 'Delete' }),
    );
    await cluster.ready('AppSite', namespace, 's');
    await cluster.patch('AppSite', namespace, 's', { spec: { paused: true } });
    await isPaused('AppSite', namespace, 's');
    await cluster.delete('AppSite', namespace, 's');
    await sleep(1_000);
    await isPaused('AppSite', namespace, 's');
    assert.equal(await cluster.get('Job', namespace, 's-drop'), undefined);
    assert.ok(await cluster.get('Deployment', namespace, 's-gunicorn'));
    await cluster.patch('AppSite', namespace, 's', { spec: { paused: false } });
    await cluster.deleted('AppSite', namespace, 's');
  });
});
