import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '../../../constructs/kit/object.js';
import { MERGE_PATCH } from '../../../runner/api/client.js';
import { type RunStep, waitSeconds } from '../../../testbed/controlplane/progress.js';
import {
  type OperatorProcess,
  type Usage,
  usageBetween,
} from '../../../testbed/operator-process.js';
import {
  benchName,
  type FleetShape,
  type FleetSite,
  namespaceOfBench,
  pathOf,
  siteAt,
  sitesOfBench,
} from './objects.js';
import { atRest, startOperator } from './rest.js';
import type { Fleet } from './seed.js';

const DEPLOYMENTS = '/apis/apps/v1/deployments';
/** The longest wait for one changed child. */
const TIMEOUT_MS = 120_000;

export interface MeasureOptions extends FleetShape {
  readonly sites: number;
  readonly quietSeconds: number;
  readonly samples: number;
  readonly nodeFlags: readonly string[];
  readonly step: RunStep;
}

/** The steps of `measureFleet`. */
export const FLEET_STEPS = 4;

/** What was measured of a fleet at rest, with one operator. */
export interface FleetMeasurement {
  readonly sites: number;
  /** Seconds from the start of the processes until all caches are filled. */
  readonly synced: number;
  /** Seconds of CPU until then. */
  readonly syncCpu: number;
  /** From the start until all resources are reconciled. */
  readonly start: Usage;
  /** MiB, of the largest process, until all resources are reconciled. */
  readonly startPeak: number;
  /** MiB, of the largest process, after the quiet time. */
  readonly memory: number;
  /** MiB, of the largest process, at the end. */
  readonly peak: number;
  readonly quiet: Usage;
  /** Of all changes of a site. */
  readonly changes: Usage;
  /** Milliseconds from a change of a site until its child is patched, sorted. */
  readonly latencies: readonly number[];
  readonly benchChange: BenchChange;
}

/** A change of a bench that all of its sites take over. */
export interface BenchChange {
  readonly sites: number;
  /** Seconds until the children of all sites are patched. */
  readonly seconds: number;
  readonly usage: Usage;
  /** Milliseconds of changes of other benches' sites meanwhile, in the same namespace and in another. */
  readonly others: readonly number[];
}

/** Starts the operator on a fleet at rest, and measures it. */
export async function measureFleet(
  fleet: Fleet,
  options: MeasureOptions,
): Promise<FleetMeasurement> {
  const { quietSeconds, samples, step, sites } = options;
  const began = performance.now();
  const [operator, synced, syncCpu] = await step('starting the operator', async () => {
    const { nodeFlags } = options;
    const { kubeconfig } = fleet.cp;
    const started = await startOperator({ kubeconfig, nodeFlags });
    const seconds = (performance.now() - began) / 1000;
    const { cpu } = await started.usage();
    await atRest(started);
    return [started, seconds, cpu] as const;
  });
  try {
    const start = await operator.usage();
    const startPeak = await operator.peakMemory();
    const quiet = await step('waiting without a change', async (advance) => {
      await waitSeconds(quietSeconds, advance);
      return usageBetween(start, await operator.usage());
    });
    const memory = await operator.memory();
    const { latencies, changes } = await step('changing sites', async (advance) => {
      const before = await operator.usage();
      const found: number[] = [];
      for (let done = 0; done < samples; done++) {
        advance({ done, total: samples, unit: 'changes' });
        // Spread over the whole fleet.
        const index = Math.floor((done * sites) / samples) % sites;
        found.push(await changeSite(fleet, siteAt(index, options)));
      }
      await atRest(operator);
      const after = await operator.usage();
      return { latencies: found.sort((a, b) => a - b), changes: usageBetween(before, after) };
    });
    const benchChange = await step('changing a bench', () =>
      measureBenchChange(fleet, operator, options),
    );
    const peak = await operator.peakMemory();
    return {
      ...{ sites, synced, syncCpu, start, startPeak, memory, peak, quiet, changes, latencies },
      benchChange,
    };
  } finally {
    await operator.stop();
  }
}

async function measureBenchChange(
  fleet: Fleet,
  operator: OperatorProcess,
  { sites, ...shape }: MeasureOptions,
): Promise<BenchChange> {
  const before = await operator.usage();
  const names = sitesOfBench(0, sites, shape).map((index) => siteAt(index, shape).name);
  const patched = childrenPatched(fleet, names);
  const begun = performance.now();
  await changeBench(fleet, 0);
  const others: number[] = [];
  const done = new AbortController();
  const ended = (): boolean => done.signal.aborted;
  const sampling = (async () => {
    for (let turn = 0; !ended(); turn++) {
      // Benches of the same namespace and of the last one, by turns.
      const bench = turn % 2 === 0 ? Math.min(1, shape.benches - 1) : shape.benches - 1;
      const of = sitesOfBench(bench, sites, shape);
      others.push(await changeSite(fleet, siteAt(of[turn % of.length] ?? 0, shape)));
    }
  })();
  await patched;
  const seconds = (performance.now() - begun) / 1000;
  done.abort();
  await sampling;
  await atRest(operator);
  const usage = usageBetween(before, await operator.usage());
  return { sites: names.length, seconds, usage, others };
}

/** Settles with the first change of the gunicorn Deployments of all these sites. */
async function childrenPatched({ statuses }: Fleet, sites: readonly string[]): Promise<void> {
  const missing = new Set(sites.map(childName));
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => {
    reject(new Error(`${missing.size} of ${sites.length} sites not patched`));
  }, TIMEOUT_MS);
  const end = statuses.listen((path, { metadata }) => {
    if (path !== DEPLOYMENTS) return;
    missing.delete(metadata.name);
    if (missing.size === 0) resolve(undefined);
  });
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    end();
  }
}

interface WithReplicas extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly componentReplicas?: { readonly gunicorn?: number };
    readonly gunicorn?: { readonly threads?: number };
  };
}

/** @returns milliseconds until the child is patched */
async function changeSite({ client, statuses }: Fleet, site: FleetSite): Promise<number> {
  const { spec } = await client.request<WithReplicas>('GET', pathOf(site));
  const gunicorn = spec?.componentReplicas?.gunicorn === 2 ? 3 : 2;
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const name = childName(site.name);
  const end = statuses.listen((path, object) => {
    if (path !== DEPLOYMENTS || object.metadata.name !== name) return;
    if ((object as WithReplicas).spec?.replicas === gunicorn) resolve(performance.now());
  });
  const timer = setTimeout(() => {
    reject(new Error(`${site.name}: its child was not patched`));
  }, TIMEOUT_MS);
  try {
    const begun = performance.now();
    await client.request('PATCH', pathOf(site), {
      contentType: MERGE_PATCH,
      body: { spec: { componentReplicas: { gunicorn } } },
    });
    return (await promise) - begun;
  } finally {
    clearTimeout(timer);
    end();
    // Its status is not to disturb the next sample.
    await sleep(50);
  }
}

async function changeBench({ client }: Fleet, bench: number): Promise<void> {
  const path = `/apis/app-operator.io/v1alpha1/namespaces/${namespaceOfBench(bench)}/appbenchs/${benchName(bench)}`;
  const { spec } = await client.request<WithReplicas>('GET', path);
  const threads = spec?.gunicorn?.threads === 5 ? 6 : 5;
  await client.request('PATCH', path, {
    contentType: MERGE_PATCH,
    body: { spec: { gunicorn: { threads } } },
  });
}

function childName(site: string): string {
  return `${site}-gunicorn`;
}
