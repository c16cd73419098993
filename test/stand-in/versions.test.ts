/**
 * Two versions of the image on the same sites: what a migrate changes, how it fails, and what
 * restores. Facts: docs/contributing/frappe-16.md, Upgrade from 15.
 */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { VERSIONS } from '../../testbed/stand-in/image.js';
import { get, redisCli } from '../jobs/servers.js';
import { describeOnServers, type ImageBench, type Site, type Web, type Stack } from './fixture.js';

const PING = '/api/method/ping';

const servers = new Map<ImageBench, Web>();

/** Status of a ping through a gunicorn of that image, without the operator's gate. */
async function pingOf(bench: ImageBench, site: Site): Promise<number> {
  const web = servers.get(bench) ?? (await bench.gunicorn({}, 'frappe.app:application'));
  servers.set(bench, web);
  return (await get(web.port, PING, { Host: site.name })).status;
}

async function created(stack: Stack): Promise<Site> {
  const site = stack.site();
  const done = await site.init();
  assert.equal(done.code, 0, done.output);
  return site;
}

const migrate = (bench: ImageBench, site: Site) => bench.bench('--site', site.name, 'migrate');

await describeOnServers('versions of the framework image', (stack) => {
  let next: ImageBench;
  after(async () => {
    for (const web of servers.values()) await web.server.stop();
    servers.clear();
  });

  it('code and schema must be of one version', async () => {
    const old = stack().bench;
    next = await old.other(VERSIONS.second);
    const site = await created(stack());
    assert.equal(await pingOf(next, site), 500);
    assert.equal(await pingOf(old, site), 200);

    const done = migrate(next, site);
    assert.equal(done.code, 0, done.output);
    assert.match(done.output, /Executing frappe\.patches\.v15_45\.rename_last_active in /);
    assert.equal(await pingOf(next, site), 200);
    assert.equal(await pingOf(old, site), 500);
    assert.doesNotMatch(migrate(next, site).output, /Executing/);
  });

  it('a new site of the later version has its patches behind it', async () => {
    const site = stack().site();
    const done = await site.init(next);
    assert.equal(done.code, 0, done.output);
    assert.doesNotMatch(migrate(next, site).output, /Executing/);
    assert.equal(await pingOf(next, site), 200);
  });

  it('a patch that fails at first leaves the old schema', async () => {
    const site = await created(stack());
    site.sql("UPDATE `tabUser` SET `email` = 'same@example.com'");
    const done = migrate(next, site);
    assert.equal(done.code, 1, done.output);
    assert.equal(await pingOf(stack().bench, site), 200);
    assert.equal(migrate(stack().bench, site).code, 0);

    site.sql('UPDATE `tabUser` SET `email` = `name`');
    assert.equal(migrate(next, site).code, 0);
    assert.equal(await pingOf(next, site), 200);
  });

  it('a patch that fails later leaves a schema that only a backup brings back', async () => {
    const site = await created(stack());
    const { bench, database } = stack();
    const insert = `--kwargs={"doc": {"doctype": "ToDo", "description": "d", "status": "Odd"}}`;
    assert.equal(site.bench('execute', 'frappe.client.insert', insert).code, 0);
    assert.equal(site.bench('set-config', 'mark', 'kept').code, 0);
    const folder = join(bench.sites, '..', `backups-${site.name}`);
    const taken = site.bench('backup', '--with-files', '--compress', `--backup-path=${folder}`);
    assert.equal(taken.code, 0, taken.output);
    const slug = site.name.replaceAll('.', '_');
    const names = readdirSync(folder).map((name) => name.replace(/^\d{8}_\d{6}-/, ''));
    assert.deepEqual(names.sort(), [
      `${slug}-database.sql.gz`,
      `${slug}-files.tgz`,
      `${slug}-private-files.tgz`,
      `${slug}-site_config_backup.json`,
    ]);

    const failed = migrate(next, site);
    assert.equal(failed.code, 1);
    assert.match(failed.output, /ToDo \w+ has an unknown status/);
    assert.equal(await pingOf(bench, site), 500);

    if (database.type === 'postgres') database.sql('CREATE DATABASE dbadmin');
    const dump = readdirSync(folder).find((name) => name.endsWith('.sql.gz')) ?? '';
    const root = [
      `--db-root-username=${database.adminUser}`,
      `--db-root-password=${database.adminPassword}`,
    ];
    const restore = (...more: readonly string[]) =>
      site.bench('restore', join(folder, dump), ...more, '--force', '--admin-password=other');
    assert.equal(restore().code, 1);
    assert.equal(site.bench('restore', 'missing.sql.gz', ...root).code, 1);
    const restored = restore(...root);
    assert.equal(restored.code, 0, restored.output);
    assert.equal(await pingOf(bench, site), 200);
    assert.equal(site.sql('SELECT status FROM `tabToDo`'), 'Odd');
    assert.equal(bench.json(site.name, 'site_config.json')['mark'], 'kept');
    // --admin-password has no effect: the dump's password is the site's.
    assert.match((await site.init()).lastLine, /Succeeded/);
    if (database.type === 'mariadb') {
      const hosts = database.sql(
        `SELECT Host FROM mysql.user WHERE User = '${String(site.env['DB_USER'])}'`,
      );
      assert.equal(hosts, '%\n127.0.0.1'); // restore makes a user of the Job's own address
    }
  });

  it('the Job of a site migrates for another image, and again after a failure', async () => {
    const first = stack().site({ IMAGE: 'bench:1' });
    const done = await first.init();
    assert.equal(done.code, 0, done.output);
    first.sql("UPDATE `tabUser` SET `email` = 'same@example.com'");
    const second = first.with({ IMAGE: 'bench:2' });
    const failed = await second.init(next);
    assert.equal(failed.code, 1, failed.output);
    assert.match(failed.lastLine, /MigrationFailed: /);
    assert.match(failed.output, /Duplicate entry|duplicate|unique/i);
    assert.equal(await pingOf(next, second), 503);

    second.sql('UPDATE `tabUser` SET `email` = `name`');
    const again = await second.init(next);
    assert.equal(again.code, 0, again.output);
    assert.match(again.lastLine, /"frappe": "15\.45\.0".*"migrated": true/);
    assert.equal(await pingOf(next, second), 200);
    assert.match((await second.init(next)).lastLine, /"migrated": false/);
  });

  it('the Job of a site returns to the old image with the backup and the waiting jobs', async () => {
    const { bench, queue } = stack();
    const waiting = () => redisCli(queue.port, queue.password, 'LLEN', 'rq:queue:test-bench:short');
    const first = stack().site({ IMAGE: 'bench:1' });
    assert.equal((await first.init()).code, 0);
    const odd = `--kwargs={"doc": {"doctype": "ToDo", "description": "d", "status": "Odd"}}`;
    assert.equal(first.bench('execute', 'frappe.client.insert', odd).code, 0);
    const job = `--kwargs={"method": "frappe.ping", "queue": "short"}`;
    assert.equal(first.bench('execute', 'frappe.enqueue', job).code, 0);
    assert.equal(waiting(), '1');

    const failed = await first.with({ IMAGE: 'bench:2' }).init(next);
    assert.equal(failed.code, 1, failed.output);
    assert.match(failed.lastLine, /MigrationFailed: .*backup.*ToDo \w+ has an unknown status/);
    assert.equal(waiting(), '0');
    const old = await bench.gunicorn({ IMAGE: 'bench:1' });
    const ping = async () => (await get(old.port, PING, { Host: first.name })).status;
    assert.equal(await ping(), 503);

    const back = await first.init();
    assert.equal(back.code, 0, back.output);
    assert.equal(await ping(), 200);
    assert.equal(first.sql('SELECT status FROM `tabToDo`'), 'Odd');
    assert.equal(waiting(), '1');
    assert.equal(bench.bench('worker', '--burst').code, 0);
    await old.server.stop();
  });

  it('a dump of the later version is refused without --force', async (t) => {
    if (stack().database.type === 'postgres') {
      t.skip("the framework reads the version of MariaDB's dumps only");
      return;
    }
    const site = stack().site();
    assert.equal((await site.init(next)).code, 0);
    const folder = join(stack().bench.sites, '..', 'later');
    next.bench(
      '--site',
      site.name,
      'backup',
      `--backup-path-db=${folder}/later.sql.gz`,
      `--backup-path=${folder}`,
    );
    const refused = site.bench('restore', `${folder}/later.sql.gz`);
    assert.equal(refused.code, 1, refused.output);
    assert.match(refused.output, /on Frappe 15\.44\.2 and your backup is 15\.45\.0[^]*Aborted/);
  });

  it('pages link the old assets until bench_init.py of the new image has run', async () => {
    const { bench, cache } = stack();
    const site = await created(stack());
    const linked = async (image: ImageBench): Promise<string> => {
      const web = await image.gunicorn({}, 'frappe.app:application');
      const { body, status } = await get(web.port, '/login', { Host: site.name });
      await web.server.stop();
      assert.equal(status, 200, body);
      return /src="([^"]+)"/.exec(body)?.[1] ?? '';
    };
    const old = await linked(bench);
    assert.equal(redisCli(cache.port, cache.password, 'EXISTS', 'assets_json'), '1');
    assert.equal(migrate(next, site).code, 0);
    assert.equal(await linked(next), old);
    assert.equal((await stack().initBench(next)).code, 0);
    const fresh = await linked(next);
    assert.notEqual(fresh, old);
    assert.ok(next.exists(fresh.slice(1)) && !next.exists(old.slice(1)));
    assert.equal((await stack().initBench(bench)).code, 0);
  });
});
