import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';

import { seconds } from '../support/figures.js';
import type { Timeline, Write } from '../support/timeline.js';
import { type E2e, e2e, skip } from './harness.js';
import { idleUsage, totalOf, type Usage } from './support/container-usage.js';
import { addSteps, addTrace } from './support/trace.js';

const BENCH = 'demo-bench';
const byOperator = (user: string): boolean => user.includes(':app-operator-controller-manager');
const byKubelet = (user: string): boolean => user.startsWith('system:node:');

const IDLE_SECONDS = 5;

suite('a bench and its sites serve requests', { skip }, () => {
  let cluster: E2e;
  let namespace: string;

  before(async () => {
    cluster = await e2e();
    namespace = await cluster.namespace();
  });

  test('a site that is Ready answers through nginx', async () => {
    const bench = await cluster.example('bench.yaml');
    const site = await cluster.example('site.yaml');
    const pong = answers('demo.localhost');
    const begun = Date.now();
    await cluster.apply(namespace, bench, site);
    await cluster.ready('AppBench', namespace, BENCH);
    await cluster.ready('AppSite', namespace, 'demo-site');
    await pong;
    assert.deepEqual(await ping('demo.localhost'), [200, { message: 'pong' }]);
    const timeline = await cluster.timeline(namespace);
    const added = addedToBench(timeline, 'demo-site') + addedToSite(timeline, 'demo-site', BENCH);
    cluster.figures.add('  of that, waiting for the operator', seconds(added));
    await addTrace(cluster, namespace, begun);
    await addSteps(cluster, { namespace, job: 'demo-site-init' }, begun);
  });

  test('a second site on a running bench, and an unknown one', async () => {
    const site = await cluster.example('site.yaml');
    const spec = { ...(site['spec'] as object), siteName: 'second.example.com' };
    const pong = answers('second.example.com');
    await cluster.apply(namespace, { ...site, metadata: { name: 'second' }, spec });
    await cluster.ready('AppSite', namespace, 'second');
    await pong;
    assert.deepEqual(await ping('second.example.com'), [200, { message: 'pong' }]);
    const { status } = await cluster.request(namespace, BENCH, {
      host: 'other.example.com',
      path: '/',
    });
    assert.equal(status, 404);
    const added = addedToSite(await cluster.timeline(namespace), 'second');
    cluster.figures.add('  of that, waiting for the operator', seconds(added));
    const memory = await cluster.until('the kubelet to have measured the operator', () =>
      cluster.operatorMemory(),
    );
    cluster.figures.add('memory of the operator', `${Math.round(memory / 2 ** 20)} MiB`);
  });

  test('what a bench and a site use at rest', async () => {
    const usage = await idleUsage(await cluster.pods(namespace), IDLE_SECONDS);
    const queues = ['default', 'short', 'long'];
    const workersOf = (name: string) => queues.map((queue) => `${name}-worker-${queue}`);
    const web = ['db', 'redis', 'nginx', 'gunicorn', 'socketio', 'scheduler', 'metrics'];
    const rows: Readonly<Record<string, readonly string[]>> = {
      'a bench with its database': [...web.map((app) => `${BENCH}-${app}`), ...workersOf(BENCH)],
      'a Dedicated site': ['second-gunicorn', ...workersOf('second')],
      'the same with workers scaled to zero': ['second-gunicorn'],
      'one worker': ['second-worker-short'],
      ...Object.fromEntries(web.map((app) => [`${app} of the bench`, [`${BENCH}-${app}`]])),
    };
    for (const [what, apps] of Object.entries(rows)) {
      cluster.figures.add(`at rest: ${what}`, text(totalOf(usage, apps)));
    }
    const shared = await cluster.example('site.yaml');
    const spec = { ...(shared['spec'] as object), siteName: 'third.example.com' };
    await cluster.apply(namespace, {
      ...{ ...shared, metadata: { name: 'third' } },
      spec: { ...spec, workloads: 'Shared' },
    });
    await cluster.ready('AppSite', namespace, 'third');
    // Its processor time is not a figure.
    const after = await idleUsage(await cluster.pods(namespace), 1);
    const bench = rows['a bench with its database'] ?? [];
    const added = totalOf(after, bench).memory - totalOf(usage, bench).memory;
    cluster.figures.add('at rest: what a Shared site adds to its bench', `${added.toFixed(0)} MiB`);
    const own = (await cluster.pods(namespace)).filter(
      ({ metadata }) => metadata.labels?.['site'] === 'third' && !metadata.labels['job-name'],
    );
    assert.deepEqual(own, [], 'a Shared site has no pods');
  });

  /** Measures from now until a site's first answer. */
  function answers(host: string): Promise<unknown> {
    const pong = cluster.figures.time(`${host}, from apply to the first pong`, () =>
      // As long as a bench and a site may take, one after the other.
      cluster.until(`${host} to answer`, async () => (await ping(host))[0] === 200, 480_000),
    );
    // The caller awaits other promises first.
    pong.catch(() => undefined);
    return pong;
  }

  async function ping(host: string): Promise<[status: number, body: unknown]> {
    const path = '/api/method/ping';
    const { status, body } = await cluster.request(namespace, BENCH, { host, path });
    return [status, status === 200 ? JSON.parse(body) : body];
  }
});

