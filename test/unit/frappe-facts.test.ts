import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { cellsOf, ROOT } from '../support/docs-tables.js';

const PAGE = readFileSync(`${ROOT}docs/contributing/frappe-16.md`, 'utf8');

type Row = readonly string[];
interface Table {
  readonly heading: string;
  readonly head: Row;
  readonly rows: readonly Row[];
}

function tablesOf(page: string): readonly Table[] {
  return page.split(/\n(?=## )/).flatMap((section) => {
    const heading = /^## (.*)$/m.exec(section)?.[1] ?? '';
    return [...section.matchAll(/(?:^\|.*\n?)+/gm)].map(([text]) => {
      const [head = [], , ...rows] = text.trim().split('\n').map(cellsOf);
      return { heading, head, rows };
    });
  });
}

/** The facts: each is a row of a table that says where it was read. */
const factsOf = (page: string) => tablesOf(page).filter(({ head }) => head.includes('Source'));

/** The cells of the page's columns Test. */
const testCells = (): Row =>
  factsOf(PAGE).flatMap(({ head, rows }) => rows.map((row) => row[head.indexOf('Test')] ?? ''));

/** The file of a short name: `jobs/tests/test_x.py` as it is, `unit/x` without folder and ending. */
const fileOf = (name: string): string => (name.endsWith('.py') ? name : `test/${name}.test.ts`);

/** Why a cell does not say what holds its fact. */
function problemOf(cell: string, reasons: ReadonlySet<string>): string | undefined {
  if (cell === '') return 'is empty';
  for (const part of cell.split(', ')) {
    const [, name] = /^`([^`]+)`$/.exec(part) ?? [];
    if (name === undefined && !reasons.has(part)) return `unknown reason "${part}"`;
    if (name !== undefined && !existsSync(ROOT + fileOf(name))) return `unknown file "${name}"`;
  }
  return undefined;
}

/** What is wrong with the column Test of the page's tables. */
function problemsOf(page: string): readonly string[] {
  const legend = tablesOf(page).find(({ head }) => head[0] === 'Reason')?.rows ?? [];
  const reasons = new Set(legend.map(([reason = '']) => reason));
  return factsOf(page).flatMap(({ heading, head, rows }) => {
    const at = head.indexOf('Test');
    if (at < 0) return [`${heading}: a table has no column Test`];
    return rows.flatMap((row) => {
      const problem = problemOf(row[at] ?? '', reasons);
      return problem === undefined ? [] : [`${heading}: ${row[0] ?? ''}: ${problem}`];
    });
  });
}

suite('the facts about Frappe 15 and 16', () => {
  test('each have a test that exists, or a reason of the legend', () => {
    assert.deepEqual(problemsOf(PAGE), []);
    const rows = factsOf(PAGE).flatMap((table) => table.rows);
    assert.ok(rows.length > 145, `${rows.length} facts were found`);
  });

  test('are cited by each test of the stand-in that holds one', () => {
    const names = testCells().flatMap((cell) => [...cell.matchAll(/`(stand-in\/[^`]+)`/g)]);
    const files = [...new Set(names.map(([, name = '']) => fileOf(name)))];
    assert.ok(files.length > 0);
    for (const file of files) {
      assert.match(readFileSync(ROOT + file, 'utf8'), /docs\/contributing\/frappe-16\.md/, file);
    }
  });

  test('give each reason of the legend at least once', () => {
    const legend = tablesOf(PAGE).find(({ head }) => head[0] === 'Reason')?.rows ?? [];
    assert.ok(legend.length > 0);
    for (const [reason = ''] of legend) {
      assert.ok(
        testCells().some((cell) => cell.split(', ').includes(reason)),
        reason,
      );
    }
  });
});

suite('the check of the column Test', () => {
  const page = (test: string, head = 'Test'): string =>
    [
      '# A page\n\n| Reason | Why |\n| --- | --- |\n| image | only it has it |\n',
      `## Queues\n\n| What | ${head} | Source |\n| --- | --- | --- |\n| id \\| name | ${test} | F16 |\n`,
    ].join('\n');
  for (const [what, cell, problem] of [
    ['an empty cell', '', 'is empty'],
    ['an unknown file', '`unit/no-such-file`', 'unknown file "unit/no-such-file"'],
    ['an unknown file of jobs/', '`jobs/tests/test_no.py`', 'unknown file "jobs/tests/test_no.py"'],
    ['an unknown reason', 'later', 'unknown reason "later"'],
    ['one of two that is unknown', '`unit/frappe-facts`, later', 'unknown reason "later"'],
    ['a reason as a file', '`image`', 'unknown file "image"'],
  ] as const) {
    test(`finds ${what}`, () => {
      assert.deepEqual(problemsOf(page(cell)), [`Queues: id \\| name: ${problem}`]);
    });
  }
  test('finds a table without the column', () => {
    assert.deepEqual(problemsOf(page('image', 'Ours')), ['Queues: a table has no column Test']);
  });
  test('accepts files and reasons', () => {
    const cell = '`unit/frappe-facts`, `jobs/tests/test_bench_init.py`, image';
    assert.deepEqual(problemsOf(page(cell)), []);
  });
});
