import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';

import { kedaHere } from '../cluster/support/keda.js';
import { at, conditionOf, type Live } from '../cluster/support/objects.js';
import { seconds } from '../support/figures.js';
import { standInOnly } from './framework.js';
import { type E2e, e2e, skip } from './harness.js';
import { benchOf, siteOf, SiteUser } from './support/bench.js';
import { cleanUp } from './support/benches.js';
import { InstalledKeda } from './support/keda.js';

const KEDA = skip ? undefined : await kedaHere();
const COOLDOWN_S = 5;
const WORKER = 'shop-worker-short';

/** A job runs for much longer than a queue without waiting jobs stays awake. */
const LONG_JOB_S = 30;

suite('autoscaling with the real KEDA', { skip: skip || (KEDA?.skip ?? false) }, () => {
  let cluster: E2e;
  let namespace: string;
  let keda: InstalledKeda;
  let shop: SiteUser;

  before(async () => {
    cluster = await e2e();
    namespace = await cluster.namespace();
    const short = { enabled: true, minReplicas: 0, maxReplicas: 2, queueLength: 1 };
    const quick = { cooldownPeriod: COOLDOWN_S, pollingInterval: 1 };
    await cluster.apply(
      namespace,
      benchOf('bench', {
        workerAutoscaling: { short: { ...short, ...quick } },
        componentReplicas: { socketio: 0, scheduler: 0, workerDefault: 0, workerLong: 0 },
      }),
      siteOf('bench', 'shop', { componentReplicas: { workerDefault: 0, workerLong: 0 } }),
    );
    await cluster.ready('AppSite', namespace, 'shop');
    shop = new SiteUser(cluster, { namespace, bench: 'bench' }, 'shop');
    await shop.answers();
    keda = new InstalledKeda(cluster, KEDA?.crds.crds ?? []);
  });
  after(async () => {
    await keda.remove();
    await cleanUp(cluster, namespace);
  });

  const pods = (): Promise<readonly Live[]> => cluster.pods(namespace, `app=${WORKER}`);
  const replicas = async (): Promise<unknown> =>
    at(await cluster.the('Deployment', namespace, WORKER), 'spec.replicas');
  const reach = (what: string, count: number): Promise<true> =>
    cluster.until(
      what,
      async () => {
        assert.equal(await replicas(), count);
        return true;
      },
      120_000,
    );
  const none = (): Promise<true> =>
    cluster.until(
      'no worker is there',
      async () => {
        assert.deepEqual(await pods(), []);
        return true;
      },
      120_000,
    );

  test('with KEDA a queue without jobs is scaled to zero', async () => {
    assert.equal(await replicas(), 1, 'without KEDA one worker runs');
    assert.ok(KEDA?.programs);
    await keda.install(KEDA.programs);
    await cluster.becomes('AppSite', namespace, 'shop', {
      what: 'is scaled by KEDA',
      check: (site) => at(site, 'status.workerScaling.short.kedaManaged') === true,
      timeoutMs: 120_000,
    });
    await reach('the queue sleeps', 0);
    await none();
    await cluster.ready('AppSite', namespace, 'shop');
  });

  test(
    'a job that runs for longer than the queue stays awake ends with success',
    { skip: standInOnly('a job that takes long and stores a row') },
    async () => {
      const begun = performance.now();
      assert.equal(await shop.enqueueSlow('long job', LONG_JOB_S, 'short'), 200);
      await reach('a job scales its queue from zero', 1);
      cluster.figures.add(
        'autoscaling: a job scales its queue from zero',
        seconds(performance.now() - begun),
      );
      const worker = await cluster.until(
        'a worker has the job',
        async () => {
          const [pod] = await pods();
          const name = pod?.metadata.name ?? '';
          return (await cluster.logs(namespace, name, '--tail=5')).includes('long job') && pod;
        },
        120_000,
      );
      assert.equal(at(worker, 'spec.terminationGracePeriodSeconds'), 360);
      const taken = performance.now();
      await reach('the queue is scaled to zero while the job runs', 0);
      const terminating = await cluster.until('the worker to be terminating', async () => {
        const pod = await cluster.the('Pod', namespace, worker.metadata.name);
        return pod.metadata.deletionTimestamp !== undefined && pod;
      });
      assert.equal(terminating.metadata.uid, worker.metadata.uid);
      cluster.figures.add(
        'autoscaling: terminating after the job was taken',
        seconds(performance.now() - taken),
      );
      assert.equal(await shop.remembers('long job'), 0, 'the job has not ended yet');
      await shop.stored(['long job']);
      cluster.figures.add(
        `autoscaling: a job of ${LONG_JOB_S} s was done after`,
        seconds(performance.now() - taken),
      );
      await none();
      // No worker took it a second time.
      await shop.stored(['long job']);
    },
  );

  test(
    'several jobs get several workers, and all are done once',
    { skip: standInOnly('jobs that take 12 s and store a row') },
    async () => {
      // Enough to wait for longer than the HPA's 15 s, while the first worker does one after the
      // other.
      const jobs = Array.from({ length: 8 }, (_, index) => `one of several: ${index}`);
      for (const job of jobs) assert.equal(await shop.enqueueSlow(job, 12, 'short'), 200);
      await reach('two workers', 2);
      await shop.stored(jobs, 180_000);
      await reach('the queue sleeps again', 0);
      await none();
      await shop.stored(jobs);
    },
  );

  test('without KEDA a worker of the scaled-down queue takes the next job', async () => {
    await keda.remove();
    await reach('a worker comes', 1);
    await cluster.becomes('AppSite', namespace, 'shop', {
      what: 'says that KEDA is missing',
      check: (site) => conditionOf(site, 'Autoscaling')?.reason === 'KedaMissing',
    });
    await cluster.ready('AppSite', namespace, 'shop');
    assert.equal(await shop.enqueue('after KEDA', 'short'), 200);
    await shop.stored(['after KEDA']);
  });
});
