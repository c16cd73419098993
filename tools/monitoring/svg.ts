/** Panels of a dashboard as SVG: enough to see what they show, not a copy of Grafana. */

/** A line of a panel: points in time, oldest first. */
export interface Line {
  readonly name: string;
  readonly points: readonly (readonly [seconds: number, value: number])[];
}

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Step {
  readonly color: string;
  readonly value: number | null;
}

const COLORS = [
  '#73bf69',
  '#5794f2',
  '#f2cc0c',
  '#ff780a',
  '#b877d9',
  '#f2495c',
  '#8ab8ff',
  '#96d98d',
];
const NAMED: Readonly<Record<string, string>> = {
  green: '#37872d',
  yellow: '#e0b400',
  red: '#c4162a',
};
const TEXT = '#d8d9da';
const DIM = '#8e8e8e';

const escape = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

export function label(x: number, y: number, text: string, attributes = ''): string {
  return `<text x="${x}" y="${y}" fill="${TEXT}" ${attributes}>${escape(text)}</text>`;
}

export function frame({ x, y, width, height }: Box, title: string): string {
  return (
    `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="3" fill="#181b1f" stroke="#2c3235"/>` +
    label(x + 10, y + 19, title, 'font-size="13" font-weight="600"')
  );
}

/** A number in the words of Grafana's units. */
export function worded(value: number, unit: string): string {
  const short = (number: number): string =>
    Math.abs(number) >= 100 || Number.isInteger(number) ? number.toFixed(0) : number.toPrecision(2);
  switch (unit) {
    case 'percentunit':
      return `${short(value * 100)}%`;
    case 'bytes':
      return `${(value / 1024 / 1024).toFixed(0)} MiB`;
    case 's':
      return value >= 600 ? `${short(value / 60)} min` : value < 1 ? `${short(value * 1000)} ms` : `${short(value)} s`; // prettier-ignore
    case 'reqps':
      return `${short(value)}/s`;
    default:
      return short(value);
  }
}

/** A number on the colour of the last threshold that it has reached. */
export function stat(
  box: Box,
  title: string,
  value: number,
  unit: string,
  steps: readonly Step[],
): string {
  // prettier-ignore
  const reached = steps.filter((step) => step.value === null || value >= step.value).at(-1);
  const { x, y, width, height } = box;
  const color = NAMED[reached?.color ?? ''] ?? '#181b1f';
  return (
    frame(box, title) +
    `<rect x="${x + 8}" y="${y + 28}" width="${width - 16}" height="${height - 36}" rx="3" fill="${color}"/>` +
    label(x + width / 2, y + height / 2 + 26, worded(value, unit), 'font-size="38" text-anchor="middle"') // prettier-ignore
  );
}

export function table(box: Box, title: string, rows: readonly string[]): string {
  const shown = rows.length > 0 ? rows : ['none'];
  const room = Math.floor((box.height - 34) / 18);
  return (
    frame(box, title) +
    shown
      .slice(0, room)
      .map((row, n) => label(box.x + 12, box.y + 44 + n * 18, row, 'font-size="12"'))
      .join('')
  );
}

export interface Chart {
  readonly title: string;
  readonly unit: string;
  readonly stacked: boolean;
  readonly steps: readonly Step[];
  readonly from: number;
  readonly to: number;
}

