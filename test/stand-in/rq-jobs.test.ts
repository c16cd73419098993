/**
 * Jobs on the image's framework: the real RQ with the framework's names of queues, and its ways of
 * ending.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { SCRIPTS, eventually, redisCli } from '../jobs/servers.js';
import { queueDeclarations } from '../../constructs/frappe/worker.js';
import { type Site, Stack, needsImage } from './fixture.js';

const possible = await needsImage('mariadbd', 'redis-server', 'python3');

describe('jobs of the framework image', possible, () => {
  let stack: Stack;
  let site: Site;
  before(async () => {
    stack = await Stack.start('mariadb');
    site = stack.site();
    const created = await site.init();
    assert.equal(created.code, 0, created.output);
  });
  after(() => stack.stop());

  const redis = (...args: readonly string[]): string =>
    redisCli(stack.queue.port, stack.queue.password, ...args);
  const waiting = (queue: string): string => redis('LLEN', `rq:queue:${queue}`);
  const todos = (text: string): string =>
    site.sql(`SELECT COUNT(*) FROM tabToDo WHERE description = '${text}'`);
  const enqueue = (queue: string, method: string, kwargs: Readonly<Record<string, unknown>>) => {
    const text = JSON.stringify({ method, queue, ...kwargs });
    const done = site.bench('execute', 'frappe.enqueue', `--kwargs=${text}`);
    assert.equal(done.code, 0, done.output);
  };

  it('takes jobs of its queue only', async () => {
    enqueue('short', 'frappe.client.insert', { doc: { doctype: 'ToDo', description: 'short' } });
    enqueue('long', 'frappe.client.insert', { doc: { doctype: 'ToDo', description: 'long' } });
    assert.deepEqual([waiting('test-bench:short'), waiting('test-bench:long')], ['1', '1']);
    const worker = stack.bench.daemon(['bench', 'worker', '--queue', 'short,default']);
    await eventually('the job ran', () => todos('short') === '1');
    assert.equal((await worker.stop()).code, 0, worker.log());
    assert.deepEqual([todos('long'), waiting('test-bench:long')], ['0', '1']);
    assert.match(redis('LRANGE', 'rq:queue:test-bench:long', '0', '-1'), /^site1\.example\.com::/);
    assert.equal(site.bench('ready-for-migration').code, 1);
    assert.equal(stack.bench.bench('worker', '--queue', 'long', '--burst').code, 0);
    assert.equal(todos('long'), '1');
    assert.equal(site.bench('ready-for-migration').code, 0);
  });

  it('finishes a running job before it ends', async () => {
    enqueue('default', 'frappe.tests.e2e.slow_todo', { description: 'slow', seconds: 10 });
    const worker = stack.bench.daemon([
      ...['sh', join(SCRIPTS, 'worker.sh')],
      ...['bench', 'worker', '--queue', 'default'],
    ]);
    await eventually('the job runs', () => redis('ZCARD', 'rq:wip:test-bench:default') === '1');
    assert.equal(waiting('test-bench:default'), '0');
    const { code, ms } = await worker.stop();
    assert.equal(code, 0, worker.log());
    assert.ok(ms > 1000, `ended after ${String(ms)} ms`);
    assert.equal(todos('slow'), '1');
  });

  it("puts a site's jobs into separate queues", () => {
    assert.equal(site.bench('set-config', 'bench_id', 'tenant-a').code, 0);
    enqueue('short', 'frappe.utils.background_jobs.test_job', { s: 0 });
    assert.deepEqual([waiting('tenant-a:short'), waiting('test-bench:short')], ['1', '0']);
    assert.equal(site.bench('set-config', 'bench_id', 'None').code, 0);
    assert.equal(stack.bench.json(site.name, 'site_config.json')['bench_id'], undefined);
  });

  it('refuses a queue that is not configured', () => {
    const refused = stack.bench.bench('worker', '--queue', 'unknown');
    assert.notEqual(refused.code, 0);
    assert.match(refused.output, /Queue should be one of short, default, long/);
  });

  it('takes jobs of queues that a bench declares, with their time, until it does not', async () => {
    const workers = queueDeclarations([
      { name: 'imports', queues: ['imports', 'long'], timeoutSeconds: 4321 },
    ]);
    const todo = { doc: { doctype: 'ToDo', description: 'imported' } };
    assert.equal((await stack.initBench(stack.bench, { workers })).code, 0);
    enqueue('imports', 'frappe.client.insert', todo);
    assert.equal(waiting('test-bench:imports'), '1');
    const [id = ''] = redis('LRANGE', 'rq:queue:test-bench:imports', '0', '0').split('\n');
    assert.equal(redis('HGET', `rq:job:${id}`, 'timeout'), '4321');
    const worked = stack.bench.bench('worker', '--queue', 'imports,long', '--burst');
    assert.equal(worked.code, 0, worked.output);
    assert.equal(todos('imported'), '1');
    assert.equal((await stack.initBench()).code, 0);
    assert.notEqual(stack.bench.bench('worker', '--queue', 'imports', '--burst').code, 0);
  });

  it('enqueues what is due, once, and nothing of a paused site', async () => {
    site.sql("UPDATE `tabScheduled Job Type` SET creation = '2020-01-01'");
    assert.equal(stack.bench.bench('set-config', '-gp', 'scheduler_tick_interval', '1').code, 0);
    assert.equal(site.bench('scheduler', 'pause').code, 0);
    const scheduler = stack.bench.daemon(['bench', 'schedule']);
    await new Promise((resolve) => setTimeout(resolve, 4000));
    assert.equal(waiting('test-bench:default'), '0', scheduler.log());
    assert.equal(site.bench('scheduler', 'resume').code, 0);
    const both = () => [waiting('test-bench:default'), waiting('test-bench:long')].join();
    await eventually('due jobs wait', () => both() === '1,1');
    await new Promise((resolve) => setTimeout(resolve, 2500));
    assert.equal(both(), '1,1');
    await scheduler.stop();
    assert.equal(stack.bench.bench('worker', '--burst').code, 0);
    assert.equal(
      site.sql('SELECT COUNT(*) FROM `tabScheduled Job Type` WHERE last_execution IS NOT NULL'),
      '2',
    );
  });
});
