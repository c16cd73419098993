/**
 * rq_worker.py by worker.sh, with RQ of both versions of the framework: a stop at the worst
 * moments. Facts: docs/contributing/frappe-16.md, RQ and workers.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { VERSIONS } from '../../testbed/stand-in/image.js';
import {
  SCRIPTS,
  type Daemon,
  type Env,
  type Redis,
  eventually,
  redisCli,
  startRedis,
  temporaryDirectory,
} from '../jobs/servers.js';
import { ImageBench, needsImage } from './fixture.js';

const possible = await needsImage('redis-server', 'redis-cli');

/**
 * Python imports it before anything else: the worker gets its SIGTERM at one place of RQ's own
 * code, AT.
 */
const SIGNAL = `
import os
import signal

try:
    import redis
    from rq import Queue, Worker
    from rq.job import Job
except ImportError:
    AT = None  # bench has another Python
else:
    AT = os.environ.get("AT")


def stop():
    global AT
    AT = None
    print("SIGTERM now", flush=True)
    signal.raise_signal(signal.SIGTERM)


def before(owner, name, due=lambda *args: True):
    original = getattr(owner, name)

    def replaced(*args, **kwargs):
        if AT and due(*args):
            stop()
        return original(*args, **kwargs)

    setattr(owner, name, replaced)


if AT == "taken":
    blmove = redis.Redis.blmove

    def replaced(*args, **kwargs):
        job = blmove(*args, **kwargs)
        if AT and job:
            stop()
        return job

    redis.Redis.blmove = replaced
elif AT == "fetched":
    before(Job, "fetch")
elif AT == "nearly busy":
    before(Worker, "set_state", lambda self, state, *args: state == "busy")
elif AT == "other RQ":
    dequeue_any = Queue.dequeue_any
    Queue.dequeue_any = classmethod(lambda cls, *args, **kwargs: dequeue_any(*args, **kwargs))
`;

const ENQUEUE = `
import sys
import redis
from rq import Queue

queue = Queue("test-bench:default", connection=redis.from_url(sys.argv[1]))
print(queue.enqueue("time.sleep", 0).id)
`;

for (const version of [VERSIONS.first, VERSIONS.next]) {
  describe(`a worker of ${version} that is stopped`, possible, () => {
    let bench: ImageBench;
    let queue: Redis;
    let url: string;
    const modules = temporaryDirectory();
    before(async () => {
      [bench, queue] = await Promise.all([ImageBench.make(version), startRedis('queue')]);
      url = `redis://:${encodeURIComponent(queue.password)}@127.0.0.1:${String(queue.port)}`;
      writeFileSync(join(modules, 'sitecustomize.py'), SIGNAL);
      writeFileSync(join(modules, 'enqueue.py'), ENQUEUE);
      writeFileSync(
        join(bench.sites, 'common_site_config.json'),
        JSON.stringify({ bench_id: 'test-bench', redis_queue: url }),
      );
    });
    after(() => queue.stop());

    const redis = (...args: readonly string[]): string =>
      redisCli(queue.port, queue.password, ...args);
    const enqueue = (): string => {
      const done = bench.run([bench.python, join(modules, 'enqueue.py'), url]);
      assert.equal(done.code, 0, done.output);
      return done.output.trim();
    };
    const status = (job: string): string => redis('HGET', `rq:job:${job}`, 'status');
    const start = (env: Env = {}): Daemon =>
      bench.daemon(['sh', join(SCRIPTS, 'worker.sh'), 'bench', 'worker', '--queue', 'default'], {
        PYTHONPATH: modules,
        ...env,
      });

    for (const at of ['taken', 'fetched', 'nearly busy']) {
      test(`runs the job that it has taken, and no other: ${at}`, async () => {
        const [first, second] = [enqueue(), enqueue()];
        const worker = start({ AT: at });
        await eventually('the worker has ended', () => worker.process.exitCode !== null);
        assert.equal(worker.process.exitCode, 0, worker.log());
        assert.match(worker.log(), /SIGTERM now/);
        assert.deepEqual([status(first), status(second)], ['finished', 'queued'], worker.log());
        assert.equal(redis('LLEN', 'rq:queue:test-bench:default:intermediate'), '0');
        assert.equal(redis('DEL', 'rq:queue:test-bench:default'), '1');
      });
    }

    test('ends without a job, and polls Redis repeatedly', async () => {
      const worker = start();
      await eventually('it listens', () => worker.log().includes('Listening on'));
      const polls = (): number =>
        Number(/cmdstat_blmove:calls=(\d+)/.exec(redis('INFO', 'commandstats'))?.[1] ?? '0');
      const before = polls();
      await eventually('it polls again', () => polls() >= before + 3);
      const job = enqueue();
      await eventually('the job ran', () => status(job) === 'finished');
      assert.equal((await worker.stop()).code, 0, worker.log());
      assert.doesNotMatch(worker.log(), /app-operator|Traceback/);
      assert.equal(redis('SCARD', 'rq:workers'), '0');
    });

    test('works as bench does with an RQ that is not known', async () => {
      const job = enqueue();
      const worker = start({ AT: 'other RQ' });
      await eventually('the job ran', () => status(job) === 'finished');
      assert.match(worker.log(), /can lose the job that it dequeues: unknown version of RQ/);
      assert.equal((await worker.stop()).code, 0, worker.log());
    });
  });
}
