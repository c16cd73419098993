/**
 * Puts the mutations of table.ts into copies of what is committed, and runs the tests that must fail:
 * `npm run mutations -- [--fast] [--step build|test] [name of a mutation, or number of a run]…`.
 */
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { whyNot } from '../../testbed/node/machine.js';
import { Copy } from './copy.js';
import { isRecorded, oneLine } from './page.js';
import type { Result } from './reporter.js';
import { type Failure, type Mutation, MUTATIONS, SHORTER } from './table.js';

const { values, positionals } = parseArgs({
  options: { fast: { type: 'boolean', default: false }, step: { type: 'string' } },
  allowPositionals: true,
});

const FOLDER = path.join(tmpdir(), 'app-operator-mutations');
const SHOWN = 300;
/** The test of suites.ts by which Node.js knows that a file has tests. */
const LOADED = 'the file is loaded';

interface Expected {
  readonly mutation: Mutation;
  readonly failure: Failure;
}

const say = (text: string): void => void process.stdout.write(`${text}\n`);

function isChosen({ mutation, failure }: Expected): boolean {
  const names = [mutation.name, ...(failure.run === undefined ? [] : [String(failure.run)])];
  return positionals.length === 0 || positionals.some((one) => names.includes(one));
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}

/** Runs tests in a copy. @returns what became of each */
function runTests(
  { folder }: Copy,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): readonly Result[] {
  const { stdout } = spawnSync(
    process.execPath,
    ['--test', '--test-reporter=./dist/lib/test/mutations/reporter.js', ...args],
    {
      cwd: folder,
      env: { ...process.env, ...env },
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('{"file"'))
    .map((line) => JSON.parse(line) as Result);
}

/** Prints what became of the tests that must fail. @returns whether all failed as recorded */
function report(expected: readonly Expected[], results: readonly Result[]): boolean {
  let good = true;
  for (const { mutation, failure } of expected) {
    const { file, title, message } = failure;
    const found = results.find((one) => one.file === file && one.title === title);
    const asRecorded = found?.outcome === 'failed' && isRecorded(found.message, message);
    good &&= asRecorded;
    say(`${asRecorded ? '✔' : '✖'} ${mutation.name} (${mutation.breaks})`);
    say(`  ${file}: ${title}: ${found?.outcome ?? 'did not run'}`);
    if (found?.outcome !== 'failed') continue;
    say(`  ${oneLine(found.message).slice(0, SHOWN)}`);
    if (!asRecorded) say(`  recorded: ${message}`);
  }
  reportOthers(expected, results);
  return good;
}

/** Prints other failures, such as of what a suite does before its tests. */
function reportOthers(expected: readonly Expected[], results: readonly Result[]): void {
  const named = new Set(expected.map(({ failure }) => failure.title));
  for (const { file, title, outcome, message } of results) {
    if (outcome !== 'failed' || named.has(title)) continue;
    say(`  also failed: ${file}: ${title}: ${oneLine(message).slice(0, SHOWN)}`);
  }
}

/** Tries the mutations of a run at once on a real node. */
function tryOnNode(run: number, expected: readonly Expected[]): boolean {
  const copy = new Copy(path.join(FOLDER, String(run)));
  if (values.step !== 'test') {
    copy.make();
    copy.mutate([...new Set(expected.map(({ mutation }) => mutation)), ...SHORTER]);
    copy.build();
  }
  if (values.step === 'build') return true;
  const files = new Set(expected.map(({ failure }) => path.basename(failure.file)));
  const titles = [LOADED, ...expected.map(({ failure }) => escaped(failure.title))];
  const begun = performance.now();
  const results = runTests(
    copy,
    [
      '--test-isolation=none',
      `--test-name-pattern=/^(${titles.join('|')})$/`,
      'dist/lib/test/mutations/suites.js',
    ],
    { MUTATED_FILES: [...files].join(' ') },
  );
  say(`run ${run}: ${Math.round((performance.now() - begun) / 1_000)} s`);
  return report(expected, results);
}

/** Tries mutations one by one with the files of `npm run test:all` that must fail too. */
function tryFast(mutations: readonly Mutation[]): boolean {
  const copy = new Copy(path.join(FOLDER, 'fast'));
  copy.make();
  let good = true;
  for (const mutation of mutations) {
    copy.mutate([mutation]);
    copy.build();
    const here = mutation.fails.filter(({ run }) => run === undefined);
    const files = new Set([...mutation.fast, ...here.map(({ file }) => file)]);
    for (const file of files) {
      const compiled = `dist/lib/test/${file === 'unit' ? 'unit' : `${file}.test`}.js`;
      const results = runTests(copy, [compiled]);
      // The test of the table fails of every mutation.
      const failed = results.filter(
        ({ outcome, title }) => outcome === 'failed' && !title.startsWith(`${mutation.name}: `),
      );
      good &&= failed.length > 0;
      say(`${failed.length > 0 ? '✔' : '✖'} ${mutation.name}: ${file}: ${failed.length} failed`);
      for (const { title, message } of failed.slice(0, 3)) {
        say(`  ${title}: ${oneLine(message).slice(0, SHOWN)}`);
      }
      const expected = here.filter((failure) => failure.file === file);
      good =
        report(
          expected.map((failure) => ({ mutation, failure })),
          results,
        ) && good;
    }
    copy.restore();
  }
  return good;
}

function main(): boolean {
  const expected = MUTATIONS.flatMap((mutation) =>
    mutation.fails.map((failure) => ({ mutation, failure })),
  ).filter(isChosen);
  if (values.fast) return tryFast([...new Set(expected.map(({ mutation }) => mutation))]);
  const reason = whyNot();
  if (reason !== undefined) throw new Error(`the tests need a real node: ${reason}`);
  const onNode = Map.groupBy(expected, ({ failure }) => failure.run ?? 0);
  onNode.delete(0);
  return [...onNode]
    .sort(([a], [b]) => a - b)
    .map(([run, of]) => tryOnNode(run, of))
    .every(Boolean);
}

process.exitCode = main() ? 0 : 1;
