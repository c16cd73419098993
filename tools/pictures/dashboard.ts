/** Draws panels of the dashboard with what Prometheus answered: without Grafana, in its dark colours. */
import path from 'node:path';

import { dashboard, PHASE_COLOURS } from '../../constructs/monitoring/dashboard.js';
import { projectRoot } from '../../testbed/project-root.js';
import { escaped, metadataIn } from './terminal.js';

const CELL = { width: 40, height: 34 };
const COLOURS: Readonly<Record<string, string>> = {
  green: '#73bf69',
  'light-green': '#b5e3a8',
  blue: '#6ea8ff',
  purple: '#ca95e5',
  yellow: '#f2cc0c',
  orange: '#ff9830',
  red: '#ff7383',
  text: '#ccccdc',
};
/** Of lines without a colour of their own, in their order. */
const PALETTE = ['#73bf69', '#f2cc0c', '#6ea8ff', '#ff9830', '#ff7383', '#ca95e5'];
const INK = { page: '#111217', panel: '#181b1f', border: '#3a3f46', grid: '#2c3235' };
const TEXT = { strong: '#e6e6ee', weak: '#a9a9b8' };

interface Target {
  readonly expr: string;
  readonly legendFormat: string;
}
interface Threshold {
  readonly color: string;
  readonly value: number | null;
}
/** A part of a panel of Grafana's JSON. */
export interface GrafanaPanel {
  readonly type: 'row' | 'stat' | 'table' | 'timeseries';
  readonly title: string;
  readonly gridPos: {
    readonly h: number;
    readonly w: number;
    readonly x: number;
    readonly y: number;
  };
  readonly targets?: readonly Target[];
  readonly fieldConfig?: {
    readonly defaults: {
      readonly unit: string;
      readonly thresholds: { readonly steps: readonly Threshold[] };
      readonly custom?: { readonly stacking: { readonly mode: string } };
    };
  };
}
/** A line of an answer. */
export interface Series {
  readonly legend: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Evenly in time; null where there was none. */
  readonly values: readonly (number | null)[];
}
/** What a run has shown: panels, and the lines of each. */
export interface Recorded {
  readonly panels: readonly GrafanaPanel[];
  readonly answers: Readonly<Record<string, readonly Series[]>>;
  /** How long the time axis is. */
  readonly minutes: number;
}
interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export const dashboardFile = (): string => path.join(projectRoot(), 'docs/pictures/dashboard.svg');

/** The panels for those who look; those of the operator's own work are not drawn. */
export function drawnPanels(): readonly GrafanaPanel[] {
  const { panels } = JSON.parse(JSON.stringify(dashboard())) as { panels: readonly GrafanaPanel[] };
  const rows = panels.filter(({ type }) => type === 'row');
  const end = rows[2]?.gridPos.y ?? Infinity;
  return panels.filter(({ gridPos }) => gridPos.y < end);
}

