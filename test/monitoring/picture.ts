/** Runs the operator with a real Prometheus for some minutes, and draws the dashboard of that run. */
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

import {
  dashboardFile,
  dashboardPicture,
  drawnPanels,
  type GrafanaPanel,
  type Series,
} from '../../tools/pictures/dashboard.js';
import { BENCH, startStack } from './stack.js';

const MINUTES = 4;
const POINTS = 60;
const NAMESPACE = 'shop';
const QUEUES = { short: 30, default: 12, long: 4 } as const;

interface Range {
  readonly metric: Readonly<Record<string, string>>;
  readonly values: readonly (readonly [time: number, value: string])[];
}

const stack = await startStack('1s', NAMESPACE);
try {
  const end = Date.now() + MINUTES * 60_000;
  await fillAndEmpty(end);
  const panels = drawnPanels();
  const answers: Record<string, readonly Series[]> = {};
  for (const panel of panels) answers[panel.title] = await answersOf(panel, end / 1_000);
  writeFileSync(dashboardFile(), dashboardPicture({ panels, answers, minutes: MINUTES }));
} finally {
  await stack.stop();
}

/** Queues fill for the first half, and are worked off in the second. */
async function fillAndEmpty(end: number): Promise<void> {
  const steps = 24;
  const begun = Date.now();
  for (let step = 1; step <= steps; step++) {
    for (const [queue, most] of Object.entries(QUEUES)) {
      const key = `rq:queue:${stack.namespace}.${BENCH}:${queue}`;
      const wanted = Math.round(most * (1 - Math.abs((2 * step) / steps - 1)));
      stack.redis('DEL', key);
      if (wanted > 0)
        stack.redis('RPUSH', key, ...Array.from({ length: wanted }, (_, i) => `${i}`));
    }
    if (step === steps / 2)
      stack.redis('ZADD', `rq:failed:${stack.namespace}.${BENCH}:short`, '1', 'job-x');
    await sleep(Math.max(0, begun + ((end - begun) * step) / steps - Date.now()));
  }
}

/** The lines of a panel, with the names that its servers have in a cluster. */
async function answersOf(panel: GrafanaPanel, end: number): Promise<readonly Series[]> {
  const found = await Promise.all(
    (panel.targets ?? []).map(async ({ expr, legendFormat }) => {
      const ranges = await rangesOf(expr.replaceAll(/\$(namespace|bench)/g, '.*'), end);
      const ours = ranges.filter(({ metric }) => metric['namespace'] !== stack.liar);
      return ours.map(({ metric, values }) => {
        const labels = withClusterNames(metric);
        return { legend: legendOf(legendFormat, labels), labels, values: onAxis(values, end) };
      });
    }),
  );
  const lines = found.flat();
  // A table, or a number, says what is now.
  if (panel.type === 'timeseries') return lines;
  return lines
    .filter(({ values }) => values.at(-1) !== null)
    .map((one) => ({ ...one, values: one.values.slice(-1) }));
}

async function rangesOf(query: string, end: number): Promise<readonly Range[]> {
  const [start, step] = [String(end - MINUTES * 60), String((MINUTES * 60) / POINTS)];
  const { result } = await stack.api<{ readonly result: readonly Range[] }>('query_range', {
    ...{ query, start, step, end: String(end) },
  });
  return result;
}

function onAxis(values: Range['values'], end: number): readonly (number | null)[] {
  const step = (MINUTES * 60) / POINTS;
  return Array.from({ length: POINTS + 1 }, (_, i) => {
    const time = end - (POINTS - i) * step;
    const found = values.find(([at]) => Math.abs(at - time) < step / 2);
    return found ? Number(Number(found[1]).toPrecision(4)) : null;
  });
}

function withClusterNames(metric: Range['metric']): Range['metric'] {
  const [mariadb] = stack.databases;
  const { server } = metric;
  if (server === undefined) return metric;
  const isMariadb = server.endsWith(`:${mariadb.port}`);
  return { ...metric, server: isMariadb ? `${BENCH}-db:3306` : 'books-db:5432' };
}

function legendOf(format: string, labels: Range['metric']): string {
  const text = format.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => labels[name] ?? '');
  return text.replaceAll(/ +/g, ' ').trim();
}
