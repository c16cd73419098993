import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { type Cluster, startCluster } from '../cluster/harness.js';
import { aBench, aSite } from '../cluster/support/builders.js';
import { OperatorMetrics } from '../../testbed/operator-metrics.js';
import { ProxiedOperators } from '../cluster/support/proxied-operators.js';
import { assertNoOrphans, atRest, countsSites } from '../cluster/support/snapshot.js';
import { at, nameOf } from '../cluster/support/objects.js';
import type { Operator } from '../cluster/support/operator.js';

const SITES = Array.from({ length: 10 }, (_, index) => `s${index + 1}`);
/** Kubernetes' own controllers wait for longer and longer before they ask an API server again that was away. */
const OTHERS_MS = 240_000;

let cluster: Cluster;
let operators: ProxiedOperators;
let namespace: string;
before(async () => {
  cluster = await startCluster({ audit: true });
  operators = new ProxiedOperators(cluster);
  namespace = await cluster.namespace();
});
after(async () => {
  await operators.stop();
  await cluster.stop();
});

/** An operator of its own user, which distinguishes its writes from others'. */
async function start(user: string): Promise<{ operator: Operator; metrics: OperatorMetrics }> {
  const metricsPort = await cluster.freePort();
  const operator = await operators.start(undefined, { namespaces: [namespace], user, metricsPort });
  return { operator, metrics: new OperatorMetrics(metricsPort) };
}

async function allReady(): Promise<void> {
  await cluster.ready('AppBench', namespace, 'b');
  for (const site of SITES) await cluster.ready('AppSite', namespace, site);
}

describe('the API server', { concurrency: 4 }, () => {
  test('crashes and comes back after a while during work: the operator survives and finishes it', async (t) => {
    // One of its own: a shared one is run by another process.
    const own = await startCluster({ own: true });
    const its = new ProxiedOperators(own);
    t.after(async () => {
      await its.stop();
      await own.stop();
    });
    const place = await own.namespace();
    const metricsPort = await own.freePort();
    const operator = await its.start(undefined, { namespaces: [place], metricsPort });
    await own.apply(place, aBench('b'), aSite('s', { bench: 'b' }));
    await own.until('some children are there', () => own.get('Job', place, 'b-init'));
    await own.controlPlane.stopApiServer('SIGKILL');
    await sleep(2_000);
    await own.controlPlane.startApiServer();
    const since = performance.now();
    await own.ready('AppBench', place, 'b', OTHERS_MS);
    await own.ready('AppSite', place, 's', OTHERS_MS);
    t.diagnostic(`Ready ${Math.round(performance.now() - since)} ms after it was back`);
    assert.ok(operator.running, operator.tail());
    assert.ok((await new OperatorMetrics(metricsPort).sum('watch_restarts_total')) > 0);
    // Its watches still work: a deleted child is created again.
    await own.delete('Service', place, 's-gunicorn');
    await own.until('the Service is back', () => own.get('Service', place, 's-gunicorn'));
    await assertNoOrphans(own, place);
  });

  test('may be down when the operator starts: the operator waits and is not ready', async () => {
    const proxy = await operators.proxy();
    await proxy.refuse();
    const healthPort = await cluster.freePort();
    const place = await cluster.namespace();
    const operator = await operators.start(proxy, { namespaces: [place], healthPort, wait: false });
    const answer = (path: string): Promise<number> =>
      fetch(`http://127.0.0.1:${healthPort}${path}`).then(
        ({ status }) => status,
        () => 0,
      );
    await cluster.until('it answers', async () => (await answer('/healthz')) === 200);
    await sleep(3_000);
    assert.equal(await answer('/readyz'), 500);
    assert.equal(await answer('/healthz'), 200);
    await proxy.accept();
    await operator.logged('caches are filled');
    assert.equal(await answer('/readyz'), 200);
    await cluster.apply(place, aBench('b'));
    await cluster.ready('AppBench', place, 'b');
    await operator.stop();
  });

  test('may be down when the operator ends: it ends within seconds', async () => {
    const proxy = await operators.proxy();
    const place = await cluster.namespace();
    const args = ['--shutdown-timeout=3s'];
    const operator = await operators.start(proxy, { namespaces: [place] }, args);
    // Work in hand, whose answer never comes.
    proxy.rule = ({ isWrite }) => (isWrite ? new Promise(() => undefined) : undefined);
    await cluster.apply(place, aBench('b'));
    await cluster.until('it writes', async () =>
      proxy.calls.some((call) => call.startsWith('PATCH')),
    );
    const started = performance.now();
    const { code } = await operator.stop(30_000);
    assert.equal(code, 0);
    assert.ok(performance.now() - started < 15_000);
  });
});

