/**
 * What differs in version-16 as far as the operator can see: flags, the database's user, a
 * configuration that is kept a minute, RQ 2.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { VERSIONS } from '../../testbed/stand-in/image.js';
import { eventually, get, redisCli } from '../jobs/servers.js';
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

  it('takes its own flags, and a scope for the database user', () => {
    const { database, bench } = stack;
    const made = bench.bench(
      ...['new-site', 'x.example', '--db-host=127.0.0.1', `--db-port=${String(database.port)}`],
      ...['--db-user=x_user', '--db-password=p', '--admin-password=a'],
      ...[`--db-root-username=${database.adminUser}`],
      ...[`--db-root-password=${database.adminPassword}`, '--mariadb-user-host-login-scope=%'],
    );
    assert.equal(made.code, 0, made.output);
    const { db_name: name } = bench.json('x.example', 'site_config.json');
    assert.match(String(name), /^_[0-9a-f]{16}$/);
    const again = bench.bench('new-site', 'frappe', '--admin-password=a');
    assert.equal(again.code, 2, again.output);
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
});
