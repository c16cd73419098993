import '../../runner/require-node.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createClient, MERGE_PATCH, type Client } from '../../runner/api/client.js';
import { loadCredentials } from '../../runner/api/credentials.js';
import { resourcePath } from '../../runner/api/resource-path.js';
import { PersistentVolumeClaim } from '../../constructs/kit/object-kind.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { startControlPlane, type ControlPlane } from '../../testbed/controlplane/controlplane.js';
import { applyCrds } from '../../testbed/crds.js';
import { OperatorProcess, type Usage } from '../../testbed/operator-process.js';
import { type AdmissionFigure, measureAdmission } from './admission.js';
import { type DocumentFigures, measureDocuments } from './documents.js';
import { type FairnessFigures, measureFairness } from './fairness.js';
import { type HostileFigure, measureHostile } from './hostile.js';
import { hasSucceeded, isAvailable, isReady, untilCount } from './ready.js';
import { aBench, aSite, BENCH_NAME, siteName, siteObjects, synthTime } from './workload.js';

/** The operator's default number of concurrent reconciles. */
const CONCURRENCY = 10;
const NAMESPACE = 'default';
const API = '/apis/app-operator.io/v1alpha1/namespaces/default';
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';

/**
 * The floor has no bench: the pods get the volume and the configuration that they mount from here.
 */
const sitesVolume = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name: `${BENCH_NAME}-sites` },
  spec: { accessModes: ['ReadWriteMany'], resources: { requests: { storage: '1Gi' } } },
};

const { values } = parseArgs({
  options: {
    sites: { type: 'string', default: '100' },
    quiet: { type: 'string', default: '60' },
    samples: { type: 'string', default: '100' },
    'skip-floor': { type: 'boolean', default: false },
    users: { type: 'string', default: '500' },
    crowd: { type: 'string', default: '0' },
    hostile: { type: 'string', default: '0' },
    admission: { type: 'boolean', default: false },
  },
});
const sites = Number(values.sites);
const timeoutMs = 60_000 + sites * 1_000;

const floor = values['skip-floor'] || sites === 0 ? undefined : await onControlPlane(measureFloor);
if (sites > 0) print({ ...(await onControlPlane(measureOperator)), floor });
if (Number(values.users) > 0) {
  printDocuments(
    await onControlPlane((cp, client) =>
      measureDocuments(cp, client, Number(values.users), Number(values.quiet) * 1000),
    ),
  );
}

if (Number(values.crowd) > 0) {
  printFairness(
    await onControlPlane((cp, client) => measureFairness(cp, client, Number(values.crowd))),
  );
}

function printFairness({
  crowd,
  quiet,
  during,
  unwatched,
  restarted,
  creation,
}: FairnessFigures): void {
  const seconds = (times: readonly number[]): string =>
    times.map((time) => time.toFixed(1)).join(', ');
  const rows = [
    ['crowd, created in', `${crowd}, ${creation.toFixed(1)} s`],
    ['new site Ready, quiet', `${seconds(quiet)} s`],
    ['new site Ready, while the crowd is created', `${seconds(during)} s`],
    ['the same, the crowd is not watched', `${seconds(unwatched)} s`],
    ['new site Ready, after a restart', `${seconds(restarted)} s`],
  ];
  for (const [what = '', value = ''] of rows) process.stdout.write(`${what.padEnd(45)}${value}\n`);
}

if (Number(values.hostile) > 0) {
  printHostile(
    await onControlPlane((cp, client) => measureHostile(cp, client, Number(values.hostile))),
  );
}

function printHostile(figures: readonly HostileFigure[]): void {
  process.stdout.write(`${values.hostile} sites of a tenant whose server …\n`);
  for (const { behaviour, checks, ready, memory } of figures) {
    const times = ready.map((seconds) => seconds.toFixed(1)).join(', ');
    process.stdout.write(
      `${behaviour.padEnd(24)}${checks} checks, new site Ready ${times} s, memory ${memory.toFixed(0)} MiB\n`,
    );
  }
}

if (values.admission) printAdmission(await measureAdmission());

function printAdmission(figures: readonly AdmissionFigure[]): void {
  for (const { what, bytes, median, longest, others, grown } of figures) {
    const size = `${(bytes / 1024).toFixed(0)} KiB`.padEnd(10);
    const times = `${median.toFixed(0)} ms, longest ${longest.toFixed(0)} ms`.padEnd(28);
    const rest = `others ${others.toFixed(0)} ms, memory ${grown.toFixed(1)} MiB`;
    process.stdout.write(`${what.padEnd(24)}${size}${times}${rest}\n`);
  }
}

async function onControlPlane<T>(
  measure: (cp: ControlPlane, client: Client) => Promise<T>,
): Promise<T> {
  const cp = await startControlPlane({
    prepare: applyCrds,
    onProgress: ({ message }) => process.stderr.write(`${message}\n`),
  });
  const client = createClient({ credentials: await loadCredentials(cp.kubeconfig, process.env) });
  try {
    return await measure(cp, client);
  } finally {
    await client.close();
    await cp.stop();
  }
}

