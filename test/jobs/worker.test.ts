/** worker.sh and worker_config.py, with real processes: like RQ's worker they run each job in a child. */
import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { SCRIPTS, daemon, eventually, runScript, temporaryDirectory } from './servers.js';

const run = ['sh', join(SCRIPTS, 'worker.sh')];
const IDLE = { IDLE_SECONDS: '2' };

describe('worker.sh', () => {
  it('passes arguments unchanged and returns the worker’s exit code', async () => {
    const result = await runScript(
      [...run, 'sh', '-c', 'printf "%s|" "$@"; exit 7', 'sh', 'a b', '$HOME', ';id'],
      {},
    );
    assert.equal(result.output, 'a b|$HOME|;id|');
    assert.equal(result.code, 7);
  });

  it('ends an idle worker at once', async () => {
    const started = daemon([...run, 'sh', '-c', 'echo up; exec sleep 60'], {});
    await eventually('the worker runs', () => started.log().includes('up'));
    const { code, ms } = await started.stop();
    assert.equal(code, 0);
    assert.ok(ms < 30_000, `${String(ms)} ms`);
  });

  it('kills a worker that ignores SIGTERM, after it had no job for some time', async () => {
    const deaf =
      "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)";
    const started = daemon([...run, 'python3', '-c', deaf], IDLE);
    await eventually('the worker runs', () => started.log().includes('up'));
    const { code, ms } = await started.stop();
    assert.equal(code, 0);
    assert.ok(ms >= 2_000 && ms < 30_000, `${String(ms)} ms`);
    assert.match(started.log(), /no job and does not end/);
  });

  it('never kills a worker that runs a job', async () => {
    const work = [
      'import os, signal, time',
      'signal.signal(signal.SIGTERM, signal.SIG_IGN)',
      'child = os.fork()',
      'if child == 0: time.sleep(8); print("job done", flush=True); os._exit(0)',
      'print("up", flush=True)',
      'os.waitpid(child, 0)',
      'print("booked", flush=True)',
    ].join('\n');
    const started = daemon([...run, 'python3', '-c', work], IDLE);
    await eventually('the worker runs', () => started.log().includes('up'));
    const { code, ms } = await started.stop();
    assert.equal(code, 0);
    assert.ok(ms > 2_500, `${String(ms)} ms`);
    assert.match(started.log(), /job done\nbooked/);
  });
});

describe('worker_config.py', () => {
  it('copies the common configuration with the site’s own queue prefix, for no other user', async () => {
    const folder = temporaryDirectory();
    const [source, target] = [join(folder, 'common.json'), join(folder, 'own.json')];
    const common = { bench_id: 'shop.bench', redis_queue: 'redis://q', workers: {} };
    writeFileSync(source, JSON.stringify(common));
    const env = { BENCH_ID: 'shop.bench.own', SOURCE: source, TARGET: target };
    const { code, output } = await runScript(['python3', join(SCRIPTS, 'worker_config.py')], env);
    assert.equal(code, 0, output);
    const copy = JSON.parse(readFileSync(target, 'utf8')) as unknown;
    assert.deepEqual(copy, { ...common, bench_id: 'shop.bench.own' });
    assert.equal(statSync(target).mode & 0o007, 0);
    assert.deepEqual(JSON.parse(readFileSync(source, 'utf8')), common);
  });
});
