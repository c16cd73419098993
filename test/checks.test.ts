/**
 * All that `npm run check` runs but the compiler, as tests: `npm test` needs no time of its own for them.
 * They take what the other test files leave of the processors.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import path from 'node:path';
import { suite, test } from 'node:test';

import { projectRoot } from '../testbed/root.js';

/** Names of the scripts that the script `check` of package.json runs; the one that takes longest is the first. */
function checks(): readonly string[] {
  const text = readFileSync(path.join(projectRoot(), 'package.json'), 'utf8');
  const { scripts } = JSON.parse(text) as { readonly scripts: Readonly<Record<string, string>> };
  const patterns = scripts['check']?.split(' --continue-on-error ')[1]?.split(' ') ?? [];
  assert.ok(patterns.length > 0, 'the script check runs nothing');
  return Object.keys(scripts).filter((name) =>
    patterns.some((pattern) =>
      path.matchesGlob(name.replaceAll(':', '/'), pattern.replaceAll(':', '/')),
    ),
  );
}

/** @returns the exit code of `npm run <script>`, and what it prints */
function run(script: string): Promise<{ readonly code: unknown; readonly output: string }> {
  return new Promise((resolve) => {
    const options = { cwd: projectRoot(), maxBuffer: 64 * 1024 * 1024 };
    execFile('npm', ['run', '-s', script], options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : (error.code ?? error.signal), output: stdout + stderr });
    });
  });
}

suite('checks', { concurrency: 2 }, () => {
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  for (const script of checks()) {
    test(script, async () => {
      const { code, output } = await run(script);
      assert.equal(code, 0, output);
    });
  }
});