describe('the operator', () => {
  before(async () => {
    const { operator } = await start('first');
    const sites = SITES.map((name, index) =>
      aSite(name, {
        bench: 'b',
        ...(index % 2 === 0 ? {} : { workloads: 'Shared', ingress: { enabled: true } }),
      }),
    );
    await cluster.apply(namespace, aBench('b'), ...sites);
    await allReady();
    await countsSites(cluster, namespace, 'b', SITES.length);
    // What the last site's arrival has set off at the bench is over later: small news are put off by 5 s.
    await atRest(cluster, 'first');
    await operator.stop();
  });

  test('that starts without changes writes nothing, with 10 sites', async () => {
    const { operator, metrics } = await start('second');
    const depth = (): Promise<number> => metrics.sum('workqueue_depth');
    await cluster.until('all are reconciled', async () => (await depth()) === 0);
    await sleep(5_000);
    assert.deepEqual(await cluster.writes({ user: 'second' }), []);
    assert.equal(await metrics.writes(), 0);
    const calls = await metrics.calls();
    // A list and a watch for each kind, and a question for each optional API.
    assert.ok((calls.get('list') ?? 0) + (calls.get('watch') ?? 0) < 60, [...calls].join(' '));
    assert.equal(await depth(), 0);
    await operator.stop();
  });

  test('that starts after one child was changed writes only that child and its dependents', async () => {
    const patch = { spec: { replicas: 3 } };
    await cluster.patch('Deployment', namespace, 's1-gunicorn', patch);
    const { operator } = await start('third');
    await cluster.becomes('Deployment', namespace, 's1-gunicorn', {
      what: 'is as it was',
      check: ({ spec }) => Object.is(spec?.['replicas'], 1),
    });
    await cluster.ready('AppSite', namespace, 's1');
    await sleep(1_000);
    const writes = await cluster.writes({ user: 'third' });
    const others = writes.filter((write) => !/\/s1(-|\/|$)/.test(write));
    assert.deepEqual(others, []);
    await operator.stop();
  });

  test('that gets SIGTERM finishes the reconciles in progress, and the next one continues', async () => {
    const { operator } = await start('fourth');
    const children = async (): Promise<string[]> =>
      (await cluster.children(namespace)).map(nameOf).sort();
    const before = await children();
    await cluster.patch('AppBench', namespace, 'b', { spec: { appsJSON: '["erpnext"]' } });
    await cluster.until('it works', async () =>
      (await cluster.writes({ user: 'fourth' })).some((write) => write.includes('b-init')),
    );
    const started = performance.now();
    const exit = await operator.stop(30_000);
    assert.deepEqual(exit, { code: 0, signal: null });
    assert.ok(performance.now() - started < 15_000);
    assert.equal(operator.lines.at(-1)?.msg, 'stopped');
    const next = await start('fifth');
    await cluster.until('the work is done', async () => {
      assert.deepEqual(await children(), before);
      const [job] = await cluster.list('Job', namespace, 'app.kubernetes.io/instance=s10');
      return at(job, 'status.succeeded') === 1 && JSON.stringify(job).includes('erpnext');
    });
    await allReady();
    await next.operator.stop();
  });
});
