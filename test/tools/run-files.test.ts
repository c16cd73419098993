import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';

const RUN_FILES = new URL('../support/run-files.js', import.meta.url).href;

suite('test files that are run', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'app-operator-run-files-'));
  });
  after(() => rm(folder, { recursive: true }));

  /** Runs files with these texts, two at a time. */
  async function runTexts(texts: Readonly<Record<string, string>>) {
    const files = Object.entries(texts).map(([name, text]): [string, string] => [
      path.join(folder, `${name}.mjs`),
      `import { suite, test } from 'node:test';\n${text}`,
    ]);
    await Promise.all(files.map(([file, text]) => writeFile(file, text)));
    const names = JSON.stringify(files.map(([file]) => file));
    const script = `import { runFiles } from '${RUN_FILES}';
      const { passed } = await runFiles(${names}, { concurrency: 2, timeoutMs: 3_000 });
      process.exitCode = passed ? 0 : 1;`;
    // A test process must not take the run for one of its own files.
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const main = path.join(folder, 'main.mjs');
    await writeFile(main, script);
    const options = { env, encoding: 'utf8', timeout: 60_000 } as const;
    const { status, stdout } = spawnSync(process.execPath, [main], options);
    return { status, lines: stdout.trim().split('\n') };
  }

  test('pass', async () => {
    const { status, lines } = await runTexts({
      one: `suite('s', () => { test('a', () => {}); test('b', { skip: 'no server' }, () => {}); });`,
      two: `test('c', () => { console.log('text of c'); });`,
    });
    assert.equal(status, 0, lines.join('\n'));
    assert.equal(lines.at(-1), '2 passed, 0 failed, 1 skipped');
    assert.ok(lines.includes('- no server (1): s > b'));
    assert.ok(lines.includes('text of c'));
  });

  test('fail where a test hangs, and the results of others appear before', async () => {
    const { status, lines } = await runTexts({
      hangs: `setInterval(() => {}, 1_000); suite('s', () => { test('never ends', () => new Promise(() => {})); });`,
      quick: `test('a', () => {});`,
    });
    assert.equal(status, 1);
    assert.equal(lines.at(-1), '1 passed, 1 failed, 0 skipped');
    const [quick, failure] = [/quick\.mjs: 1 passed/, /^✖ s > never ends/].map((pattern) =>
      lines.findIndex((line) => pattern.test(line)),
    );
    assert.ok(quick !== undefined && quick >= 0 && quick < (failure ?? -1), lines.join('\n'));
  });

  test('end where a passed test leaves a timer', async () => {
    const { status, lines } = await runTexts({
      leaves: `setInterval(() => {}, 1_000); test('a', () => {});`,
    });
    assert.equal(status, 0, lines.join('\n'));
  });

  test('fail where a file throws or exits with an error', async () => {
    const { status, lines } = await runTexts({
      throws: `throw new Error('at import');`,
      exits: `test('a', () => {}); process.on('exit', () => { process.exitCode = 3; });`,
    });
    assert.equal(status, 1);
    assert.equal(lines.at(-1), '1 passed, 2 failed, 0 skipped');
    assert.ok(lines.some((line) => line.includes('at import')));
  });
});
