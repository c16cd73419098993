import assert from 'node:assert/strict';
import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { suite, test } from 'node:test';

import { projectRoot } from '../../../testbed/project-root.js';

const SUITES = path.join(projectRoot(), 'dist/lib/test/e2e');
const UNPRIVILEGED_ID = 65_534;

/** Runs Node as a user without rights; the group as well. */
function asUnprivileged(...args: readonly string[]): SpawnSyncReturns<string> {
  const user = process.getuid?.() === 0 ? { uid: UNPRIVILEGED_ID, gid: UNPRIVILEGED_ID } : {};
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  return spawnSync(process.execPath, args, { ...user, env, cwd: '/', encoding: 'utf8' });
}

suite('the end-to-end tests without root', () => {
  const files = readdirSync(SUITES).filter((file) => file.endsWith('.test.js'));

  test('are skipped with the reason, and end well', (t) => {
    if (
      asUnprivileged('--eval', `require('node:fs').readdirSync(${JSON.stringify(SUITES)})`).status
    ) {
      t.skip('others may not read the folder of this repository');
      return;
    }
    const { status, stdout } = asUnprivileged(
      ...['--test', '--test-isolation=none', '--test-reporter=tap'],
      ...files.map((file) => path.join(SUITES, file)),
    );
    assert.equal(status, 0, stdout);
    const skipped = stdout.split('\n').filter((line) => line.endsWith('# SKIP a node needs root'));
    assert.equal(skipped.length, files.length, stdout);
    assert.match(stdout, /^# fail 0$/m);
  });
});
