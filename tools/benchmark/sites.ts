import { mkdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { MERGE_PATCH, type Client } from '../../runner/api/client.js';
import type { ControlPlane } from '../../testbed/controlplane/controlplane.js';
import { type Portion, type RunStep, waitSeconds } from '../../testbed/controlplane/progress.js';
import { OperatorProcess, type Usage, usageBetween } from '../../testbed/operator-process.js';
import { type BareLoop, CONCURRENCY, runBareLoop } from './bare-loop.js';
import { hasSucceeded, isAvailable, isReady, untilCount } from './ready.js';
import { aBench, aSite, BENCH_NAME, siteName, siteObjects } from './workload.js';

const NAMESPACE = 'default';
const API = '/apis/app-operator.io/v1alpha1/namespaces/default';
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
const JOBS = '/apis/batch/v1/namespaces/default/jobs';
export interface SitesOptions {
  readonly sites: number;
  /** How long nothing happens before the calls of that time are counted. */
  readonly quietSeconds: number;
  /** How many specs are changed, one after the other. */
  readonly samples: number;
  /** Folder for the operator's CPU profile, which then ends when all sites are Ready. */
  readonly profile?: string | undefined;
  readonly nodeFlags?: readonly string[] | undefined;
  /** How long writes may follow after all are Ready, such as a postponed status. */
  readonly settleSeconds: number;
  /** For a quick run: the bare loop follows on the same control plane, its changes are left out. */
  readonly quick: boolean;
  /** Whether the floor applies the Deployments of a site when its Job has succeeded. */
  readonly floorInOrder: boolean;
  readonly step: RunStep;
}

/** The steps of `measureSites`, and of `measureFloor`. */
export const STEPS = { sites: 6, floor: 1, profile: 2 } as const;
/** Namespace of the bare loop beside an operator. */
const BARE = 'bare';

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
  /** The same two writes by a bare client; none in a quick run. */
  readonly bareLatencies: readonly number[];
  /** Undefined where the floor has measured it. */
  readonly bare: BareLoop | undefined;
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
  options: SitesOptions,
): Promise<Floor> {
  const { sites, step } = options;
  return step('applying the objects of all sites in a bare loop', async (advance) => {
    const timeoutMs = timeoutFor(sites);
    const onCount = (done: number): void => advance({ done, total: sites, unit: 'sites' });
    const jobs = untilCount(
      client,
      { path: JOBS, passes: hasSucceeded, timeoutMs, onCount },
      sites,
    );
    const deployments = untilCount(
      client,
      { path: DEPLOYMENTS, passes: isAvailable, timeoutMs },
      sites * siteObjects(NAMESPACE, 0).filter(({ kind }) => kind === 'Deployment').length,
    );
    return timedLoop(cp, options, Promise.all([jobs, deployments]));
  });
}

async function timedLoop(
  cp: ControlPlane,
  { sites, floorInOrder: inOrder }: SitesOptions,
  running: Promise<unknown>,
): Promise<Floor> {
  const begun = performance.now();
  const loop = await runBareLoop(cp.kubeconfig, { sites, namespace: NAMESPACE, inOrder });
  // The loop's process starts and synthesizes before its time begins.
  const before = (performance.now() - begun) / 1000 - loop.seconds;
  await running;
  return { ...loop, ready: (performance.now() - begun) / 1000 - before };
}

