import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { after, before, describe, test } from 'node:test';

import { needs, temporaryDirectory } from '../jobs/servers.js';
import { type Cluster, installCrd, startCluster } from './harness.js';
import { aBench, aSite, WORKERS } from './support/builders.js';
import { Keda, kedaHere } from './support/keda.js';
import { at, conditionOf, type Live } from './support/objects.js';

const KEDA = await kedaHere();
const REDIS = needs('redis-server');
const PORT = 6380;

/** The real KEDA, a real Redis, the real controller of HPAs; only pods are simulated. */
describe('the real KEDA', { skip: KEDA.skip || (REDIS.skip ?? false) }, () => {
  let cluster: Cluster;
  let namespace: string;
  let keda: Keda;
  let password: string;
  let redis: ChildProcess | undefined;
  // An address of its own: the port is that of the bench's Service.
  const address = `127.77.${process.pid % 250}.${1 + (Math.floor(process.pid / 250) % 250)}`;

  before(async () => {
    cluster = await startCluster();
    namespace = await cluster.namespace();
    await cluster.operator();
    const quick = { cooldownPeriod: 3, pollingInterval: 1 };
    const short = { enabled: true, minReplicas: 0, maxReplicas: 4, queueLength: 2, ...quick };
    const long = { ...short, minReplicas: 1, staticReplicas: 3 };
    await cluster.apply(
      namespace,
      aBench('b', { workerAutoscaling: { short, long } }),
      aSite('s', { bench: 'b', ...WORKERS }),
    );
    await cluster.ready('AppBench', namespace, 'b');
    await cluster.ready('AppSite', namespace, 's');
    const secret = await cluster.the('Secret', namespace, 'b-redis-auth');
    password = Buffer.from(secret.data?.['password'] ?? '', 'base64').toString();
    startRedis();
  });
  after(async () => {
    redis?.kill('SIGKILL');
    await cluster.stop();
  });

  function startRedis(): void {
    const folder = temporaryDirectory();
    const args = ['--bind', address, '--port', String(PORT), '--dir', folder, '--save', ''];
    redis = spawn('redis-server', [...args, '--requirepass', password], { stdio: 'ignore' });
  }
  const command = (...args: readonly string[]): string => {
    const { status, stdout, stderr } = spawnSync(
      'redis-cli',
      ['-h', address, '-p', String(PORT), ...args],
      { env: { ...process.env, REDISCLI_AUTH: password }, encoding: 'utf8' },
    );
    assert.equal(status, 0, stderr);
    return stdout;
  };
  const benchList = (): string => `rq:queue:${namespace}.b:short`;
  let siteList = '';
  const enqueue = (list: string, count: number): void => {
    command('RPUSH', list, ...Array.from({ length: count }, (_, index) => `job-${index}`));
  };
  const replicas = async (deployment: string): Promise<unknown> =>
    at(await cluster.the('Deployment', namespace, deployment), 'spec.replicas');
  const has = (deployment: string, count: number, timeoutMs = 60_000): Promise<true> =>
    cluster.until(
      `${deployment} has ${count} replicas`,
      async () => {
        const scaler = await cluster.get('ScaledObject', namespace, deployment);
        assert.equal(await replicas(deployment), count, JSON.stringify(scaler?.status));
        return true;
      },
      timeoutMs,
    );
  const awaitReason = (kind: string, name: string, reason: string): Promise<Live> =>
    cluster.becomes(kind, namespace, name, {
      what: `reports ${reason}`,
      check: (live) => conditionOf(live, 'Autoscaling')?.reason === reason,
      timeoutMs: 60_000,
    });

  test('that is not running yet leaves the workers where they are', async () => {
    for (const crd of KEDA.crds.crds) await installCrd(cluster, crd);
    await awaitReason('AppBench', 'b', 'ScalerNotReady');
    await awaitReason('AppSite', 's', 'ScalerNotReady');
    for (const [name, count] of [
      ['b-worker-short', 1],
      ['b-worker-long', 3],
      ['s-worker-long', 3],
    ] as const) {
      assert.equal(await replicas(name), count, name);
    }
  });

  test('takes the queues over, and puts those to sleep that are empty', async () => {
    const host = `b-redis.${namespace}.svc.cluster.local`;
    assert.ok(KEDA.programs);
    keda = new Keda(cluster, KEDA.programs, { [host]: address });
    await keda.start();
    const bench = await awaitReason('AppBench', 'b', 'Keda');
    await awaitReason('AppSite', 's', 'Keda');
    assert.equal(at(bench, 'status.workerScaling.short.kedaManaged'), true);
    await has('b-worker-short', 0);
    await has('s-worker-short', 0);
    // Three are more than needed, but the HPA waits for five minutes before it scales down.
    assert.equal(await replicas('b-worker-long'), 3);
    const { spec } = await cluster.the('ScaledObject', namespace, 's-worker-short');
    siteList = String(at({ spec }, 'spec.triggers[0].metadata.listName'));
  });

  test('wakes a queue by its first job, and only that one', async () => {
    enqueue(siteList, 1);
    await has('s-worker-short', 1);
    assert.equal(await replicas('b-worker-short'), 0);
    enqueue(benchList(), 1);
    await has('b-worker-short', 1);
  });

  test('gives a worker to every two waiting jobs, up to the most', async () => {
    enqueue(benchList(), 4);
    await has('b-worker-short', 3);
    enqueue(benchList(), 20);
    await has('b-worker-short', 4);
    await cluster.becomes('AppBench', namespace, 'b', {
      what: 'shows four',
      check: (bench) => {
        const short = at(bench, 'status.workerScaling.short') as Readonly<Record<string, unknown>>;
        return short['desiredReplicas'] === 4 && short['kedaManaged'] === true;
      },
    });
  });

  test('puts it to sleep again when the list is empty', async () => {
    command('DEL', benchList(), siteList);
    await has('b-worker-short', 0);
    await has('s-worker-short', 0);
  });

  test('that cannot read the queue scales it up, and the condition has the reason', async () => {
    redis?.kill('SIGKILL');
    await awaitReason('AppBench', 'b', 'ScalerNotReady');
    await has('b-worker-short', 1);
    startRedis();
    await awaitReason('AppBench', 'b', 'Keda');
    await has('b-worker-short', 0, 90_000);
  });

  test('is uninstalled: queues keep their replicas, and none stays at zero', async () => {
    // The HPA remembers the four of before, and does not fall below them so soon.
    enqueue(benchList(), 8);
    await has('b-worker-short', 4);
    const short = { enabled: false, staticReplicas: 2 };
    await cluster.patch('AppBench', namespace, 'b', { spec: { workerAutoscaling: { short } } });
    await has('b-worker-short', 2);
    await has('s-worker-short', 2);
    await cluster.until('its HPA is deleted with the ScaledObject', async () => {
      const hpas = await cluster.list('HorizontalPodAutoscaler', namespace);
      assert.deepEqual(
        hpas.map(({ metadata }) => metadata.name),
        ['keda-hpa-b-worker-long', 'keda-hpa-s-worker-long'],
      );
      return true;
    });
  });
});
