/**
 * All that `npm run check` runs but the compiler, as tests: `npm test` needs no time of its own for them.
 * They take what the other test files leave of the processors.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import path from 'node:path';
import { suite, test } from 'node:test';

import { run } from '../testbed/controlplane/run.js';
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

suite('checks', { concurrency: 2 }, () => {
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  for (const script of checks()) {
    test(script, async () => {
      await run('npm', ['run', '-s', script], { cwd: projectRoot() });
    });
  }
});
