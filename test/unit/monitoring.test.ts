import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';

import { scripts } from '../../constructs/frappe/scripts.generated.js';
import { dashboard, PHASE_COLOURS } from '../../constructs/monitoring/dashboard.js';
import { ROWS } from '../../constructs/monitoring/panels.js';
import { RULE_GROUPS } from '../../constructs/monitoring/rules.js';
import { KINDS } from '../../constructs/registry.js';
import { OperatorMetrics } from '../../runner/telemetry/metrics.js';
import { ROOT } from '../support/docs-tables.js';

const ALERTS = RULE_GROUPS.flatMap(({ rules }) => rules);
const PANELS = ROWS.flatMap(({ panels }) => panels);
const QUERIES = PANELS.flatMap(({ title, targets }) =>
  targets.map(({ expr, legend }) => ({ where: title, expr, legend })),
);
const EXPRESSIONS = [...ALERTS.map(({ alert, expr }) => ({ where: alert, expr })), ...QUERIES];

/** The series that an expression of PromQL reads. */
function seriesOf(expr: string): readonly string[] {
  const bare = expr
    .replace(/"[^"]*"/g, '""')
    .replace(/\{[^}]*\}/g, '')
    .replace(/\[[^\]]*\]/g, '')
    .replace(/\b(by|on|without|ignoring)\s*\([^)]*\)/g, '');
  return [...bare.matchAll(/[a-zA-Z_:][a-zA-Z0-9_:]*(?!\w|\s*\()/g)]
    .map(([name]) => name)
    .filter((name) => !['and', 'or', 'unless'].includes(name));
}

/** The series of a text in the format of Prometheus, by the lines that tell their types. */
const declared = (text: string): readonly string[] =>
  [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = '', type]) =>
    type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  );

