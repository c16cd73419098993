/** The map of the frappe/helm chart's values in docs/helm-values.md: whole, and of fields that exist. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import type { Schema } from '../../constructs/kit/definition.js';
import { DEFINITIONS } from '../../constructs/registry.js';
import { cellsOf, ROOT } from '../support/docs-tables.js';

const PAGE = readFileSync(`${ROOT}docs/helm-values.md`, 'utf8');
const [HEADER = '', ...NAMES] = readFileSync(`${ROOT}test/unit/frappe-chart-values.txt`, 'utf8')
  .trim()
  .split('\n');
const HOW = ['same', 'better', 'other', 'not needed'];

interface Row {
  readonly patterns: readonly string[];
  readonly cells: readonly string[];
}

const [, MAP = ''] = /<!-- frappe chart -->\n([^]*)<!-- \/frappe chart -->/.exec(PAGE) ?? [];
const ROWS: readonly Row[] = MAP.split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => {
    const cells = cellsOf(line);
    return { cells, patterns: quoted(cells[0] ?? '') };
  });

function quoted(cell: string): readonly string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text);
}

/** Whether a pattern names a value: `*` is one part of its name or the rest of one, `**` several. */
function names(pattern: string, value: string): boolean {
  const source = pattern.replaceAll('.', '[.]').replaceAll('**', '.+').replaceAll('*', '[^.]*');
  return new RegExp(`^${source}$`).test(value);
}

/** Whether the schema has a field of this path: `dbConfig.mode` of `spec.dbConfig.mode: managed`. */
function has(schema: Schema, [step, ...rest]: readonly string[]): boolean {
  if (step === undefined) return true;
  const child = schema.properties?.[step] ?? schema.items?.properties?.[step];
  return child !== undefined && has(child, rest);
}

suite('the values of the frappe/helm chart', () => {
  test('are of the version that the page names', () => {
    const [, version = ''] = /erpnext (\d+\.\d+\.\d+) of frappe\/helm/.exec(HEADER) ?? [];
    assert.ok(version !== '' && PAGE.includes(`\`erpnext\` ${version} of [frappe/helm]`));
    assert.ok(NAMES.length > 300);
  });
  test('have one row each', () => {
    const counts = NAMES.map((name) => {
      const rows = ROWS.filter(({ patterns }) => patterns.some((one) => names(one, name)));
      return [name, rows.length] as const;
    });
    assert.deepEqual(
      counts.filter(([, count]) => count !== 1),
      [],
    );
  });
  test('are all that the rows name', () => {
    const unused = ROWS.flatMap(({ patterns }) => patterns).filter(
      (pattern) => !NAMES.some((name) => names(pattern, name)),
    );
    assert.deepEqual(unused, []);
  });
  test('have no empty row: each says how, and where or why', () => {
    assert.ok(ROWS.length > 50);
    for (const { cells } of ROWS) {
      const [first, how = '', here, note] = cells;
      assert.equal(cells.length, 4, first);
      assert.ok(HOW.includes(how), `${first}: ${how}`);
      assert.ok(
        cells.every((cell) => cell !== ''),
        first,
      );
      if (how === 'not needed') assert.notEqual(note, '—', first);
      else assert.notEqual(here, '—', first);
    }
  });
  test('lead to fields that exist', () => {
    for (const { cells } of ROWS) {
      const [first, , here = ''] = cells;
      const kinds = DEFINITIONS.filter(({ kind }) => new RegExp(`\\b${kind}\\b`).test(here));
      for (const path of quoted(here).filter((one) => one.startsWith('spec.'))) {
        const [field = ''] = path.split(':');
        assert.ok(kinds.length > 0, first);
        for (const { kind, spec } of kinds)
          assert.ok(has(spec, field.split('.').slice(1)), `${kind} ${path}`);
      }
    }
  });
});
