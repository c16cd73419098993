import { percentile, writesOf, callsOf } from '../figures.js';
import type { FleetMeasurement } from './measure.js';

interface FleetFigure {
  readonly what: string;
  readonly text: (measured: FleetMeasurement) => string;
  readonly aim?: (shards: number) => string;
}

const FIGURES: readonly FleetFigure[] = [
  {
    what: 'process start → caches filled',
    text: ({ synced }) => `${synced.toFixed(1)} s`,
    aim: () => '≤ 60 s',
  },
  { what: 'CPU until then', text: ({ syncCpu }) => `${syncCpu.toFixed(1)} s` },
  { what: 'CPU until all are reconciled', text: ({ start }) => `${start.cpu.toFixed(1)} s` },
  {
    what: 'the same, a site',
    text: ({ start, sites }) => `${((1000 * start.cpu) / sites).toFixed(1)} ms`,
  },
  { what: 'writes after the start', text: ({ start }) => String(writesOf(start)), aim: () => '0' },
  {
    what: 'peak memory until all are reconciled',
    text: ({ startPeak }) => `${startPeak.toFixed(0)} MiB`,
    aim: (shards) => (shards > 1 ? '≤ 250 MiB each' : '≤ 600 MiB'),
  },
  { what: 'memory at rest', text: ({ memory }) => `${memory.toFixed(0)} MiB` },
  { what: 'peak memory after all changes', text: ({ peak }) => `${peak.toFixed(0)} MiB` },
  {
    what: 'calls in the quiet time',
    text: ({ quiet }) => String(callsOf(quiet)),
    aim: (shards) => (shards > 1 ? 'Leases only' : '0'),
  },
  {
    what: 'site changed → child patched, p50, p99',
    text: ({ latencies }) =>
      [0.5, 0.99].map((share) => `${percentile(latencies, share).toFixed(0)} ms`).join(', '),
    aim: () => 'p99 ≤ 250 ms',
  },
  {
    what: 'CPU of one change',
    text: ({ changes, latencies }) => `${((1000 * changes.cpu) / latencies.length).toFixed(1)} ms`,
  },
  {
    what: 'bench changed → all its sites patched',
    text: ({ benchChange }) => `${benchChange.sites} sites, ${benchChange.seconds.toFixed(1)} s`,
    aim: () => '≤ 30 s',
  },
  {
    what: "another bench's site meanwhile, longest",
    text: ({ benchChange: { others } }) =>
      others.length === 0 ? '' : `${(Math.max(...others) / 1000).toFixed(2)} s`,
    aim: () => '≤ 5 s more',
  },
  {
    what: 'CPU of it, a site',
    text: ({ benchChange: { usage, sites } }) => `${((1000 * usage.cpu) / sites).toFixed(1)} ms`,
  },
];

/** The head and the rows of a table with a column for each size of the fleet. */
export function fleetTable(
  measured: readonly FleetMeasurement[],
  shards: number,
): readonly (readonly string[])[] {
  const head = ['sites', ...measured.map(({ sites }) => sites.toLocaleString('en')), 'aim'];
  const rows = FIGURES.map(({ what, text, aim = () => '' }) => [
    what,
    ...measured.map(text),
    aim(shards),
  ]);
  return [head, ...rows];
}

/** What a site costs, in a unit of its own. */
const COSTS: readonly {
  readonly what: string;
  readonly unit: string;
  readonly of: (measured: FleetMeasurement) => number;
}[] = [
  {
    what: 'CPU of the start, a site',
    unit: 'ms',
    of: ({ start, sites }) => (1000 * start.cpu) / sites,
  },
  {
    what: 'CPU of one change',
    unit: 'ms',
    of: ({ changes, latencies }) => (1000 * changes.cpu) / latencies.length,
  },
  {
    what: 'site changed → child patched, p50',
    unit: 'ms',
    of: ({ latencies }) => percentile(latencies, 0.5),
  },
  {
    what: "CPU of a bench's change, a site",
    unit: 'ms',
    of: ({ benchChange: { usage, sites } }) => (1000 * usage.cpu) / sites,
  },
];
const BAR = 40;

/** What a site costs in fleets of each size, as bars. */
export function fleetPlot(measured: readonly FleetMeasurement[]): readonly string[] {
  return COSTS.flatMap(({ what, unit, of }) => {
    const costs = measured.map(of);
    const most = Math.max(...costs);
    const bars = costs.map((cost, index) => {
      const sites = (measured[index]?.sites ?? 0).toLocaleString('en').padStart(8);
      const bar = '█'.repeat(Math.max(1, Math.round((BAR * cost) / most))).padEnd(BAR);
      return `${sites} ${bar} ${cost.toFixed(1)} ${unit}`;
    });
    return [`${what}:`, ...bars];
  });
}