/**
 * Milliseconds in which a new bench waited for the operator alone, until its first site could
 * start.
 */
function addedToBench(timeline: Timeline, site: string): number {
  const applied = timeline.first({ resource: 'appbenchs', name: BENCH });
  const jobs = job(timeline, `${BENCH}-init`);
  const workloads = timeline.first(
    { resource: 'deployments', name: `${BENCH}-gunicorn`, by: byOperator },
    jobs.begun,
  );
  // Later its status changes with its sites.
  const { begun } = job(timeline, `${site}-init`);
  const ready = readyAfter(timeline, { resource: 'appbenchs', name: BENCH }, workloads, begun);
  return jobs.begun - applied + (workloads - jobs.ended) + ready;
}

/**
 * The same for a site; a site that was created with its bench waits for the operator from when the
 * bench is Ready.
 */
function addedToSite(timeline: Timeline, name: string, bench?: string): number {
  const jobs = job(timeline, `${name}-init`);
  const applied = bench
    ? timeline.last({ resource: 'appbenchs', name: bench, subresource: 'status' }, jobs.begun)
    : timeline.first({ resource: 'appsites', name });
  const workloads = timeline.first(
    { resource: 'deployments', name: `${name}-gunicorn`, by: byOperator },
    jobs.begun,
  );
  const ready = readyAfter(timeline, { resource: 'appsites', name }, workloads);
  return jobs.begun - applied + (workloads - jobs.ended) + ready;
}

/** When the operator made a Job, and when the Job controller last wrote its status. */
function job(timeline: Timeline, name: string): { readonly begun: number; readonly ended: number } {
  return {
    begun: timeline.first({ resource: 'jobs', name, by: byOperator }),
    ended: timeline.last({ resource: 'jobs', name, subresource: 'status' }),
  };
}

/** From the last status of a pod until the operator has written that the owner is Ready. */
function readyAfter(
  timeline: Timeline,
  { resource, name }: { readonly resource: string; readonly name: string },
  from: number,
  before = Infinity,
): number {
  const status: Write = { resource, name, subresource: 'status' };
  const written = timeline.last(status, before);
  const lastPod = timeline.last(
    { resource: 'pods', name: { prefix: name }, subresource: 'status', by: byKubelet },
    written,
  );
  return written - Math.max(lastPod, from);
}

/** `84 MiB, 0.3 % of a CPU` */
function text({ memory, cpu }: Usage): string {
  return `${memory.toFixed(0)} MiB, ${(100 * cpu).toFixed(1)} % of a CPU`;
}