/** Creates sites, and measures the operator until they are Ready, at rest, and when they change. */
export async function measureSites(
  cp: ControlPlane,
  client: Client,
  options: SitesOptions,
): Promise<SitesMeasurement> {
  const { sites, quietSeconds, settleSeconds, quick, step } = options;
  const { operator, ...creation } = await createSites(cp, client, options);

  const quiet = await step('waiting without a change', async (advance) => {
    const before = await operator.usage();
    await waitSeconds(quietSeconds, advance);
    return usageBetween(before, await operator.usage());
  });
  const samples = Math.min(options.samples, sites);
  const { latencies, changes } = await step('changing specs', async (advance) => {
    const before = await operator.usage();
    const change = (name: string): Promise<void> => patchGunicorn(client, name, 2);
    const found = await measureLatency(client, { samples, replicas: 2, change, advance });
    await untilReady(client, sites);
    await sleep(settleSeconds * 1000);
    return { latencies: found, changes: usageBetween(before, await operator.usage()) };
  });
  const peakMemory = await operator.peakMemory();
  await operator.stop();

  const { synced, restart } = await step('restarting the operator', async (advance) => {
    const start = performance.now();
    const restarted = await startOperator(cp, options);
    const seconds = (performance.now() - start) / 1000;
    await waitSeconds(settleSeconds, advance);
    const usage = await restarted.usage();
    await restarted.stop();
    return { synced: seconds, restart: usage };
  });
  const { bareLatencies = [], bare } = quick
    ? {
        bare: await step('applying the objects in a bare loop', () => runBeside(cp, client, sites)),
      }
    : {
        bareLatencies: await step('changing specs with a bare client', (advance) =>
          measureBareLatency(client, samples, advance),
        ),
      };
  const at = { quietSeconds, quiet, changes, latencies, bareLatencies, peakMemory, bare };
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

type Created = Creation & { readonly operator: OperatorProcess };

/** Creates a bench, then sites, and waits until nothing is written any more. */
async function createSites(
  cp: ControlPlane,
  client: Client,
  options: SitesOptions,
): Promise<Created> {
  const { sites, settleSeconds, step } = options;
  const operator = await step('starting the operator and a bench', () =>
    startWithBench(cp, client, options),
  );
  const before = await operator.usage();
  const ready = await step('creating sites', async (advance) => {
    const start = performance.now();
    const allReady = untilReady(client, sites, (done) => {
      advance({ done, total: sites, unit: 'sites' });
    });
    await applySites(client, sites);
    await allReady;
    return (performance.now() - start) / 1000;
  });
  await sleep(settleSeconds * 1000);
  const created = usageBetween(before, await operator.usage());
  return { operator, sites, children: siteObjects(NAMESPACE, 0).length, ready, created };
}

async function startWithBench(
  cp: ControlPlane,
  client: Client,
  options: SitesOptions,
): Promise<OperatorProcess> {
  const operator = await startOperator(cp, options);
  await client.apply(`${API}/appbenchs/${BENCH_NAME}`, aBench(NAMESPACE), 'benchmark');
  const bench = { path: `${API}/appbenchs`, passes: isReady, timeoutMs: 60_000 };
  await untilCount(client, bench, 1);
  await sleep(2_000);
  return operator;
}

async function applySites(client: Client, sites: number): Promise<void> {
  const pending = Array.from({ length: sites }, (_, index) => index).values();
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      for (const index of pending) {
        const path = `${API}/appsites/${siteName(index)}`;
        await client.apply(path, aSite(NAMESPACE, index), 'benchmark');
      }
    }),
  );
}

/** The bare loop in a namespace of its own, beside the sites. */
async function runBeside(cp: ControlPlane, client: Client, sites: number): Promise<BareLoop> {
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: BARE } };
  await client.apply(`/api/v1/namespaces/${BARE}`, namespace, 'benchmark');
  return runBareLoop(cp.kubeconfig, { sites, namespace: BARE, inOrder: false });
}

function measureBareLatency(
  client: Client,
  samples: number,
  advance: LatencyProps['advance'],
): Promise<readonly number[]> {
  const change = async (name: string): Promise<void> => {
    await patchGunicorn(client, name, 3);
    const scaled = { apiVersion: 'apps/v1', kind: 'Deployment', spec: { replicas: 3 } };
    const metadata = { name: `${name}-gunicorn` };
    await client.apply(`${DEPLOYMENTS}/${metadata.name}`, { ...scaled, metadata }, 'floor');
  };
  return measureLatency(client, { samples, replicas: 3, change, advance });
}

function startOperator(cp: ControlPlane, { profile, nodeFlags = [] }: SitesOptions) {
  const profiling = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
  return OperatorProcess.start({
    kubeconfig: cp.kubeconfig,
    logFile: process.env['BENCHMARK_LOG'],
    nodeFlags: [...nodeFlags, ...profiling],
    countAllocations: profile === undefined,
    fromModules: profile !== undefined,
  });
}

function untilReady(
  client: Client,
  sites: number,
  onCount?: (count: number) => void,
): Promise<void> {
  const timeoutMs = timeoutFor(sites);
  return untilCount(
    client,
    { path: `${API}/appsites`, passes: isReady, timeoutMs, onCount },
    sites,
  );
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
  readonly advance: (portion: Portion) => void;
}

/**
 * Milliseconds from sending a change to the event of the child with so many replicas, site by site;
 * sorted.
 */
async function measureLatency(
  client: Client,
  { samples, replicas, change, advance }: LatencyProps,
): Promise<readonly number[]> {
  const latencies: number[] = [];
  for (let index = 0; index < samples; index++) {
    advance({ done: index, total: samples, unit: 'changes' });
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
