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
