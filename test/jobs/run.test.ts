/** run.sh, with real processes. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { SCRIPTS, daemon, eventually, runScript } from './servers.js';

const run = ['sh', join(SCRIPTS, 'run.sh')];

describe('run.sh', () => {
  it('passes arguments unchanged and returns the program’s exit code', async () => {
    const result = await runScript(
      [...run, 'sh', '-c', 'printf "%s|" "$@"; exit 7', 'sh', 'a b', '$HOME', ';id'],
      {},
    );
    assert.equal(result.output, 'a b|$HOME|;id|');
    assert.equal(result.code, 7);
  });

  it('ends the program at once on SIGTERM', async () => {
    const started = daemon([...run, 'sh', '-c', 'echo up; exec sleep 60'], {});
    await eventually('the program runs', () => started.log().includes('up'));
    const { code, ms } = await started.stop();
    assert.equal(code, 0);
    assert.ok(ms < 15_000, `${String(ms)} ms`);
  });

  it('waits for a program that wants to clean up', async () => {
    const script =
      'trap "sleep 0.5; echo cleaned; exit 0" TERM; echo up; while :; do sleep 0.1; done';
    const started = daemon([...run, 'sh', '-c', script], {});
    await eventually('the program runs', () => started.log().includes('up'));
    await started.stop();
    assert.match(started.log(), /cleaned/);
  });
});
