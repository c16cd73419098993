/**
 * What differs in version-16 as far as the operator can see. The column Test of
 * docs/contributing/frappe-16.md names the facts that this file holds.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { VERSIONS } from '../../testbed/stand-in/image.js';
import { eventually, get, redisCli, SCRIPTS } from '../jobs/servers.js';
import { type Site, Stack, needsImage } from './fixture.js';

const possible = await needsImage('mariadbd', 'redis-server', 'python3');
const PING = '/api/method/ping';

describe('version-16 of the framework image', possible, () => {
  let stack: Stack;
  let site: Site;
  before(async () => {
    stack = await Stack.start('mariadb', VERSIONS.next);
    site = stack.site({ DB_USER: 'another_name' });
    const created = await site.init();
    assert.equal(created.code, 0, created.output);
  });
  after(() => stack.stop());

  it('connects as the user that the configuration names', () => {
    const { db_user: user, db_name: name } = stack.bench.json(site.name, 'site_config.json');
    assert.deepEqual([user, name], ['another_name', 'site1_data']);
    const apps = site.bench('execute', 'frappe.get_installed_apps');
    assert.match(apps.output, /\["frappe"\]/);
  });

  it('takes its own flags, and a scope for the database user; removes locks', () => {
    const { database, bench } = stack;
    const locks = join(bench.sites, 'x.example/locks');
    mkdirSync(locks, { recursive: true });
    writeFileSync(join(locks, 'left.lock'), '');
    const made = bench.bench(
      ...[
        'new-site',
        'x.example',
        '--force',
        '--db-host=127.0.0.1',
        `--db-port=${String(database.port)}`,
      ],
      ...['--db-user=x_user', '--db-password=p', '--admin-password=a'],
      ...[`--db-root-username=${database.adminUser}`],
      ...[`--db-root-password=${database.adminPassword}`, '--mariadb-user-host-login-scope=%'],
    );
    assert.equal(made.code, 0, made.output);
    const { db_name: name } = bench.json('x.example', 'site_config.json');
    assert.match(String(name), /^_[0-9a-f]{16}$/);
    assert.ok(!existsSync(join(locks, 'left.lock')));
    const named = bench.bench('new-site', 'frappe', '--admin-password=a');
    assert.equal(named.code, 1, named.output);
  });

  it('sees maintenance only after a minute in a process that knows the site', async () => {
    const web = await stack.bench.gunicorn({}, 'frappe.app:application');
    const status = async () => (await get(web.port, PING, { Host: site.name })).status;
    assert.equal(await status(), 200);
    assert.equal(site.bench('set-maintenance-mode', 'on').code, 0);
    assert.equal(await status(), 200);
    await web.server.stop();
    const fresh = await stack.bench.gunicorn({}, 'frappe.app:application');
    assert.equal((await get(fresh.port, PING, { Host: site.name })).status, 503);
    await fresh.server.stop();
    assert.equal(site.bench('set-maintenance-mode', 'off').code, 0);
  });

  it('works off jobs with RQ 2', async () => {
    const { port, password } = stack.queue;
    const kwargs = `--kwargs={"method": "frappe.client.insert", "doc": {"doctype": "ToDo", "description": "sixteen"}}`;
    const enqueued = site.bench('execute', 'frappe.enqueue', kwargs);
    assert.equal(enqueued.code, 0, enqueued.output);
    // RQ 2.6 takes no colons in ids.
    const ids = redisCli(port, password, 'LRANGE', 'rq:queue:test-bench:default', '0', '-1');
    assert.match(ids, /^site1\.example\.com\|\|[0-9a-f-]{36}$/);
    assert.equal(site.bench('ready-for-migration').code, 1);
    const worker = stack.bench.daemon(['bench', 'worker', '--queue', 'default']);
    await eventually(
      'the job ran',
      () => site.sql("SELECT COUNT(*) FROM tabToDo WHERE description = 'sixteen'") === '1',
    );
    assert.equal((await worker.stop()).code, 0, worker.log());
  });

  it('ends where the common configuration is broken', () => {
    const path = join(stack.bench.sites, 'common_site_config.json');
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, '{"half":');
    const done = site.bench('set-config', 'x', '1');
    writeFileSync(path, text);
    assert.equal(done.code, 1, done.output);
    assert.match(done.output, /JSONDecodeError/);
  });

  it('prints an error again below its traceback, and names similar commands', () => {
    const failed = site.bench('execute', 'os.getcwd');
    assert.equal(failed.code, 1, failed.output);
    assert.match(
      failed.output,
      /Traceback[^]*AppNotInstalledError: App os is not installed\n+App os is not installed\n$/,
    );
    const unknown = site.bench('migrat');
    assert.equal(unknown.code, 2, unknown.output);
    assert.match(unknown.output, /No such command: migrat[^]*migrate/);
  });

  it('runs one Job of a site at a time, whatever new-site removes', async () => {
    const other = stack.site({ STANDIN_PAUSE: '1', LOCK_WAIT_SECONDS: '0' });
    const first = other.init();
    // new-site makes the folder again after it has removed it.
    await eventually('new-site runs', () => stack.bench.exists(other.name, 'locks'));
    const second = await other.init();
    assert.match(second.lastLine, /^app-operator: SiteBusy: /, second.output);
    const done = await first;
    assert.equal(done.code, 0, done.output);
  });

  it('takes the login of the database from the environment, which the Jobs of the operator remove', async () => {
    const other = {
      FRAPPE_DB_USER: 'other_login',
      FRAPPE_DB_NAME: 'none',
      FRAPPE_DB_PASSWORD: 'x',
    };
    const refused = stack.bench.run(['bench', '--site', site.name, 'list-apps'], other);
    assert.equal(refused.code, 1, refused.output);
    assert.match(refused.output, /other_login/);
    const done = await site.with(other).init();
    assert.equal(done.code, 0, done.output);
  });

  it('asks for a server by each of its addresses when it migrates', (t) => {
    const { port, password } = stack.cache;
    if (
      !Object.values(networkInterfaces())
        .flat()
        .some((one) => one?.address === '::1')
    ) {
      t.skip('this machine has no IPv6');
      return;
    }
    const url = `redis://:${encodeURIComponent(password)}@[::1]:${String(port)}`;
    const migrated = stack.bench.run(['bench', '--site', site.name, 'migrate'], {
      FRAPPE_REDIS_CACHE: url,
    });
    assert.equal(migrated.code, 0, migrated.output);
  });

  it('fails each request where the cache has no CLIENT TRACKING, which bench_init.py names', async () => {
    const { port, password } = stack.cache;
    const allow = (command: string) =>
      redisCli(port, password, 'ACL', 'SETUSER', 'default', command);
    allow('-client|tracking');
    const web = await stack.bench.gunicorn({}, 'frappe.app:application');
    const status = async () => (await get(web.port, PING, { Host: site.name })).status;
    assert.equal(await status(), 500);
    const refused = await stack.initBench();
    assert.match(refused.lastLine, /^app-operator: RedisUnsupported: redis_cache at 127\.0\.0\.1:/);
    allow('+client|tracking');
    assert.equal(await status(), 200);
    assert.equal((await stack.initBench()).code, 0);
    await web.server.stop();
  });

  it('has one scheduler for each folder config, which runs for open sites by scheduler.py', async () => {
    assert.equal((await stack.initBench(stack.bench, { scheduler_tick_interval: 1 })).code, 0);
    site.sql("UPDATE `tabScheduled Job Type` SET creation = '2020-01-01'");
    const { port, password } = stack.queue;
    const start = () => stack.bench.daemon([stack.bench.python, join(SCRIPTS, 'scheduler.py')]);
    redisCli(port, password, 'DEL', 'rq:queue:test-bench:default');
    const first = start();
    await eventually(
      'due jobs wait',
      () => redisCli(port, password, 'LLEN', 'rq:queue:test-bench:default') !== '0',
    );
    const second = start();
    await eventually('the second one ends', () => second.process.exitCode !== null);
    assert.equal(second.process.exitCode, 0, second.log());
    assert.equal(first.process.exitCode, null, first.log());
    assert.doesNotMatch(first.log(), /runs for all sites/);
    await first.stop();
  });

  it('is backed up, migrated and dropped by the login that differs from the database', async () => {
    const { database } = stack;
    const other = stack.site({ DB_USER: 'login_of_16', IMAGE: 'bench:1' });
    assert.equal((await other.init()).code, 0);
    const done = await other.with({ IMAGE: 'bench:2' }).init();
    assert.equal(done.code, 0, done.output);
    assert.match(done.lastLine, /"migrated": true/);
    const users = () => database.sql("SELECT User FROM mysql.user WHERE User = 'login_of_16'");
    assert.notEqual(users(), '');
    const dropped = await other.drop();
    assert.equal(dropped.code, 0, dropped.output);
    const data = `SHOW DATABASES LIKE '${other.env['DB_NAME'] ?? ''}'`;
    assert.deepEqual([users(), database.sql(data)], ['', '']);
  });
});
