import { type Panel, green, ROWS } from './panels.js';

/**
 * The colours of phases, and of Jobs' states: the same in every panel. Without them Grafana colours lines
 * in the order of their names, and Failed was green where no site was Deleting.
 */
export const PHASE_COLOURS: Readonly<Record<string, string>> = {
  Ready: 'green',
  Succeeded: 'green',
  Scheduled: 'light-green',
  Running: 'blue',
  Active: 'blue',
  Provisioning: 'blue',
  Syncing: 'blue',
  Updating: 'purple',
  Pending: 'yellow',
  Suspended: 'text',
  Deleting: 'orange',
  Failed: 'red',
};

const DATASOURCE = { type: 'prometheus', uid: '${datasource}' };

/** The dashboard as Grafana (10 or newer) imports it. */
export function dashboard(): object {
  let y = 0;
  let id = 0;
  const panels = ROWS.flatMap((row) => {
    const header = {
      id: ++id,
      type: 'row',
      title: row.title,
      collapsed: false,
      gridPos: { h: 1, w: 24, x: 0, y: y++ },
      panels: [],
    };
    let x = 0;
    let height = 0;
    const placed = row.panels.map((panel) => {
      const [w, h] = panel.size ?? [8, 6];
      if (x + w > 24) {
        x = 0;
        y += height;
        height = 0;
      }
      const at = { h, w, x, y };
      x += w;
      height = Math.max(height, h);
      return { id: ++id, gridPos: at, ...grafanaPanel(panel) };
    });
    y += height;
    return [header, ...placed];
  });
  return {
    uid: 'app-operator',
    title: 'App operator',
    description: 'Benches and sites of the Frappe Framework, and the operator that runs them.',
    tags: ['app-operator', 'frappe'],
    schemaVersion: 39,
    editable: true,
    graphTooltip: 1,
    refresh: '30s',
    time: { from: 'now-1h', to: 'now' },
    templating: {
      list: [
        { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
        variable('namespace', 'Namespace', 'label_values(app_bench_phase, namespace)'),
        variable('bench', 'Bench', 'label_values(app_bench_phase{namespace=~"$namespace"}, name)'),
      ],
    },
    annotations: { list: [] },
    links: [],
    panels,
  };
}

function variable(name: string, label: string, query: string): object {
  return {
    name,
    label,
    type: 'query',
    datasource: DATASOURCE,
    query: { query, refId: name },
    definition: query,
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    allValue: '.*',
    current: { selected: true, text: ['All'], value: ['$__all'] },
  };
}

function grafanaPanel(panel: Panel): object {
  const { title, description, targets, thresholds = [green], instant = false } = panel;
  const { type = 'timeseries', unit = 'none' } = panel;
  const isLine = type === 'timeseries';
  return {
    type,
    title,
    description,
    datasource: DATASOURCE,
    fieldConfig: {
      defaults: {
        unit,
        min: 0,
        color: { mode: isLine ? 'palette-classic' : 'thresholds' },
        thresholds: { mode: 'absolute', steps: thresholds },
        ...(isLine
          ? {
              custom: {
                lineWidth: 1,
                fillOpacity: panel.stacked ? 30 : 10,
                showPoints: 'never',
                stacking: { mode: panel.stacked ? 'normal' : 'none', group: 'A' },
                thresholdsStyle: { mode: panel.thresholds ? 'line' : 'off' },
              },
            }
          : {}),
      },
      overrides: overridesOf(panel),
    },
    options: optionsOf(type),
    ...(type === 'table' ? { transformations: TABLE } : {}),
    targets: targets.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode(65 + index),
      datasource: DATASOURCE,
      expr,
      legendFormat: legend,
      ...(instant ? { instant: true, range: false } : { instant: false, range: true }),
      ...(type === 'table' ? { format: 'table' } : {}),
    })),
  };
}

/** Fixed colours of lines that are phases, and of the cells of a column of phases. */
function overridesOf({ type, targets }: Panel): readonly object[] {
  if (type === 'table')
    return targets.some(({ expr }) => expr.includes('phase')) ? [PHASE_COLUMN] : [];
  if (!targets.some(({ legend }) => legend === '{{phase}}' || legend === '{{status}}')) return [];
  return Object.entries(PHASE_COLOURS).map(([phase, fixedColor]) => ({
    matcher: { id: 'byName', options: phase },
    properties: [{ id: 'color', value: { mode: 'fixed', fixedColor } }],
  }));
}

const PHASE_COLUMN = {
  matcher: { id: 'byName', options: 'phase' },
  properties: [
    { id: 'custom.cellOptions', value: { type: 'color-text' } },
    {
      id: 'mappings',
      value: [
        {
          type: 'value',
          options: Object.fromEntries(
            Object.entries(PHASE_COLOURS).map(([phase, color], index) => [
              phase,
              { color, index, text: phase },
            ]),
          ),
        },
      ],
    },
  ],
};

/** One table of all queries, without the columns that say nothing. */
const TABLE = [
  { id: 'merge', options: {} },
  {
    id: 'organize',
    options: {
      excludeByName: Object.fromEntries(
        ['Time', 'Value', ...['A', 'B', 'C'].map((ref) => `Value #${ref}`)].map((name) => [
          name,
          true,
        ]),
      ),
    },
  },
];

function optionsOf(type: 'timeseries' | NonNullable<Panel['type']>): object {
  switch (type) {
    case 'stat':
      return {
        reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
        colorMode: 'background',
        graphMode: 'area',
      };
    case 'timeseries':
      return {
        legend: { displayMode: 'list', placement: 'bottom', showLegend: true },
        tooltip: { mode: 'multi', sort: 'desc' },
      };
    case 'table':
      return { showHeader: true };
  }
}

/** The dashboard's file. */
export function dashboardJson(): string {
  return `${JSON.stringify(dashboard(), undefined, 2)}\n`;
}