/** Who exports each series that docs/monitoring.md lists. */
const EXPORTERS = new Map(
  (/<!-- series -->([^]*?)\n## /.exec(readFileSync(`${ROOT}docs/monitoring.md`, 'utf8'))?.[1] ?? '')
    .split('\n')
    .flatMap((row) => {
      const [, names = '', , exporter = ''] = row.split('|');
      return [...names.matchAll(/`(\w+)`/g)].map(
        ([, name = '']) => [name, exporter.trim()] as const,
      );
    }),
);

describe('every series that rules and dashboard read', () => {
  const read = new Set([
    ...EXPRESSIONS.flatMap(({ expr }) => seriesOf(expr)),
    // The text of an alert has queries too.
    ...ALERTS.flatMap(({ annotations }) =>
      [...annotations.description.matchAll(/(app_\w+)[{[]/g)].map(([, name = '']) => name),
    ),
  ]);
  const exporterOf = (name: string) => EXPORTERS.get(name.replace(/_bucket$/, ''));

  test('stands in docs/monitoring.md', () => {
    assert.ok(read.size > 20);
    for (const name of read) assert.ok(exporterOf(name), name);
  });

  test('is exported by the operator if the page lists it there', async () => {
    const metrics = new OperatorMetrics(KINDS.map(({ definition }) => definition.kind));
    metrics.lastSuccess(
      { kind: 'SiteBackup', namespace: 'team', name: 'nightly' },
      { time: '2026-01-31T12:00:00Z', labels: { site: 'shop' } },
    );
    const exported = declared((await metrics.exposition()).body);
    const named = [...read].filter((name) => exporterOf(name) === 'operator');
    assert.ok(named.length > 10);
    for (const name of named) assert.ok(exported.includes(name), name);
  });

  test('is exported by the exporter of benches if the page lists it there', () => {
    const [, table = ''] = /^SERIES = \{\n([^]*?)^\}/m.exec(scripts['bench_metrics.py']) ?? [];
    const exported = [...table.matchAll(/^ {4}"(\w+)":/gm)].map(([, name]) => name);
    const named = [...EXPORTERS.keys()].filter((name) => exporterOf(name) === "bench's exporter");
    assert.deepEqual(named.sort(), exported.sort());
  });
});

describe('every alert', () => {
  test('has a runbook, and every runbook an alert', () => {
    const names = readdirSync(`${ROOT}docs/runbooks`).map((file) => file.replace(/\.md$/, ''));
    assert.deepEqual(names.sort(), ALERTS.map(({ alert }) => alert).sort());
    for (const { alert, annotations } of ALERTS) {
      assert.ok(annotations.runbook_url.endsWith(`/docs/runbooks/${alert}.md`));
      const page = readFileSync(`${ROOT}docs/runbooks/${alert}.md`, 'utf8');
      assert.ok(page.startsWith(`# ${alert}\n`), alert);
      const headings = [...page.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading);
      assert.deepEqual(headings, ['What it means', 'How to see it', 'What to do'], alert);
    }
  });
});

interface Placed {
  readonly title: string;
  readonly gridPos: {
    readonly x: number;
    readonly y: number;
    readonly w: number;
    readonly h: number;
  };
}

interface Override {
  readonly matcher: { readonly id: string; readonly options: string };
  readonly properties: readonly { readonly id: string; readonly value: unknown }[];
}

describe('the colours of phases', () => {
  interface Coloured {
    readonly title: string;
    readonly type: string;
    readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
    readonly fieldConfig?: { readonly overrides: readonly Override[] };
  }
  const file = readFileSync(`${ROOT}dist/monitoring/grafana-dashboard.json`, 'utf8');
  const { panels } = JSON.parse(file) as { readonly panels: readonly Coloured[] };
  const phased = panels.filter((panel) =>
    panel.targets?.some(({ expr, legendFormat }) =>
      panel.type === 'table'
        ? expr.includes('_phase')
        : /^\{\{(phase|status)}}$/.test(legendFormat),
    ),
  );
  /** The colour of each phase in a panel: of its line, or of its cell. */
  const coloursOf = ({ fieldConfig }: Coloured): Record<string, string> =>
    Object.fromEntries(
      (fieldConfig?.overrides ?? []).flatMap(({ matcher, properties }) =>
        properties.flatMap(({ id, value }) => {
          if (id === 'color')
            return [[matcher.options, (value as { readonly fixedColor: string }).fixedColor]];
          if (id !== 'mappings') return [];
          const [{ options }] = value as [
            { readonly options: Record<string, { readonly color: string }> },
          ];
          return Object.entries(options).map(([phase, { color }]) => [phase, color]);
        }),
      ),
    );

  test('are the same in every panel that shows a phase, with Ready green and Failed red', () => {
    assert.deepEqual(phased.map(({ title }) => title).sort(), ['Backups by phase', 'Benches by phase', 'Jobs', 'Not Ready', 'Sites by phase']); // prettier-ignore
    for (const panel of phased) {
      const colours = coloursOf(panel);
      assert.deepEqual(colours, PHASE_COLOURS, panel.title);
      assert.deepEqual([colours['Ready'], colours['Succeeded'], colours['Failed']], ['green', 'green', 'red']); // prettier-ignore
    }
  });

  test('are there for every phase of the API and every state of a Job', () => {
    const phases = KINDS.flatMap(({ definition }) => {
      const status = definition.status as unknown as {
        readonly properties?: { readonly phase?: { readonly enum?: readonly string[] } };
      };
      return status.properties?.phase?.enum ?? [];
    });
    const wanted = [...new Set([...phases, 'Active', 'Succeeded', 'Failed'])].sort();
    assert.ok(wanted.includes('Updating'));
    assert.deepEqual(Object.keys(PHASE_COLOURS).sort(), wanted);
  });

  test('differ where phases differ in what they ask of the reader', () => {
    const { Ready, Provisioning, Updating, Pending, Deleting, Failed } = PHASE_COLOURS;
    const colours = [Ready, Provisioning, Updating, Pending, Deleting, Failed];
    assert.equal(new Set(colours).size, colours.length);
  });
});

describe('the dashboard', () => {
  const { panels } = dashboard() as { readonly panels: readonly Placed[] };

  test('has the thresholds of the specification', () => {
    const thresholds = (title: string): unknown =>
      PANELS.find((panel) => panel.title.startsWith(title))?.thresholds;
    const green = { color: 'green', value: null };
    assert.deepEqual(thresholds('Error rate'), [green, { color: 'yellow', value: 1 }, { color: 'red', value: 5 }]); // prettier-ignore
    assert.deepEqual(thresholds('Duration'), [green, { color: 'red', value: 80 }]);
  });

  test('has panels that lie side by side, none on another', () => {
    const taken = new Map<string, string>();
    for (const { title, gridPos } of panels) {
      assert.ok(gridPos.x + gridPos.w <= 24, title);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          assert.equal(taken.get(`${x},${y}`), undefined, `${title} lies on another`);
          taken.set(`${x},${y}`, title);
        }
      }
    }
  });

  test('names lines by labels only that their query keeps', () => {
    for (const { where, expr, legend } of QUERIES) {
      const kept = /^(?:[\w. *()]*?)\b(?:sum|max) by \(([^)]*)\)/.exec(expr)?.[1]?.split(', ');
      for (const [, label = ''] of legend.matchAll(/\{\{(\w+)\}\}/g)) {
        if (kept) assert.ok(kept.includes(label) || expr.includes(' / '), `${where}: ${label}`);
      }
    }
  });
});
