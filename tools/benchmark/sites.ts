import { mkdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { MERGE_PATCH, type Client } from '../../runner/api/client.js';
import type { ControlPlane } from '../../testbed/controlplane/controlplane.js';
import { OperatorProcess, type Usage } from '../../testbed/operator-process.js';
import { type BareLoop, CONCURRENCY, runBareLoop } from './bare-loop.js';
import { hasSucceeded, isAvailable, isReady, untilCount } from './ready.js';
import { aBench, aSite, BENCH_NAME, siteName, siteObjects } from './workload.js';

const NAMESPACE = 'default';
const API = '/apis/app-operator.io/v1alpha1/namespaces/default';
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
const JOBS = '/apis/batch/v1/namespaces/default/jobs';
/** How long writes may follow after all are Ready, such as a postponed status. */
const SETTLE_MS = 10_000;

export interface SitesOptions {
  readonly sites: number;
  /** How long nothing happens before the calls of that time are counted. */
  readonly quietSeconds: number;
  /** How many specs are changed, one after the other. */
  readonly samples: number;
  /** Folder for the operator's CPU profile, which then ends when all sites are Ready. */
  readonly profile?: string | undefined;
  readonly nodeFlags?: readonly string[] | undefined;
}

/** The bare loop, and what it then takes until all runs. */
export interface Floor extends BareLoop {
  /** Seconds from the first apply until all Jobs have succeeded and all Deployments are available. */
  readonly ready: number;
}

export interface Creation {
  readonly sites: number;
  /** Children of each site. */
  readonly children: number;
  /** Seconds until all sites are Ready. */
  readonly ready: number;
  /** From the first apply until nothing is written any more. */
  readonly created: Usage;
}

/** What was measured of an operator with many sites. Figures are computed from it: see figures.ts. */
export interface SitesMeasurement extends Creation {
  readonly quietSeconds: number;
  readonly quiet: Usage;
  /** Of all changes of a spec. */
  readonly changes: Usage;
  /** Milliseconds from a change of a spec until the child is patched, sorted. */
  readonly latencies: readonly number[];
  /** The same two writes by a bare client. */
  readonly bareLatencies: readonly number[];
  /** MiB. */
  readonly peakMemory: number;
  /** Seconds from the start of a process until its caches are filled, with all sites. */
  readonly synced: number;
  readonly restart: Usage;
}

/** The least that it can take: the same objects in a bare loop, and what then makes them run. */
export async function measureFloor(
  cp: ControlPlane,
  client: Client,
  sites: number,
): Promise<Floor> {
  const timeoutMs = timeoutFor(sites);
  const jobs = untilCount(client, { path: JOBS, passes: hasSucceeded, timeoutMs }, sites);
  const deployments = untilCount(
    client,
    { path: DEPLOYMENTS, passes: isAvailable, timeoutMs },
    sites * siteObjects(NAMESPACE, 0).filter(({ kind }) => kind === 'Deployment').length,
  );
  const begun = performance.now();
  const loop = await runBareLoop(cp.kubeconfig, sites, NAMESPACE);
  // The loop's process starts and synthesizes before its time begins.
  const before = (performance.now() - begun) / 1000 - loop.seconds;
  await Promise.all([jobs, deployments]);
  return { ...loop, ready: (performance.now() - begun) / 1000 - before };
}

/** Creates sites, and measures the operator until they are Ready, at rest, and when they change. */
export async function measureSites(
  cp: ControlPlane,
  client: Client,
  options: SitesOptions,
): Promise<SitesMeasurement> {
  const { sites, quietSeconds } = options;
  const { operator, ...creation } = await createSites(cp, client, options);

  const quietStart = await operator.usage();
  await sleep(quietSeconds * 1000);
  const quiet = usageBetween(quietStart, await operator.usage());
  const samples = Math.min(options.samples, sites);
  const change = (name: string): Promise<void> => patchGunicorn(client, name, 2);
  const changesStart = await operator.usage();
  const latencies = await measureLatency(client, { samples, replicas: 2, change });
  await untilReady(client, sites);
  await sleep(SETTLE_MS);
  const changes = usageBetween(changesStart, await operator.usage());
  const peakMemory = await operator.peakMemory();
  await operator.stop();

  const start = performance.now();
  const restarted = await startOperator(cp, options);
  const synced = (performance.now() - start) / 1000;
  await sleep(SETTLE_MS);
  const restart = await restarted.usage();
  await restarted.stop();
  const bareLatencies = await measureLatency(client, {
    samples,
    replicas: 3,
    change: async (name) => {
      await patchGunicorn(client, name, 3);
      const scaled = { apiVersion: 'apps/v1', kind: 'Deployment', spec: { replicas: 3 } };
      const metadata = { name: `${name}-gunicorn` };
      await client.apply(`${DEPLOYMENTS}/${metadata.name}`, { ...scaled, metadata }, 'floor');
    },
  });
  const at = { quietSeconds, quiet, changes, latencies, bareLatencies, peakMemory };
  return { ...creation, ...at, synced, restart };
}

/** Writes a CPU profile of an operator that creates sites. */
export async function profileSites(
  cp: ControlPlane,
  client: Client,
  options: SitesOptions & { readonly profile: string },
): Promise<Creation> {
  await mkdir(options.profile, { recursive: true });
  const { operator, ...creation } = await createSites(cp, client, options);
  await operator.stop();
  return creation;
}

/** Creates a bench, then sites, and waits until nothing is written any more. */
async function createSites(
  cp: ControlPlane,
  client: Client,
  options: SitesOptions,
): Promise<Creation & { readonly operator: OperatorProcess }> {
  const { sites } = options;
  const operator = await startOperator(cp, options);
  await client.apply(`${API}/appbenchs/${BENCH_NAME}`, aBench(NAMESPACE), 'benchmark');
  const bench = { path: `${API}/appbenchs`, passes: isReady, timeoutMs: 60_000 };
  await untilCount(client, bench, 1);
  await sleep(2_000);
  const before = await operator.usage();
  const start = performance.now();
  const allReady = untilReady(client, sites);
  const pending = Array.from({ length: sites }, (_, index) => index).values();
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      for (const index of pending) {
        const path = `${API}/appsites/${siteName(index)}`;
        await client.apply(path, aSite(NAMESPACE, index), 'benchmark');
      }
    }),
  );
  await allReady;
  const ready = (performance.now() - start) / 1000;
  await sleep(SETTLE_MS);
  const created = usageBetween(before, await operator.usage());
  return { operator, sites, children: siteObjects(NAMESPACE, 0).length, ready, created };
}

