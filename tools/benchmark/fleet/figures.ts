import { percentile, writesOf, callsOf } from '../figures.js';
import type { FleetMeasurement } from './measure.js';

/** What a site costs, drawn as bars under this title. */
interface Cost {
  readonly title: string;
  /** Milliseconds. */
  readonly of: (measured: FleetMeasurement) => number;
}

interface FleetFigure {
  readonly what: string;
  readonly cost?: Cost;
  /** @default the cost */
  readonly text?: (measured: FleetMeasurement) => string;
  readonly aim?: string;
}

const FIGURES: readonly FleetFigure[] = [
  {
    what: 'process start → caches filled',
    text: ({ synced }) => `${synced.toFixed(1)} s`,
    aim: '≤ 60 s',
  },
  { what: 'CPU until then', text: ({ syncCpu }) => `${syncCpu.toFixed(1)} s` },
  { what: 'CPU until all are reconciled', text: ({ start }) => `${start.cpu.toFixed(1)} s` },
  {
    what: 'the same, a site',
    cost: {
      title: 'CPU of the start, a site',
      of: ({ start, sites }) => (1000 * start.cpu) / sites,
    },
  },
  {
    what: 'writes after the start',
    text: ({ start }) => String(writesOf(start)),
    aim: '0',
  },
  {
    what: 'peak memory until all are reconciled',
    text: ({ startPeak }) => `${startPeak.toFixed(0)} MiB`,
    aim: '≤ 600 MiB',
  },
  { what: 'memory at rest', text: ({ memory }) => `${memory.toFixed(0)} MiB` },
  { what: 'peak memory after all changes', text: ({ peak }) => `${peak.toFixed(0)} MiB` },
  {
    what: 'calls in the quiet time',
    text: ({ quiet }) => String(callsOf(quiet)),
    aim: '0',
  },
  {
    what: 'site changed → child patched, p50, p99',
    cost: {
      title: 'site changed → child patched, p50',
      of: ({ latencies }) => percentile(latencies, 0.5),
    },
    text: ({ latencies }) =>
      [0.5, 0.99].map((share) => `${percentile(latencies, share).toFixed(0)} ms`).join(', '),
    aim: 'p99 ≤ 250 ms',
  },
  {
    what: 'CPU of one change',
    cost: {
      title: 'CPU of one change',
      of: ({ changes, latencies }) => (1000 * changes.cpu) / latencies.length,
    },
  },
  {
    what: 'bench changed → all its sites patched',
    text: ({ benchChange }) => `${benchChange.sites} sites, ${benchChange.seconds.toFixed(1)} s`,
    aim: '≤ 30 s',
  },
  {
    what: "another bench's site meanwhile, longest",
    text: ({ benchChange: { others } }) =>
      others.length === 0 ? '' : `${(Math.max(...others) / 1000).toFixed(2)} s`,
    aim: '≤ 5 s more',
  },
  {
    what: 'CPU of it, a site',
    cost: {
      title: "CPU of a bench's change, a site",
      of: ({ benchChange: { usage, sites } }) => (1000 * usage.cpu) / sites,
    },
  },
];

/** The head and the rows of a table with a column for each size of the fleet. */
export function fleetTable(measured: readonly FleetMeasurement[]): readonly (readonly string[])[] {
  const head = ['sites', ...measured.map(({ sites }) => sites.toLocaleString('en')), 'aim'];
  const rows = FIGURES.map(({ what, cost, text = milliseconds(cost), aim = '' }) => [
    what,
    ...measured.map(text),
    aim,
  ]);
  return [head, ...rows];
}

const BAR = 40;

/** What a site costs in fleets of each size, as bars. */
export function fleetPlot(measured: readonly FleetMeasurement[]): readonly string[] {
  return FIGURES.flatMap(({ cost }) => (cost ? barsOf(cost, measured) : []));
}

function barsOf(cost: Cost, measured: readonly FleetMeasurement[]): readonly string[] {
  const most = Math.max(...measured.map(cost.of));
  const bars = measured.map((one) => {
    const sites = one.sites.toLocaleString('en').padStart(8);
    const length = Math.max(1, Math.round((BAR * cost.of(one)) / most));
    return `${sites} ${'█'.repeat(length).padEnd(BAR)} ${milliseconds(cost)(one)}`;
  });
  return [`${cost.title}:`, ...bars];
}

function milliseconds(cost: Cost | undefined): (measured: FleetMeasurement) => string {
  return (measured) => (cost ? `${cost.of(measured).toFixed(1)} ms` : '');
}
