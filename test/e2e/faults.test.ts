import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { at, conditionOf, type Live } from '../cluster/support/objects.js';
import { seconds } from '../support/figures.js';
import { standInOnly } from './framework.js';
import { type E2e, e2e, skip } from './harness.js';
import { lasting, type SiteUser } from './support/bench.js';
import { deletePod, killContainer, killPod, podOf, replaced, restarted } from './support/kill.js';
import { TwoSites } from './support/two-sites.js';

const OPERATOR = 'app-operator-system';

suite('faults', { skip }, () => {
  let cluster: E2e;
  let sites: TwoSites;
  let namespace: string;
  let shop: SiteUser;
  let blog: SiteUser;

  before(async () => {
    cluster = await e2e();
    sites = await TwoSites.make(cluster);
    ({ namespace, shop, blog } = sites);
  });

  after(async () => {
    if (namespace) await cluster.delete('Namespace', '', namespace);
  });

  const containers: readonly (readonly [app: string, container: string])[] = [
    ['bench-gunicorn', 'gunicorn'],
    ['bench-nginx', 'nginx'],
    ['bench-db', 'mariadb'],
    ['bench-worker-default', 'worker-default'],
    ['bench-scheduler', 'scheduler'],
    ['bench-socketio', 'socketio'],
    // After socketio: it ends without its queue, and a second end within ten minutes waits longer.
    ['bench-redis', 'cache'],
    ['bench-redis', 'queue'],
    ['shop-gunicorn', 'gunicorn'],
    ['shop-worker-default', 'worker-default'],
  ];
  for (const [app, container] of containers) {
    test(`the container ${container} of ${app} is killed`, async () => {
      const pod = await podOf(cluster, namespace, app);
      await sites.recovers(
        `container ${app}/${container} killed`,
        () => killContainer(cluster, pod, container),
        () => restarted(cluster, pod, container),
      );
    });
  }

  for (const [app, how, fault] of [
    ['bench-db', 'killed', killPod],
    // Idle workers notice a server that stops without closing connections only after minutes:
    // docs/spec/appbench.md.
    ['bench-redis', 'deleted', deletePod],
  ] as const) {
    test(`the pod of ${app} is ${how}`, async () => {
      const pod = await podOf(cluster, namespace, app);
      await sites.recovers(
        `pod ${app} ${how}`,
        () => fault(cluster, pod),
        () => replaced(cluster, namespace, [pod]),
      );
    });
  }

  test('all pods are killed at once', async () => {
    const pods = lasting(await cluster.pods(namespace));
    await sites.recovers(
      `all ${pods.length} pods killed at once`,
      async () => {
        await Promise.all(pods.map((pod) => killPod(cluster, pod)));
      },
      () => replaced(cluster, namespace, pods),
    );
    await sites.ready();
  });

  test('redis is restarted with queued jobs, and none is lost', async () => {
    const jobs = Array.from({ length: 20 }, (_, index) => `queued ${index}`);
    await sites.workers(0);
    for (const job of jobs.slice(0, 10)) assert.equal(await shop.enqueue(job), 200);
    const redis = await podOf(cluster, namespace, 'bench-redis');
    await sites.queueIsWritten();
    await killContainer(cluster, redis, 'queue');
    await restarted(cluster, redis, 'queue');
    for (const job of jobs.slice(10)) assert.equal(await shop.enqueue(job), 200);
    // With SIGTERM, as a drain of the node sends it.
    await cluster.delete('Pod', namespace, redis.metadata.name);
    await replaced(cluster, namespace, [redis]);
    // Without the cache gunicorn was not ready.
    await sites.answer();
    assert.equal(await shop.remembers(jobs[0] ?? ''), 0, 'no job has run yet');
    await sites.workers(1);
    await shop.stored(jobs);
  });

  test(
    'a worker that is stopped finishes its job',
    { skip: standInOnly('a job that takes 12 s and stores a row') },
    async () => {
      const pods = await Promise.all(
        ['shop-worker-default', 'bench-worker-default'].map((app) =>
          podOf(cluster, namespace, app),
        ),
      );
      for (const site of [shop, blog]) assert.equal(await site.enqueueSlow('long job', 12), 200);
      await cluster.until('the jobs to run', async () => {
        const logs = pods.map(({ metadata }) => cluster.logs(namespace, metadata.name, '--tail=3'));
        return (await Promise.all(logs)).every((log) => log.includes('long job'));
      });
      for (const { metadata } of pods) await cluster.delete('Pod', namespace, metadata.name);
      await Promise.all([shop, blog].map((site) => site.stored(['long job'])));
      await replaced(cluster, namespace, pods);
      // No worker took it a second time.
      await Promise.all([shop, blog].map((site) => site.stored(['long job'])));
    },
  );

  test('the operator is killed, and away while pods go and the spec changes', async () => {
    const [operator] = lasting(await cluster.pods(OPERATOR));
    assert.ok(operator);
    await sites.recovers(
      'container of the operator killed',
      async () => {
        await killContainer(cluster, operator, String(at(operator, 'spec.containers[0].name')));
      },
      () => restarted(cluster, operator, String(at(operator, 'spec.containers[0].name'))),
    );
    await cluster.scaleOperator(0);
    try {
      const pods = await Promise.all(
        ['bench-gunicorn', 'shop-gunicorn'].map((app) => podOf(cluster, namespace, app)),
      );
      await sites.recovers(
        'pods of gunicorn killed while the operator is away',
        async () => {
          await Promise.all(pods.map((pod) => killPod(cluster, pod)));
        },
        () => replaced(cluster, namespace, pods),
      );
      await replicas(2);
      await cluster.delete('Deployment', namespace, 'bench-socketio');
    } finally {
      await cluster.scaleOperator(1);
    }
    const begun = performance.now();
    await sites.ready();
    const available = await cluster.the('Deployment', namespace, 'shop-gunicorn');
    assert.equal(at(available, 'status.availableReplicas'), 2);
    await cluster.the('Deployment', namespace, 'bench-socketio');
    cluster.figures.add(
      'operator back: a change and a loss of meanwhile made good',
      seconds(performance.now() - begun),
    );
    await replicas(1);
    await sites.ready();
  });

  test('the node stops, and starts again', async () => {
    const pod = await podOf(cluster, namespace, 'shop-gunicorn');
    await sites.use('before the node went away');
    await cluster.node.stopKubelet();
    try {
      // Kubernetes notices after 40 s.
      await sites.withoutLoss('20 s without the kubelet', () => sleep(20_000));
      await cluster.until('the node to be NotReady', nodeIsLost, 120_000);
      // Services have no Ready endpoint then; the operator checks a site once a minute.
      await cluster.figures.time('the node is lost: until bench and sites say so', () =>
        Promise.all([
          awaitNotReady('AppBench', 'bench'),
          awaitNotReady('AppSite', 'shop'),
          awaitNotReady('AppSite', 'blog'),
        ]),
      );
      // Without a kubelet the container is not restarted.
      await killContainer(cluster, pod, 'gunicorn');
    } finally {
      await cluster.node.startKubelet();
    }
    await sites.recovery('the node is Ready again, a container had stopped', () =>
      restarted(cluster, pod, 'gunicorn'),
    );
    await sites.ready();
  });

  async function nodeIsLost(): Promise<boolean> {
    const { items } = JSON.parse(await cluster.node.kubectl(['get', 'nodes', '-o=json'])) as {
      readonly items: readonly Live[];
    };
    return (
      items.length > 0 && items.every((node) => conditionOf(node, 'Ready')?.status === 'Unknown')
    );
  }

  function awaitNotReady(kind: string, name: string): Promise<Live> {
    return cluster.becomes(kind, namespace, name, {
      what: 'reports that it is not available',
      check: (live) => conditionOf(live, 'Ready')?.status === 'False',
      timeoutMs: 120_000,
    });
  }

  function replicas(gunicorn: number): Promise<Live> {
    return cluster.patch('AppSite', namespace, 'shop', {
      spec: { componentReplicas: { gunicorn } },
    });
  }
});