/**
 * The least that it can take: the same objects, applied in a bare loop, and what then makes them
 * run.
 */
async function measureFloor(_cp: ControlPlane, client: Client) {
  const all = Array.from({ length: sites }, (_, index) => siteObjects(NAMESPACE, index));
  const objects = all.reduce((sum, { length }) => sum + length, 0);
  await client.apply(
    resourcePath(PersistentVolumeClaim, NAMESPACE, `${BENCH_NAME}-sites`),
    sitesVolume,
    'floor',
  );
  const jobs = untilCount(
    client,
    { path: '/apis/batch/v1/namespaces/default/jobs', passes: hasSucceeded, timeoutMs },
    sites,
  );
  const start = performance.now();
  const pending = all.entries();
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      for (const [, children] of pending) {
        await Promise.all(children.map((object) => client.apply(pathOf(object), object, 'floor')));
      }
    }),
  );
  const applied = (performance.now() - start) / 1000;
  await jobs;
  await untilCount(client, { path: DEPLOYMENTS, passes: isAvailable, timeoutMs }, sites * 4);
  return { objects, applied, ready: (performance.now() - start) / 1000 };
}

async function measureOperator(cp: ControlPlane, client: Client) {
  let operator = await OperatorProcess.start({
    kubeconfig: cp.kubeconfig,
    logFile: process.env['BENCHMARK_LOG'],
  });
  await client.apply(`${API}/appbenchs/${BENCH_NAME}`, aBench(NAMESPACE), 'benchmark');
  await untilCount(client, { path: `${API}/appbenchs`, passes: isReady, timeoutMs: 60_000 }, 1);
  await sleep(2_000);
  const before = await operator.usage();

  const start = performance.now();
  const allReady = untilCount(
    client,
    { path: `${API}/appsites`, passes: isReady, timeoutMs },
    sites,
  );
  const pending = Array.from({ length: sites }, (_, index) => index).values();
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      for (const index of pending) {
        await client.apply(
          `${API}/appsites/${siteName(index)}`,
          aSite(NAMESPACE, index),
          'benchmark',
        );
      }
    }),
  );
  await allReady;
  const ready = (performance.now() - start) / 1000;
  await sleep(10_000);
  const created = usageBetween(before, await operator.usage());

  const quietStart = await operator.usage();
  await sleep(Number(values.quiet) * 1000);
  const quiet = usageBetween(quietStart, await operator.usage());
  const latencies = await measureLatency(client, 2, (name) => patchGunicorn(client, name, 2));
  await untilCount(client, { path: `${API}/appsites`, passes: isReady, timeoutMs }, sites);
  await sleep(10_000);
  const peak = await operator.peakMemory();
  await operator.stop();

  operator = await OperatorProcess.start({
    kubeconfig: cp.kubeconfig,
    logFile: process.env['BENCHMARK_LOG'],
  });
  await sleep(10_000);
  const restart = await operator.usage();
  await operator.stop();
  const bareLatencies = await measureLatency(client, 3, async (name) => {
    await patchGunicorn(client, name, 3);
    const scaled = { apiVersion: 'apps/v1', kind: 'Deployment', spec: { replicas: 3 } };
    const metadata = { name: `${name}-gunicorn` };
    await client.apply(`${DEPLOYMENTS}/${metadata.name}`, { ...scaled, metadata }, 'floor');
  });
  return { ready, created, quiet, latencies, bareLatencies, peak, restart };
}

async function patchGunicorn(client: Client, name: string, gunicorn: number): Promise<void> {
  await client.request('PATCH', `${API}/appsites/${name}`, {
    contentType: MERGE_PATCH,
    body: { spec: { componentReplicas: { gunicorn } } },
  });
}

interface DeploymentState {
  readonly spec?: { readonly replicas?: number };
  readonly status?: { readonly readyReplicas?: number };
}

/**
 * Milliseconds from sending a change to the event of the child with so many replicas, site by site;
 * sorted.
 */
async function measureLatency(
  client: Client,
  replicas: number,
  change: (name: string) => Promise<void>,
): Promise<readonly number[]> {
  const latencies: number[] = [];
  const samples = Math.min(Number(values.samples), sites);
  for (let index = 0; index < samples; index++) {
    const name = siteName(index);
    const stop = new AbortController();
    const query = { fieldSelector: `metadata.name=${name}-gunicorn` };
    const events = client.watch(DEPLOYMENTS, query, { signal: stop.signal, idleTimeoutMs: 30_000 });
    let patchedAt = 0;
    let isPatched = false;
    for await (const { object } of events) {
      const { spec, status } = object as DeploymentState;
      if (patchedAt === 0) {
        patchedAt = performance.now();
        void change(name);
      } else if (!isPatched && spec?.replicas === replicas) {
        latencies.push(performance.now() - patchedAt);
        isPatched = true;
      }
      // The new pods are not to disturb the next sample.
      if (isPatched && status?.readyReplicas === replicas) break;
    }
    stop.abort();
  }
  return latencies.sort((a, b) => a - b);
}

