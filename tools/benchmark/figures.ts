import type { Usage } from '../../testbed/operator-process.js';
import type { Creation, Floor, SitesMeasurement } from './sites.js';

const MIB = 1024 * 1024;
const WRITES = ['apply', 'create', 'update', 'patch', 'delete'];

/** All that a run has measured. */
export interface Measured extends SitesMeasurement {
  /** Undefined if the run leaves it out. */
  readonly floor?: Floor | undefined;
  /** Milliseconds. */
  readonly synth: number;
}

/** One figure: the one place that defines it. */
export interface Figure {
  /** Its name in expected.json, where a run compares it. */
  readonly name?: string;
  readonly what: (measured: Measured) => string;
  /** Undefined where the run has not measured it. */
  readonly value: (measured: Measured) => number | undefined;
  /** @default the value */
  readonly text?: (measured: Measured) => string;
  readonly aim?: string;
  /**
   * For a figure that does not depend on the machine: by which share of the expected value it may
   * differ.
   */
  readonly tolerance?: number;
}

/** In the order of the table. */
export const FIGURES: readonly Figure[] = [
  {
    what: () => 'sites, children of each',
    value: ({ sites }) => sites,
    text: ({ sites, children }) => `${sites}, ${children}`,
  },
  {
    what: () => 'floor: apply, then all running',
    value: ({ floor }) => floor?.ready,
    text: ({ floor }) => `${fixed(floor?.seconds, 1)} s, ${fixed(floor?.ready, 1)} s`,
  },
  {
    what: () => 'create → all Ready',
    value: ({ ready }) => ready,
    text: ({ ready, floor }) =>
      `${fixed(ready, 1)} s${floor ? ` = ${fixed(ready / floor.ready, 2)} × floor` : ''}`,
    aim: '≤ 1.12 ×',
  },
  {
    name: 'callsPerSite',
    what: () => 'calls a site',
    value: ({ created, sites }) => callsOf(created) / sites,
    text: ({ created, sites }) => {
      const verbs = Object.entries(created.calls).map(
        ([verb, n]) => `${verb} ${fixed(n / sites, 2)}`,
      );
      return `${fixed(callsOf(created) / sites, 2)} (${verbs.join(', ')})`;
    },
    aim: '≤ 13',
    tolerance: 0.05,
  },
  {
    name: 'passesPerSite',
    what: () => 'reconciles a site',
    value: ({ created, sites }) => passesOf(created) / sites,
    text: ({ created, sites }) => fixed(passesOf(created) / sites, 2),
    aim: '≤ 6',
    tolerance: 0.3,
  },
  {
    what: () => 'their causes, from 0.05 a site on',
    value: ({ created }) => passesOf(created),
    text: ({ created, sites }) => {
      const causes = Object.entries(created.passes).map(
        ([cause, n]) => [cause, n / sites] as const,
      );
      const shown = causes.filter(([, n]) => n >= 0.05).sort(([, a], [, b]) => b - a);
      return shown.map(([cause, n]) => `${cause} ${fixed(n, 2)}`).join(', ');
    },
  },
  {
    what: () => 'CPU of the bare loop per applied object',
    value: barePerObject,
    text: (measured) => `${fixed(barePerObject(measured), 2)} ms`,
  },
  {
    what: () => 'CPU per applied object',
    value: cpuPerObject,
    text: (measured) => {
      const bare = barePerObject(measured);
      const ratio =
        bare === undefined ? '' : ` = ${fixed(cpuPerObject(measured) / bare, 2)} × bare loop`;
      return `${fixed(cpuPerObject(measured), 2)} ms${ratio}`;
    },
    aim: '≤ 2.3 ×',
  },
  {
    what: () => 'CPU of a core while creating',
    value: ({ created, ready }) => (100 * created.cpu) / (ready + 10),
    text: ({ created, ready }) => `${fixed((100 * created.cpu) / (ready + 10), 0)} %`,
  },
  {
    name: 'allocatedPerSite',
    what: () => 'allocated a site',
    value: ({ created, sites }) => Math.round(created.allocated / sites),
    text: ({ created, sites }) => `${fixed(created.allocated / sites / MIB, 2)} MiB`,
    tolerance: 0.1,
  },
  {
    what: () => 'objects synthesized a site',
    value: ({ created, sites }) => created.synthesized / sites,
    text: ({ created, sites }) => fixed(created.synthesized / sites, 1),
  },
  {
    what: () => 'peak memory',
    value: ({ peakMemory }) => peakMemory,
    text: ({ peakMemory }) => `${fixed(peakMemory, 0)} MiB`,
    aim: '≤ 155 MiB',
  },
  {
    what: ({ quietSeconds }) => `calls in ${quietSeconds} quiet seconds`,
    value: ({ quiet }) => callsOf(quiet),
    text: ({ quiet }) =>
      Object.entries(quiet.calls)
        .map(([verb, n]) => `${verb} ${n}`)
        .join(', ') || '0',
    aim: '0',
  },
  {
    name: 'quietWrites',
    what: ({ quietSeconds }) => `writes in ${quietSeconds} quiet seconds`,
    value: ({ quiet }) => writesOf(quiet),
    aim: '0',
    tolerance: 0,
  },
  {
    what: () => 'CPU of a core, quiet',
    value: ({ quiet, quietSeconds }) => (100 * quiet.cpu) / quietSeconds,
    text: ({ quiet, quietSeconds }) => `${fixed((100 * quiet.cpu) / quietSeconds, 2)} %`,
    aim: '< 0.5 %',
  },
  {
    what: () => 'spec change → child patched, p50, p99',
    value: ({ latencies }) => percentile(latencies, 0.99),
    text: ({ latencies }) =>
      `${fixed(percentile(latencies, 0.5), 0)} ms, ${fixed(percentile(latencies, 0.99), 0)} ms`,
    aim: 'p99 ≤ 100 ms',
  },
  {
    what: () => 'the same two writes by a bare client, p50, p99',
    value: ({ bareLatencies }) =>
      bareLatencies.length === 0 ? undefined : percentile(bareLatencies, 0.99),
    text: ({ bareLatencies }) =>
      `${fixed(percentile(bareLatencies, 0.5), 0)} ms, ${fixed(percentile(bareLatencies, 0.99), 0)} ms`,
  },
  {
    what: () => 'CPU of one spec change',
    value: ({ changes, latencies }) => (1000 * changes.cpu) / latencies.length,
    text: ({ changes, latencies }) => `${fixed((1000 * changes.cpu) / latencies.length, 1)} ms`,
    aim: '≤ 8 ms',
  },
  {
    name: 'synthesizedPerChange',
    what: () => 'objects synthesized for one spec change',
    value: ({ changes, latencies }) => changes.synthesized / latencies.length,
    tolerance: 0,
  },
  {
    what: () => 'process start → caches filled',
    value: ({ synced }) => synced,
    text: ({ synced }) => `${fixed(synced, 2)} s`,
    aim: '≤ 2 s',
  },
  {
    name: 'restartWrites',
    what: () => 'writes after a restart',
    value: ({ restart }) => writesOf(restart),
    aim: '0',
    tolerance: 0,
  },
  {
    what: () => 'synth of one site',
    value: ({ synth }) => synth,
    text: ({ synth }) => `${fixed(synth, 2)} ms`,
    aim: '≤ 2 ms',
  },
];

/** The rows of the table: what, measured, aim. */
export function rowsOf(measured: Measured): readonly (readonly [string, string, string])[] {
  return FIGURES.filter(({ value }) => value(measured) !== undefined).map(
    ({ what, value, text, aim = '' }) => [
      what(measured),
      text ? text(measured) : String(value(measured)),
      aim,
    ],
  );
}

export function cpuPerObject({ created, sites, children }: Creation): number {
  return (1000 * created.cpu) / (sites * children);
}

function barePerObject({ bare, floor }: Measured): number | undefined {
  const loop = bare ?? floor;
  return loop && (1000 * loop.cpu) / loop.objects;
}

export function callsOf({ calls }: Usage): number {
  return Object.values(calls).reduce((sum, count) => sum + count, 0);
}

function passesOf({ passes }: Usage): number {
  return Object.values(passes).reduce((sum, count) => sum + count, 0);
}

export function writesOf({ calls }: Usage): number {
  return WRITES.reduce((sum, verb) => sum + (calls[verb] ?? 0), 0);
}

export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.ceil(sorted.length * share) - 1] ?? NaN;
}

function fixed(value: number | undefined, digits: number): string {
  return (value ?? NaN).toFixed(digits);
}