export function dashboardPicture(recorded: Recorded): string {
  const { panels } = recorded;
  const width = 24 * CELL.width + 8;
  const height = Math.max(...panels.map(({ gridPos: { y, h } }) => y + h)) * CELL.height + 8;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="Inter,Helvetica,Arial,sans-serif">`,
    `<metadata>${escaped(JSON.stringify(recorded))}</metadata>`,
    `<rect width="100%" height="100%" rx="8" fill="${INK.page}"/>`,
    ...panels.map((panel) => drawn(panel, recorded)),
    '</svg>\n',
  ].join('\n');
}

/** @returns why a picture is not of the dashboard of today, or undefined */
export function staleDashboard(svg: string): string | undefined {
  const recorded = JSON.parse(metadataIn(svg)) as Recorded;
  if (JSON.stringify(recorded.panels) !== JSON.stringify(drawnPanels()))
    return 'it has other panels';
  return dashboardPicture(recorded) === svg ? undefined : 'it is drawn in another way';
}

function drawn(panel: GrafanaPanel, { answers, minutes }: Recorded): string {
  const { gridPos, title, type } = panel;
  const x = gridPos.x * CELL.width + 8;
  const y = gridPos.y * CELL.height + 8;
  if (type === 'row') return text(x + 4, y + 20, title, { size: 18, weight: 600 });
  const [width, height] = [gridPos.w * CELL.width - 8, gridPos.h * CELL.height - 8];
  const box = { x: x + 12, y: y + 34, width: width - 24, height: height - 46 };
  const series = answers[title] ?? [];
  const content = {
    stat: () => stat(box, panel, series),
    table: () => table(box, series),
    timeseries: () => graph(box, panel, series, minutes),
  }[type];
  return [
    `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="4" fill="${INK.panel}" stroke="${INK.border}"/>`,
    text(x + 12, y + 23, title, { size: 15, weight: 600 }),
    series.length > 0
      ? content()
      : text(box.x + box.width / 2, box.y + box.height / 2, 'No data', {
          anchor: 'middle',
          colour: TEXT.weak,
        }),
  ].join('');
}

function stat(
  { x, y, width, height }: Box,
  panel: GrafanaPanel,
  [first]: readonly Series[],
): string {
  const value = first?.values.findLast((each) => each !== null) ?? 0;
  const steps = panel.fieldConfig?.defaults.thresholds.steps ?? [];
  const { color = 'green' } = steps.findLast((step) => (step.value ?? -Infinity) <= value) ?? {};
  const fill = COLOURS[color] ?? COLOURS['text'];
  return [
    `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="3" fill="${fill}"/>`,
    text(x + width / 2, y + height / 2 + 14, short(value), {
      size: 40,
      anchor: 'middle',
      colour: INK.page,
    }),
  ].join('');
}

function table({ x, y, width }: Box, series: readonly Series[]): string {
  const columns = [...new Set(series.flatMap(({ labels }) => Object.keys(labels)))];
  const at = (column: number): number => x + (width * column) / columns.length;
  const head = columns.map((name, i) =>
    text(at(i), y + 14, name, { colour: COLOURS['blue'], weight: 600 }),
  );
  const cells = series.flatMap(({ labels }, row) =>
    columns.map((name, i) => {
      const value = labels[name] ?? '';
      const colour = name === 'phase' ? colourOf(value, 0) : TEXT.strong;
      return text(at(i), y + 38 + row * 22, value, { colour });
    }),
  );
  return [...head, ...cells].join('');
}

function graph(box: Box, panel: GrafanaPanel, series: readonly Series[], minutes: number): string {
  const { unit = 'none', custom } = panel.fieldConfig?.defaults ?? {};
  const stacked = custom?.stacking.mode === 'normal';
  const legend = legendOf(box, series);
  const plot = {
    x: box.x + 44,
    y: box.y,
    width: box.width - 44,
    height: box.height - 22 - legend.height,
  };
  const lines = stacked ? stackedValues(series) : series.map(({ values }) => values);
  const top = ceiling(Math.max(0, ...lines.flat().map((value) => value ?? 0)), unit);
  const points = (values: readonly (number | null)[]): readonly string[] =>
    values.flatMap((value, i) => {
      if (value === null) return [];
      const across = plot.x + (plot.width * i) / Math.max(1, values.length - 1);
      return [`${across.toFixed(1)},${(plot.y + plot.height * (1 - value / top)).toFixed(1)}`];
    });
  const ticks = [0, 0.5, 1].map((share) => {
    const y = plot.y + plot.height * (1 - share);
    return `<path d="M${plot.x} ${y}h${plot.width}" stroke="${INK.grid}"/>${text(plot.x - 6, y + 4, labelled(top * share, unit), { size: 12, anchor: 'end', colour: TEXT.weak })}`;
  });
  const drawnLines = lines.map((values, i) => {
    const colour = colourOf(series[i]?.legend ?? '', i);
    return `<polyline points="${points(values).join(' ')}" fill="none" stroke="${colour}" stroke-width="2"/>`;
  });
  const times = [`−${minutes} min`, 'now'].map((label, i) =>
    text(plot.x + i * plot.width, plot.y + plot.height + 16, label, {
      size: 12,
      anchor: i === 0 ? 'start' : 'end',
      colour: TEXT.weak,
    }),
  );
  return [...ticks, ...drawnLines, ...times, legend.svg].join('');
}

/** One line of the legend for each two series. */
function legendOf(
  { x, y, width, height }: Box,
  series: readonly Series[],
): { height: number; svg: string } {
  const rows = Math.ceil(series.length / 2);
  const svg = series.map(({ legend }, i) => {
    const [left, top] = [
      x + ((i % 2) * width) / 2,
      y + height - (rows - Math.floor(i / 2) - 1) * 18,
    ];
    return `<rect x="${left}" y="${top - 7}" width="14" height="4" fill="${colourOf(legend, i)}"/>${text(left + 20, top, legend, { size: 12 })}`;
  });
  return { height: rows * 18, svg: svg.join('') };
}

function stackedValues(series: readonly Series[]): readonly (readonly (number | null)[])[] {
  return series.map((one, index) =>
    one.values.map((_, i) =>
      series.slice(0, index + 1).reduce((sum, { values }) => sum + (values[i] ?? 0), 0),
    ),
  );
}

/** The end of the axis: whole numbers, an hour, all connections. */
function ceiling(value: number, unit: string): number {
  if (unit === 'percentunit') return 1;
  const step = unit === 's' ? 3_600 : 2;
  return Math.max(step, Math.ceil(value / step) * step);
}

function labelled(value: number, unit: string): string {
  if (unit === 'percentunit') return `${Math.round(value * 100)}%`;
  return unit === 's' ? `${short(value / 60)} min` : short(value);
}

function short(value: number): string {
  return String(Math.round(value * 100) / 100);
}

function colourOf(legend: string, index: number): string {
  const named = COLOURS[PHASE_COLOURS[legend] ?? ''];
  return named ?? PALETTE[index % PALETTE.length] ?? TEXT.strong;
}

interface TextOptions {
  readonly size?: number;
  readonly weight?: number;
  readonly anchor?: 'start' | 'middle' | 'end';
  readonly colour?: string | undefined;
}

function text(x: number, y: number, words: string, options: TextOptions = {}): string {
  const { size = 14, weight = 400, anchor = 'start', colour = TEXT.strong } = options;
  return `<text x="${x}" y="${y}" font-size="${size}" font-weight="${weight}" text-anchor="${anchor}" fill="${colour}">${escaped(words)}</text>`;
}
