import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { type Cluster, startCluster } from './harness.js';
import { aBench, aSite } from './support/builders.js';
import { OperatorMetrics } from '../../testbed/operator-metrics.js';
import { conditionsOf, nameOf } from './support/objects.js';

let cluster: Cluster;
before(async () => {
  cluster = await startCluster({ audit: true });
});
after(() => cluster.stop());

describe('the scope', { concurrency: true }, () => {
  test('--watch-namespaces: others are neither read nor touched', async () => {
    const [one, two, other] = [
      await cluster.namespace(),
      await cluster.namespace(),
      await cluster.namespace(),
    ];
    const user = 'by-namespace';
    await cluster.operator([], { user, namespaces: [one, two] });
    for (const namespace of [other, one, two]) {
      await cluster.apply(namespace, aBench('b'), aSite('s', { bench: 'b', workloads: 'Shared' }));
    }
    await cluster.ready('AppSite', one, 's');
    await cluster.ready('AppSite', two, 's');
    assert.deepEqual(await cluster.everything(other), []);
    for (const [kind, name] of [
      ['AppBench', 'b'],
      ['AppSite', 's'],
    ] as const) {
      const { metadata, status } = await cluster.the(kind, other, name);
      assert.deepEqual([metadata.finalizers, status], [undefined, undefined]);
    }
    const calls = await cluster.calls({ user });
    assert.deepEqual(
      calls
        .filter(({ objectRef }) => objectRef?.namespace === other)
        .map((call) => call.requestURI),
      [],
    );
    const wide = calls
      .filter(({ objectRef }) => objectRef?.resource && !objectRef.namespace)
      .map(({ objectRef }) => objectRef?.resource);
    assert.deepEqual(
      [...new Set(wide)],
      ['customresourcedefinitions'],
      'nothing is read elsewhere',
    );
  });

  describe('--watch-label-selector:', { concurrency: 1 }, () => {
    const BLUE = { labels: { team: 'blue' } };
    const user = 'by-label';
    let namespace: string;
    let metrics: OperatorMetrics;
    before(async () => {
      namespace = await cluster.namespace();
      const metricsPort = await cluster.freePort();
      metrics = new OperatorMetrics(metricsPort);
      await cluster.operator(['--watch-label-selector=team=blue'], {
        user,
        namespaces: [namespace],
        metricsPort,
      });
      await cluster.apply(
        namespace,
        aBench('red', {}, { labels: { team: 'red' } }),
        aBench('plain'),
        aBench('blue', {}, BLUE),
        aSite('s', { bench: 'blue' }, BLUE),
      );
      await cluster.ready('AppSite', namespace, 's');
      await cluster.ready('AppBench', namespace, 'blue');
    });
    const of = async (name: string): Promise<string[]> =>
      (await cluster.children(namespace)).map(nameOf).filter((child) => child.includes(`/${name}`));

    test('others are not touched', async () => {
      for (const name of ['red', 'plain']) {
        assert.deepEqual(await of(name), []);
        const bench = await cluster.the('AppBench', namespace, name);
        assert.deepEqual([conditionsOf(bench), bench.metadata.finalizers], [[], undefined]);
      }
    });

    test('a resource that gets the label is reconciled', async () => {
      await cluster.patch('AppBench', namespace, 'plain', { metadata: BLUE });
      await cluster.ready('AppBench', namespace, 'plain');
    });

    test('a resource that loses it is left as it is', async () => {
      await cluster.applied('AppBench', namespace, 'plain');
      const before = await of('plain');
      const since = new Date();
      await cluster.patch('AppBench', namespace, 'plain', { metadata: { labels: { team: null } } });
      // Services come by another watch, which may be quicker.
      await cluster.until('the operator no longer reports it', async () => {
        const phases = (await metrics.samples()).filter(({ name }) => name === 'app_bench_phase');
        const names = phases.map(({ labels }) => labels['name']);
        return names.includes('blue') && !names.includes('plain');
      });
      await cluster.delete('Service', namespace, 'plain-nginx');
      await sleep(1_000);
      assert.deepEqual(
        await of('plain'),
        before.filter((child) => child !== 'Service/plain-nginx'),
      );
      const writes = await cluster.writes({ user, namespace, since });
      assert.deepEqual(
        writes.filter((write) => write.includes('plain')),
        [],
      );
    });
  });
});
