/** `.ci/steady` with real test files of its own: what is run again, and what that makes of the outcome. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { projectRoot } from '../../testbed/root.js';

const STEADY = join(projectRoot(), '.ci/steady');

/** Leaves a file for each run of the test file, and counts them. */
const RUN = `
const { readdirSync, writeFileSync } = require('node:fs');
const run = 'run-of-' + require('node:path').basename(__filename);
const before = readdirSync('.').filter((name) => name.startsWith(run)).length;
writeFileSync(run + '-' + before, '');
const { test } = require('node:test');
`;
const PASSES = `${RUN} test('passes', () => {});`;
const PASSES_THEN = `${RUN} test('passes then', () => { if (before === 0) throw new Error('at first'); });`;
const FAILS = `${RUN} test('fails', () => { throw new Error('again'); });`;

let dir: string;
before(() => {
  dir = mkdtempSync(join(tmpdir(), 'app-operator-steady-'));
});
after(() => {
  rmSync(dir, { recursive: true });
});

interface Outcome {
  readonly passed: boolean;
  readonly output: string;
  /** The files that ran, once for each time. */
  readonly runs: readonly string[];
}

/** Runs it in a project of these test files. */
function steady(
  name: string,
  files: Readonly<Record<string, string>>,
  script = 'node --test "*.test.js"',
): Outcome {
  const cwd = join(dir, name);
  mkdirSync(cwd);
  writeFileSync(join(cwd, 'package.json'), JSON.stringify({ scripts: { test: script } }));
  for (const [file, text] of Object.entries(files)) {
    writeFileSync(join(cwd, `${file}.test.js`), text);
  }
  // A run of tests within a run of tests would speak the language of the outer one.
  const { NODE_TEST_CONTEXT: _context, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync('bash', [STEADY, 'npm', 'test'], {
    cwd,
    env,
    encoding: 'utf8',
  });
  const runs = readdirSync(cwd).flatMap(
    (entry) => /^run-of-(.*)\.test\.js-\d+$/.exec(entry)?.[1] ?? [],
  );
  return { passed: status === 0, output: stdout + stderr, runs };
}

describe('the tests in CI', () => {
  test('pass without a word more where all pass', () => {
    const { passed, output, runs } = steady('good', { a: PASSES, b: PASSES });
    assert.equal(passed, true, output);
    assert.deepEqual(runs, ['a', 'b']);
    assert.doesNotMatch(output, /UNSTEADY|once more/);
  });

  test('run a file that failed once more, and tell it last', () => {
    const { passed, output, runs } = steady('unsteady', { a: PASSES, b: PASSES_THEN });
    assert.equal(passed, true, output);
    assert.deepEqual(runs, ['a', 'b', 'b']);
    assert.match(output, /Error: at first/);
    assert.match(output, /== UNSTEADY: b\.test\.js failed, and passed alone\n$/);
  });

  test('fail where a file fails twice', () => {
    const { passed, output, runs } = steady('bad', { a: PASSES_THEN, b: FAILS });
    assert.equal(passed, false, output);
    assert.deepEqual(runs, ['a', 'a', 'b', 'b']);
    assert.doesNotMatch(output, /UNSTEADY/);
  });

  test('fail at once where more than two files fail', () => {
    const { passed, output, runs } = steady('worse', {
      a: PASSES_THEN,
      b: PASSES_THEN,
      c: PASSES_THEN,
    });
    assert.equal(passed, false, output);
    assert.deepEqual(runs, ['a', 'b', 'c']);
  });

  test('fail where no test fails, but what comes before them', () => {
    const { passed, output, runs } = steady('check', { a: PASSES }, 'false && node --test');
    assert.equal(passed, false, output);
    assert.deepEqual(runs, []);
  });
});
