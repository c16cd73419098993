import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

import { cpuSecondsOf } from '../../../testbed/process-usage.js';
import type { Live } from '../../cluster/support/objects.js';
import { containersOf, idOf, processesOf } from './container-processes.js';

/** What the processes of a workload's containers use. */
export interface Usage {
  /** MiB of RAM, with the share of each page that processes have in common (PSS). */
  readonly memory: number;
  /** Share of one CPU, 0 to 1. */
  readonly cpu: number;
}

interface Sample {
  readonly memory: number;
  readonly cpuSeconds: number;
}

/** What pods use in some seconds without requests, by their label `app`. */
export async function idleUsage(
  pods: readonly Live[],
  idleSeconds: number,
): Promise<ReadonlyMap<string, Usage>> {
  const before = await sampled(pods);
  await sleep(idleSeconds * 1000);
  const after = await sampled(pods);
  return new Map(
    [...after].map(([app, { memory, cpuSeconds }]) => {
      const used = cpuSeconds - (before.get(app)?.cpuSeconds ?? 0);
      // A process that has ended meanwhile takes its time with it.
      return [app, { memory, cpu: Math.max(0, used) / idleSeconds }];
    }),
  );
}

/** The sum of what workloads use. @throws Error where one of them has no process */
export function totalOf(usage: ReadonlyMap<string, Usage>, apps: readonly string[]): Usage {
  return apps
    .map((app) => {
      const one = usage.get(app);
      if (!one || one.memory === 0) throw new Error(`${app}: no process found`);
      return one;
    })
    .reduce((a, b) => ({ memory: a.memory + b.memory, cpu: a.cpu + b.cpu }));
}

async function sampled(pods: readonly Live[]): Promise<ReadonlyMap<string, Sample>> {
  const apps = new Map(
    pods.flatMap((pod) =>
      containersOf(pod).flatMap((container) => {
        const id = idOf(container);
        return id === undefined ? [] : [[id, appOf(pod)] as const];
      }),
    ),
  );
  const samples = new Map<string, Sample>();
  for (const [process, id] of await processesOf([...apps.keys()])) {
    const app = apps.get(id);
    const sample = await sampleOf(process);
    if (app === undefined || !sample) continue;
    const { memory, cpuSeconds } = samples.get(app) ?? { memory: 0, cpuSeconds: 0 };
    samples.set(app, {
      memory: memory + sample.memory,
      cpuSeconds: cpuSeconds + sample.cpuSeconds,
    });
  }
  return samples;
}

/** Undefined for a process that has ended. */
async function sampleOf(id: number): Promise<Sample | undefined> {
  try {
    const [rollup, cpuSeconds] = await Promise.all([
      readFile(`/proc/${id}/smaps_rollup`, 'utf8'),
      cpuSecondsOf(id),
    ]);
    const memory = Number(/^Pss:\s+(\d+) kB$/m.exec(rollup)?.[1] ?? 0) / 1024;
    return { memory, cpuSeconds };
  } catch {
    return undefined;
  }
}

function appOf({ metadata: { labels, name } }: Live): string {
  return labels?.['app'] ?? name;
}