function usageBetween(a: Usage, b: Usage): Usage {
  const verbs = [...new Set([...Object.keys(a.calls), ...Object.keys(b.calls)])].sort();
  const calls = verbs.map((verb) => [verb, (b.calls[verb] ?? 0) - (a.calls[verb] ?? 0)] as const);
  return { cpu: b.cpu - a.cpu, calls: Object.fromEntries(calls.filter(([, count]) => count > 0)) };
}

interface Results extends Awaited<ReturnType<typeof measureOperator>> {
  readonly floor: Awaited<ReturnType<typeof measureFloor>> | undefined;
}

function print({
  floor,
  ready,
  created,
  quiet,
  latencies,
  bareLatencies,
  peak,
  restart,
}: Results): void {
  const children = siteObjects(NAMESPACE, 0).length;
  const total = Object.values(created.calls).reduce((sum, count) => sum + count, 0);
  const perVerb = Object.entries(created.calls).map(
    ([verb, n]) => `${verb} ${(n / sites).toFixed(2)}`,
  );
  const quietCalls = Object.entries(quiet.calls).map(([verb, n]) => `${verb} ${n}`);
  const writes = ['apply', 'create', 'update', 'patch', 'delete'].map(
    (verb) => restart.calls[verb] ?? 0,
  );
  const rows: [string, string, string][] = [
    ['sites, children of each', `${sites}, ${children}`, ''],
    ...(floor
      ? ([
          [
            'floor: apply, then all running',
            `${floor.applied.toFixed(1)} s, ${floor.ready.toFixed(1)} s`,
            '',
          ],
          [
            'create → all Ready',
            `${ready.toFixed(1)} s = ${(ready / floor.ready).toFixed(2)} × floor`,
            '≤ 1.3 ×',
          ],
        ] as [string, string, string][])
      : ([['create → all Ready', `${ready.toFixed(1)} s`, '']] as [string, string, string][])),
    ['calls a site', `${(total / sites).toFixed(2)} (${perVerb.join(', ')})`, `≤ ${children + 4}`],
    ['CPU per applied object', `${((created.cpu * 1000) / (sites * children)).toFixed(2)} ms`, ''],
    ['CPU of a core while creating', `${((100 * created.cpu) / (ready + 10)).toFixed(0)} %`, ''],
    ['peak memory', `${peak.toFixed(0)} MiB`, '≤ 180 MiB'],
    [`calls in ${values.quiet} quiet seconds`, quietCalls.join(', ') || '0', '0'],
    [
      'CPU of a core, quiet',
      `${((100 * quiet.cpu) / Number(values.quiet)).toFixed(2)} %`,
      '< 0.5 %',
    ],
    ['spec change → child patched, p50', `${percentile(latencies, 0.5)} ms`, ''],
    ['spec change → child patched, p99', `${percentile(latencies, 0.99)} ms`, '≤ 100 ms'],
    [
      'the same two writes by a bare client, p50, p99',
      `${percentile(bareLatencies, 0.5)} ms, ${percentile(bareLatencies, 0.99)} ms`,
      '',
    ],
    ['writes after a restart', String(writes.reduce((a, b) => a + b, 0)), '0'],
    ['synth of one site', `${synthTime().toFixed(2)} ms`, '≤ 2 ms'],
  ];
  printTable(rows);
}

function printDocuments({ users, jobs, ready, batch, changed, quietCalls }: DocumentFigures): void {
  printTable([
    ['users of one site, Jobs', `${users}, ${jobs.all}`, '≤ 10 Jobs'],
    [
      'create → all Ready',
      `${ready.toFixed(1)} s = ${(ready / batch).toFixed(2)} × one batch`,
      '≤ 3 ×',
    ],
    ['one changed field: Jobs, time', `${jobs.changed}, ${changed.toFixed(1)} s`, '1 Job'],
    [`calls in ${values.quiet} quiet seconds`, String(quietCalls), '0'],
  ]);
}

function printTable(rows: readonly (readonly string[])[]): void {
  for (const row of [['what', 'measured', 'aim'], ['---', '---', '---'], ...rows]) {
    process.stdout.write(`| ${row.join(' | ')} |\n`);
  }
}

function percentile(sorted: readonly number[], share: number): string {
  return (sorted[Math.ceil(sorted.length * share) - 1] ?? NaN).toFixed(0);
}

function pathOf(object: KubeObject): string {
  const plurals: Readonly<Record<string, string>> = {
    Secret: 'secrets',
    Service: 'services',
    Job: 'jobs',
    Deployment: 'deployments',
  };
  const { apiVersion, kind, metadata } = object;
  const plural = plurals[kind] ?? '';
  return resourcePath({ apiVersion, kind, plural }, NAMESPACE, metadata.name);
}