function startOperator(cp: ControlPlane, { profile, nodeFlags = [] }: SitesOptions) {
  const profiling = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
  return OperatorProcess.start({
    kubeconfig: cp.kubeconfig,
    logFile: process.env['BENCHMARK_LOG'],
    nodeFlags: [...nodeFlags, ...profiling],
    countAllocations: profile === undefined,
  });
}

function untilReady(client: Client, sites: number): Promise<void> {
  const timeoutMs = timeoutFor(sites);
  return untilCount(client, { path: `${API}/appsites`, passes: isReady, timeoutMs }, sites);
}

function timeoutFor(sites: number): number {
  return 60_000 + sites * 1_000;
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

interface LatencyProps {
  readonly samples: number;
  readonly replicas: number;
  readonly change: (name: string) => Promise<void>;
}

/**
 * Milliseconds from sending a change to the event of the child with so many replicas, site by site;
 * sorted.
 */
async function measureLatency(
  client: Client,
  { samples, replicas, change }: LatencyProps,
): Promise<readonly number[]> {
  const latencies: number[] = [];
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
  return {
    cpu: b.cpu - a.cpu,
    calls: Object.fromEntries(calls.filter(([, count]) => count > 0)),
    synthesized: b.synthesized - a.synthesized,
    allocated: b.allocated - a.allocated,
  };
}
