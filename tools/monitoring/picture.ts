/**
 * Draws the dashboard from the answers of a running Prometheus, for the README: there is no Grafana to take a picture of
 * where it is built.
 *
 *     node dist/lib/tools/monitoring/picture.js http://127.0.0.1:9090 dashboard.svg [minutes]
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { projectRoot } from '../../testbed/root.js';
import { type Box, chart, label, type Line, stat, type Step, table } from './svg.js';

const COLUMN = 60;
const UNIT = 30;
const GAP = 8;
/** Points of a line, at most. */
const POINTS = 120;

interface Panel {
  readonly type: string;
  readonly title: string;
  readonly gridPos: {
    readonly x: number;
    readonly y: number;
    readonly w: number;
    readonly h: number;
  };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
  readonly fieldConfig?: {
    readonly defaults: {
      readonly unit: string;
      readonly thresholds: { readonly steps: readonly Step[] };
      readonly custom?: { readonly stacking: { readonly mode: string } };
    };
  };
}

interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly value?: readonly [number, string];
  readonly values?: readonly (readonly [number, string])[];
}

/** @returns the dashboard as SVG, with the last minutes of what Prometheus knows */
export async function picture(prometheus: string, minutes: number): Promise<string> {
  const file = join(projectRoot(), 'dist/monitoring/grafana-dashboard.json');
  const { title, panels } = JSON.parse(readFileSync(file, 'utf8')) as {
    readonly title: string;
    readonly panels: readonly Panel[];
  };
  const to = Date.now() / 1000;
  const from = to - minutes * 60;
  const ask = async (path: string, parameters: Readonly<Record<string, string>>) => {
    const url = `${prometheus}/api/v1/${path}?${new URLSearchParams(parameters).toString()}`;
    const answer = (await (await fetch(url)).json()) as { status: string; error?: string; data?: { result: readonly Series[] } }; // prettier-ignore
    if (!answer.data) throw new Error(`${parameters['query'] ?? path}: ${answer.error ?? answer.status}`); // prettier-ignore
    return answer.data.result;
  };
  const parts: string[] = [];
  for (const panel of panels) {
    parts.push(await draw(panel, { from, to, ask }));
  }
  const rows = Math.max(...panels.map(({ gridPos }) => gridPos.y + gridPos.h));
  const [width, height] = [24 * COLUMN + GAP, rows * UNIT + 84];
  const caption = `Drawn by tools/monitoring from the dashboard's file and the answers of a real Prometheus; Grafana draws it in its own way.`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="Inter, Helvetica, Arial, sans-serif">`,
    `<rect width="${width}" height="${height}" fill="#111217"/>`,
    label(GAP + 4, 30, title, 'font-size="20" font-weight="600"'),
    ...parts,
    label(GAP + 4, height - 14, caption, 'font-size="12" opacity="0.7"'),
    '</svg>\n',
  ].join('\n');
}

interface Source {
  readonly from: number;
  readonly to: number;
  readonly ask: (
    path: string,
    parameters: Readonly<Record<string, string>>,
  ) => Promise<readonly Series[]>;
}

async function draw(panel: Panel, { from, to, ask }: Source): Promise<string> {
  const { x, y, w, h } = panel.gridPos;
  const box: Box = {
    x: x * COLUMN + GAP,
    y: y * UNIT + 44,
    width: w * COLUMN - GAP,
    height: h * UNIT - GAP,
  };
  if (panel.type === 'row') return label(box.x + 4, box.y + 18, panel.title, 'font-size="15"');
  const { unit = 'none', thresholds, custom } = panel.fieldConfig?.defaults ?? {};
  const steps = thresholds?.steps ?? [];
  const targets = (panel.targets ?? []).map(({ expr, legendFormat }) => ({
    query: expr.replaceAll(/\$(namespace|bench)/g, '.*'),
    legendFormat,
  }));
  if (panel.type !== 'timeseries') {
    const found = await Promise.all(targets.map(({ query }) => ask('query', { query })));
    const series = found.flat();
    if (panel.type === 'stat') {
      return stat(box, panel.title, Number(series[0]?.value?.[1] ?? NaN), unit, steps);
    }
    return table(box, panel.title, series.map(({ metric }) => Object.entries(metric).filter(([key]) => !key.startsWith('__')).map((pair) => pair.join(': ')).join('    '))); // prettier-ignore
  }
  const step = String(Math.max(1, Math.round((to - from) / POINTS)));
  const lines: Line[] = [];
  for (const { query, legendFormat } of targets) {
    const range = { query, start: String(from), end: String(to), step };
    for (const { metric, values = [] } of await ask('query_range', range)) {
      const name = legendFormat.replaceAll(/\{\{(\w+)\}\}/g, (_, key: string) => metric[key] ?? '');
      const points = values
        .map(([time, value]) => [time, Number(value)] as const)
        .filter(([, value]) => Number.isFinite(value));
      if (points.length > 0) lines.push({ name: name.trim(), points });
    }
  }
  const stacked = custom?.stacking.mode === 'normal';
  return chart(box, { title: panel.title, unit, stacked, steps, from, to }, lines);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [prometheus, out, minutes = '15'] = process.argv.slice(2);
  if (!prometheus || !out)
    throw new Error('usage: picture.js <URL of Prometheus> <file.svg> [minutes]');
  writeFileSync(out, await picture(prometheus, Number(minutes)));
}
