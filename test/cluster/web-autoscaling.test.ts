import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { type Cluster, startCluster } from './harness.js';
import { aBench, aSite, WORKERS } from './support/builders.js';
import { ServedMetrics } from './support/metrics.js';
import { at, conditionOf, type Live, nameOf } from './support/objects.js';
import type { Operator } from './support/operator.js';

const CPU = { componentResources: { gunicorn: { requests: { cpu: '100m', memory: '64Mi' } } } };
const SCALING = { minReplicas: 1, maxReplicas: 10, target: { type: 'CPU', value: 50 } };
const [BENCH, SITE] = ['b-gunicorn', 's-gunicorn'];

describe('gunicorn scales by its load', () => {
  let cluster: Cluster;
  let namespace: string;
  let metrics: ServedMetrics;
  let operator: Operator;
  /** Milli CPUs of all pods of a Deployment: simulated ones use none. */
  const load = new Map<string, number>();
  before(async () => {
    // An APIService without a server would hold up the deletion of each namespace of a shared one.
    cluster = await startCluster({ own: true });
    namespace = await cluster.namespace();
    metrics = new ServedMetrics(cluster.controlPlane, cluster, async (pods) =>
      pods.map((pod) => {
        const all = load.get(pod.metadata.labels?.['app'] ?? '') ?? 0;
        return { pod, cpu: Math.round(all / pods.length), time: new Date().toISOString() };
      }),
    );
    operator = await cluster.operator([], { timeFactor: 5 });
    await cluster.apply(
      namespace,
      aBench('b', { ...CPU, componentReplicas: { gunicorn: 2 } }),
      aSite('s', { bench: 'b', ...WORKERS }),
    );
    await cluster.ready('AppBench', namespace, 'b');
    await cluster.ready('AppSite', namespace, 's');
  });
  after(async () => {
    metrics.stop();
    await cluster.stop();
  });

  const replicas = async (name: string): Promise<unknown> =>
    at(await cluster.the('Deployment', namespace, name), 'spec.replicas');
  const has = (name: string, count: number): Promise<true> =>
    cluster.until(
      `${name} has ${count} replicas`,
      async () => {
        assert.equal(await replicas(name), count);
        return true;
      },
      90_000,
    );
  const hpas = async (): Promise<string[]> =>
    (await cluster.list('HorizontalPodAutoscaler', namespace)).map(({ metadata }) => metadata.name);
  const awaitHpas = (...wanted: readonly string[]): Promise<true> =>
    cluster.until(`HorizontalPodAutoscalers ${wanted.join(', ')}`, async () => {
      assert.deepEqual(await hpas(), wanted);
      return true;
    });
  const reports = (
    [kind, name]: readonly [string, string],
    reason: string,
    text: string,
  ): Promise<Live> =>
    cluster.becomes(kind, namespace, name, {
      what: `reports ${reason}: ${text}`,
      check: (live) => {
        const found = conditionOf(live, 'Autoscaling');
        return found?.reason === reason && found.message.includes(text);
      },
      timeoutMs: 90_000,
    });
  const b = ['AppBench', 'b'] as const;
  const s = ['AppSite', 's'] as const;
  const change = (spec: object): Promise<Live> =>
    cluster.patch('AppBench', namespace, 'b', { spec });
  /** Whether the number of replicas is a field that the operator applies. */
  const isOurs = async (name: string): Promise<boolean> => {
    const { metadata } = await cluster.the('Deployment', namespace, name);
    const ours = metadata.managedFields?.find(
      ({ manager, operation }) => manager === 'app-operator' && operation === 'Apply',
    );
    return at(ours?.fieldsV1, '["f:spec"]["f:replicas"]') !== undefined;
  };
  /** The names of the pods: one that was sent home does not come back. */
  const podsOf = async (name: string, count: number): Promise<readonly string[]> =>
    cluster.until(`${name} has ${count} pods`, async () => {
      const names = (await cluster.list('Pod', namespace, `app=${name}`)).map(nameOf).sort();
      return names.length === count && names;
    });

  test('not together with a fixed number', async () => {
    await assert.rejects(
      change({ webAutoscaling: SCALING }),
      /webAutoscaling and componentReplicas.gunicorn both set the number of web processes: remove one of them, or set webAutoscaling.enabled to false/,
    );
  });

  test('keeps the number when it is switched on, and names what is missing', async () => {
    const before = await Promise.all([podsOf(BENCH, 2), podsOf(SITE, 2)]);
    await change({ webAutoscaling: SCALING, componentReplicas: { gunicorn: null } });
    await awaitHpas(BENCH, SITE);
    await reports(b, 'ScalerNotReady', `HorizontalPodAutoscaler ${BENCH}: FailedGet`);
    const site = await reports(s, 'ScalerNotReady', `HorizontalPodAutoscaler ${SITE}: FailedGet`);
    assert.deepEqual(at(site, 'status.webScaling'), { currentReplicas: 2, desiredReplicas: 2 });
    assert.deepEqual([await replicas(BENCH), await replicas(SITE)], [2, 2]);
    assert.deepEqual([await isOurs(BENCH), await isOurs(SITE)], [false, false]);
    // A number that its last manager gives up becomes the server's default, one.
    assert.deepEqual(await Promise.all([podsOf(BENCH, 2), podsOf(SITE, 2)]), before);
    await cluster.ready('AppBench', namespace, 'b');
    await cluster.ready('AppSite', namespace, 's');
    await assert.rejects(
      cluster.controlPlane.kubectl(['-n', namespace, 'scale', 'appbench/b', '--replicas=3']),
      /both set the number of web processes/,
    );
  });

  test('to the most under load, with metrics', async () => {
    load.set(BENCH, 5_000);
    load.set(SITE, 50);
    await metrics.start(await cluster.freePort());
    await reports(b, 'HorizontalPodAutoscaler', `HorizontalPodAutoscaler ${BENCH} scales gunicorn`);
    await has(BENCH, 10);
    const bench = await cluster.becomes('AppBench', namespace, 'b', {
      what: 'shows ten',
      check: (live) => at(live, 'status.webScaling.currentReplicas') === 10,
    });
    assert.equal(at(bench, 'status.webScaling.desiredReplicas'), 10);
    assert.equal(at(await cluster.the('PodDisruptionBudget', namespace, BENCH), 'spec.maxUnavailable'), 1); // prettier-ignore
    await cluster.ready('AppBench', namespace, 'b');
  });

  test('to a number that is not ours, also after a restart and another change', async () => {
    await operator.stop();
    operator = await cluster.operator([], { timeFactor: 5 });
    await change({ componentResources: { gunicorn: { limits: { memory: '1Gi' } } } });
    await cluster.ready('AppBench', namespace, 'b');
    assert.deepEqual([await replicas(BENCH), await isOurs(BENCH)], [10, false]);
  });

  test('and down again, by the behavior that a user adds', async () => {
    load.set(BENCH, 10);
    // Kubernetes waits five minutes by default.
    await cluster.patch('HorizontalPodAutoscaler', namespace, BENCH, {
      spec: { behavior: { scaleDown: { stabilizationWindowSeconds: 0 } } },
    });
    await has(BENCH, 1);
    const hpa = await cluster.the('HorizontalPodAutoscaler', namespace, BENCH);
    assert.equal(at(hpa, 'spec.behavior.scaleDown.stabilizationWindowSeconds'), 0);
  });

  test('within bounds that are repaired', async () => {
    await cluster.patch('HorizontalPodAutoscaler', namespace, BENCH, { spec: { maxReplicas: 99 } });
    const bounds = (most: number) =>
      cluster.until(`at most ${most}`, async () => {
        const hpa = await cluster.the('HorizontalPodAutoscaler', namespace, BENCH);
        return at(hpa, 'spec.maxReplicas') === most;
      });
    await bounds(10);
    await cluster.delete('HorizontalPodAutoscaler', namespace, BENCH);
    await bounds(10);
    await change({ webAutoscaling: { minReplicas: 4, maxReplicas: 6 } });
    await bounds(6);
    await has(BENCH, 4);
    await has(SITE, 4);
  });

  test('for one site otherwise than its bench says', async () => {
    await cluster.patch('AppSite', namespace, 's', {
      spec: { componentReplicas: { gunicorn: 1 } },
    });
    await awaitHpas(BENCH);
    await has(SITE, 1);
    await cluster.patch('AppSite', namespace, 's', {
      spec: { componentReplicas: { gunicorn: null }, webAutoscaling: { minReplicas: 3 } },
    });
    await awaitHpas(BENCH, SITE);
    await has(SITE, 3);
    await reports(s, 'HorizontalPodAutoscaler', `HorizontalPodAutoscaler ${SITE} scales gunicorn`);
  });

  test('not where another owner’s HorizontalPodAutoscaler scales the Deployment', async () => {
    await cluster.apply(namespace, {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'mine' },
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: BENCH },
        minReplicas: 5,
        maxReplicas: 5,
      },
    });
    await awaitHpas('mine', SITE);
    await reports(b, 'ForeignScaler', `the number of Deployment ${BENCH} is scaled by HorizontalPodAutoscaler mine`); // prettier-ignore
    await has(BENCH, 5);
    await cluster.delete('HorizontalPodAutoscaler', namespace, 'mine');
    await awaitHpas(BENCH, SITE);
    await reports(b, 'HorizontalPodAutoscaler', 'scales gunicorn');
  });

  test('and has the fixed number at once when it is switched off', async () => {
    await has(BENCH, 5);
    const earlier = await podsOf(BENCH, 5);
    await change({ webAutoscaling: { enabled: false }, componentReplicas: { gunicorn: 3 } });
    await awaitHpas(SITE);
    await has(BENCH, 3);
    const bench = await cluster.ready('AppBench', namespace, 'b');
    assert.equal(at(bench, 'status.webScaling'), undefined);
    assert.equal(conditionOf(bench, 'Autoscaling'), undefined);
    assert.equal(await isOurs(BENCH), true);
    const left = await podsOf(BENCH, 3);
    assert.deepEqual(
      left.filter((name) => !earlier.includes(name)),
      [],
      'none was sent home and made again',
    );
  });

  test('from none too', async () => {
    await change({ componentReplicas: { gunicorn: 0 } });
    await has(BENCH, 0);
    await change({ webAutoscaling: { enabled: true }, componentReplicas: { gunicorn: null } });
    await has(BENCH, 4);
    await reports(b, 'HorizontalPodAutoscaler', 'scales gunicorn');
  });
});