/** Lines over time, or areas on top of each other. */
export function chart(
  box: Box,
  { title, unit, stacked, steps, from, to }: Chart,
  lines: readonly Line[],
): string {
  // prettier-ignore
  const plot = { x: box.x + 56, y: box.y + 30, width: box.width - 70, height: box.height - 80 };
  if (lines.length === 0) {
    return frame(box, title) + label(box.x + box.width / 2, box.y + box.height / 2, 'No data', `text-anchor="middle" font-size="13" opacity="0.6"`); // prettier-ignore
  }
  const drawn = stacked ? heaped(lines) : lines.map((line) => ({ ...line, base: undefined }));
  const most = Math.max(...drawn.flatMap(({ points }) => points.map(([, value]) => value)));
  const limits = steps.flatMap(({ value }) => (value === null ? [] : [value]));
  const near = limits.filter((limit) => limit <= most * 3);
  const top = Math.max(most, ...near, 0) * 1.1 || 1;
  const px = (time: number): string => (plot.x + ((time - from) / (to - from)) * plot.width).toFixed(1); // prettier-ignore
  const py = (value: number): string => (plot.y + plot.height * (1 - value / top)).toFixed(1);
  const path = (points: Line['points']): string => points.map(([t, v]) => `${px(t)},${py(v)}`).join(' '); // prettier-ignore
  const grid = [0, 0.5, 1].map((share) => {
    const value = (top * share) / 1.1;
    return `<line x1="${plot.x}" x2="${plot.x + plot.width}" y1="${py(value)}" y2="${py(value)}" stroke="#2c3235"/><text x="${plot.x - 6}" y="${Number(py(value)) + 4}" fill="${DIM}" font-size="10" text-anchor="end">${worded(value, unit)}</text>`;
  });
  const marks = [from, (from + to) / 2, to].map(
    (time, n) =>
      `<text x="${px(time)}" y="${plot.y + plot.height + 14}" fill="${DIM}" font-size="10" text-anchor="${['start', 'middle', 'end'][n] ?? ''}">${new Date(time * 1000).toISOString().slice(11, 19)}</text>`,
  );
  const limitLines = steps.map(({ color, value }) =>
    value === null || value > top
      ? ''
      : `<line x1="${plot.x}" x2="${plot.x + plot.width}" y1="${py(value)}" y2="${py(value)}" stroke="${NAMED[color] ?? color}" stroke-dasharray="6 4"/>`,
  );
  const shapes = drawn.map(({ points, base }, n) => {
    const color = COLORS[n % COLORS.length] ?? TEXT;
    const floor = base ?? points.map(([time]) => [time, 0] as const);
    const area = `${path(points)} ${path([...floor].reverse())}`;
    return `<polygon points="${area}" fill="${color}" fill-opacity="${stacked ? 0.35 : 0.06}"/><polyline points="${path(points)}" fill="none" stroke="${color}" stroke-width="1.5"/>`;
  });
  return [
    frame(box, title),
    ...grid,
    ...marks,
    ...limitLines,
    ...shapes,
    legend(box, drawn.map(({ name }) => name)), // prettier-ignore
  ].join('');
}

/** Each line on the sum of those before it. All have their points at the same times, or are taken as 0. */
function heaped(lines: readonly Line[]): readonly (Line & { readonly base: Line['points'] })[] {
  const times = [...new Set(lines.flatMap(({ points }) => points.map(([time]) => time)))].sort((a, b) => a - b); // prettier-ignore
  let base: Line['points'] = times.map((time) => [time, 0] as const);
  return lines.map(({ name, points }) => {
    const values = new Map(points);
    const under = base;
    base = under.map(([time, value]) => [time, value + (values.get(time) ?? 0)] as const);
    return { name, points: base, base: under };
  });
}

function legend(box: Box, names: readonly string[]): string {
  const y = box.y + box.height - 12;
  let x = box.x + 12;
  const parts: string[] = [];
  for (const [n, name] of names.entries()) {
    const width = 22 + name.length * 6.2;
    if (x + width > box.x + box.width - 30) {
      parts.push(label(x, y, `+${names.length - n}`, 'font-size="11"'));
      break;
    }
    parts.push(
      `<rect x="${x}" y="${y - 7}" width="10" height="3" fill="${COLORS[n % COLORS.length] ?? TEXT}"/>`,
      label(x + 14, y - 1, name, 'font-size="11"'),
    );
    x += width;
  }
  return parts.join('');
}
