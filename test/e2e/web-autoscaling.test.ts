import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';

import { ServedMetrics, type Used } from '../cluster/support/metrics.js';
import { at, type Live } from '../cluster/support/objects.js';
import { seconds } from '../support/figures.js';
import { type E2e, e2e, skip } from './harness.js';
import { isReady, siteOf } from './support/bench.js';
import { cleanUp, smallBench } from './support/benches.js';

const GUNICORN = 'bench-gunicorn';
const REQUESTS = 10_000;
const MAX = 10;
/** A load of 4 milli CPUs for each pod, and one of a whole CPU. */
const [BUSY, CALM] = [4, 1_000];

/**
 * Real pods, whose CPU the kubelet measures; the test serves it as a metrics server does. Kubernetes decides and
 * scales.
 */
suite('gunicorn that scales from 1 to 10 and back', { skip }, () => {
  let cluster: E2e;
  let namespace: string;
  let metrics: ServedMetrics;

  before(async () => {
    cluster = await e2e();
    namespace = await cluster.namespace();
    metrics = new ServedMetrics(cluster.node.controlPlane, cluster, measured);
    await metrics.start(await cluster.freePort(), cluster.node.hostAddress);
    await cluster.apply(
      namespace,
      smallBench('bench', {
        componentReplicas: { workerDefault: 0, workerShort: 0, workerLong: 0 },
        gunicorn: { workers: 1 },
        componentResources: { gunicorn: { requests: { cpu: '100m', memory: '64Mi' } } },
        webAutoscaling: { maxReplicas: MAX, target: { value: CALM } },
      }),
      siteOf('bench', 'shop', { workloads: 'Shared' }),
    );
    await cluster.ready('AppSite', namespace, 'shop');
    // Kubernetes waits five minutes by default.
    await cluster.patch('HorizontalPodAutoscaler', namespace, GUNICORN, {
      spec: { behavior: { scaleDown: { stabilizationWindowSeconds: 0 } } },
    });
  });
  after(async () => {
    metrics.stop();
    // Without a server behind it, an API keeps namespaces from being deleted.
    await cluster.delete('APIService', '', 'v1beta1.metrics.k8s.io');
    await cluster.delete('Service', 'kube-system', 'metrics-server');
    await cleanUp(cluster, namespace);
  });

  async function measured(pods: readonly Live[]): Promise<readonly Used[]> {
    const summary = await cluster.summary();
    return pods.flatMap((pod) => {
      const found = summary.pods.find(
        ({ podRef }) => podRef.namespace === namespace && podRef.name === pod.metadata.name,
      );
      const cpu = found?.containers?.find(({ name }) => name === 'gunicorn')?.cpu;
      if (cpu?.usageNanoCores === undefined) return [];
      return [{ pod, cpu: Math.round(cpu.usageNanoCores / 1e6), time: cpu.time }];
    });
  }

  const scaleTo = async (count: number, target: number): Promise<void> => {
    const begun = performance.now();
    const spec = { webAutoscaling: { target: { value: target } } };
    await cluster.patch('AppBench', namespace, 'bench', { spec });
    await cluster.until(
      `${count} pods that are ready, and no others`,
      async () => {
        const pods = await cluster.pods(namespace, `app=${GUNICORN}`);
        if (pods.length === count && pods.every(isReady)) return true;
        const { status } = await cluster.the('HorizontalPodAutoscaler', namespace, GUNICORN);
        throw new Error(
          `${pods.filter(isReady).length} of ${pods.length}; ${JSON.stringify(status)}`,
        );
      },
      300_000,
    );
    cluster.figures.add(`web autoscaling: to ${count} pods`, seconds(performance.now() - begun));
  };

  test(`loses none of ${REQUESTS} requests`, async () => {
    let all = 0;
    while (all < REQUESTS) {
      const loads = await Promise.all([cycle(), ...[1, 2, 3].map(() => during())]);
      for (const load of loads) {
        all += load.sent;
        cluster.requireNoneLost('gunicorn scales from 1 to 10 and back', load);
      }
    }
    const bench = await cluster.ready('AppBench', namespace, 'bench');
    assert.deepEqual(at(bench, 'status.webScaling'), { currentReplicas: 1, desiredReplicas: 1 });
  });

  let over: Promise<void> = Promise.resolve();
  /** Requests while pods come and end. */
  const cycle = () => {
    over = (async () => {
      await scaleTo(MAX, BUSY);
      await scaleTo(1, CALM);
    })();
    return during();
  };
  const during = () => cluster.load(namespace, 'bench', 'shop.example.com', () => over);
});
