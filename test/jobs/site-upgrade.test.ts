/**
 * Upgrades by site_init.py and site_reopen.py, against real MariaDB and PostgreSQL servers, their own dump programs and a
 * real Redis. The framework is a stand-in (testbed/stand-in, test code).
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { cpSync, existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { readySite } from './ready-site.js';
import {
  daemon,
  type Env,
  eventually,
  mounts,
  redisCli,
  required,
  temporaryDirectory,
} from './servers.js';
import {
  aBench,
  databaseOf,
  describeOnServers,
  setAppVersion,
  type SiteJobs,
  type TestServers,
} from './site-fixture.js';

const [OLD, NEW, NEWER] = [
  'registry/erpnext:v15.44.2',
  'registry/erpnext:v15.45.0',
  'registry/erpnext:v15.46.0',
];
const PREFIX = 'team.b.shop';
const DEDICATED = { SITE_CONFIG: `{"bench_id":"${PREFIX}","maintenance_mode":0}` };

/** Two requests that wait for another service: in a transaction, and between two. */
const REQUESTS = `
import os, sys, time
if sys.argv[1] == "mariadb":
    import pymysql as driver
else:
    import psycopg2 as driver
login = {"host": "127.0.0.1", "port": int(os.environ["PORT"]), "user": sys.argv[2], "database": sys.argv[2]}
within, between = (driver.connect(**login, password="site \\"quoted' pw") for _ in range(2))
insert = "INSERT INTO " + os.environ["TABLE"] + " VALUES (%s)"
within.cursor().execute(insert, ("early",))
between.cursor().execute("SELECT 1")
between.commit()
print("at work", flush=True)
while not os.path.exists(os.environ["GO"]):
    time.sleep(0.1)
for connection, rows in ((within, []), (between, ["late"])):
    try:
        for row in rows:
            connection.cursor().execute(insert, (row,))
        connection.commit()
        print("committed")
    except driver.Error:
        print("refused")
`;

interface Marker {
  readonly code: Readonly<Record<string, string>>;
  readonly upgrade?: Readonly<Record<string, unknown>>;
}

const markerOf = (site: SiteJobs): Marker => site.json('.app-operator.json') as unknown as Marker;
const settingsOf = (site: SiteJobs): unknown[] => {
  const config = site.json('site_config.json');
  return [config['maintenance_mode'], config['pause_scheduler'], config['bench_id']];
};
const backupOf = (site: SiteJobs): string => {
  const [directory = ''] = readdirSync(site.path('private/upgrades'));
  return join(site.path('private/upgrades', directory), 'database.sql.gz');
};

describeOnServers('an upgrade', (servers) => {
  const redis = (...args: readonly string[]): string =>
    redisCli(servers.redis.port, servers.redis.password, ...args);
  const queue = (name: string): string[] =>
    redis('LRANGE', `rq:queue:${name}`, '0', '-1').split('\n').filter(Boolean);
  /** A site on the old image; `to` gives the image another version, with its patches. */
  const started = async (
    env: Env = DEDICATED,
  ): Promise<{
    site: SiteJobs;
    to: (image: string, version: string, patch?: 'half') => SiteJobs;
  }> => {
    const bench = aBench('15.44.2', servers.redis);
    const change = { ...env, IMAGE: OLD, KEEP_CLOSED: '1' };
    const site = await readySite(bench, servers.database, change);
    return {
      site,
      to: (image, version, patch) => {
        setAppVersion(bench, 'frappe', version, patch);
        return site.with({ IMAGE: image });
      },
    };
  };
  const modules = (site: SiteJobs): string =>
    servers.sqlOf(site, `SELECT COUNT(*) FROM ${servers.quoted('tabProbe')}`);
  const hasTable = (site: SiteJobs, table: string): boolean =>
    servers.sqlOf(
      site,
      `SELECT COUNT(*) FROM information_schema.tables WHERE table_name = '${table}' AND table_schema ${servers.type === 'mariadb' ? '= DATABASE()' : "= 'public'"}`,
    ) === '1';
  const addModule = (w: TestServers, site: SiteJobs, name: string): void => {
    w.sqlOf(site, `INSERT INTO ${w.quoted('tabProbe')} VALUES ('${name}')`);
  };

  it('closes the site, backs it up, migrates, and stays closed until it is reopened', async () => {
    const { site, to } = await started();
    addModule(servers, site, "it''s kept");
    const upgraded = to(NEW, '15.45.0');
    const result = await upgraded.init();
    assert.match(result.lastLine, /"migrated": true/, result.output);
    assert.deepEqual(settingsOf(site), [1, 1, `${PREFIX}.closed.${site.name}`]);
    assert.equal(markerOf(site).code['image'], NEW);
    assert.equal(markerOf(site).upgrade?.['migrated'], true);
    const dump = gunzipSync(readFileSync(backupOf(site))).toString();
    assert.match(dump, /tabProbe/);
    assert.doesNotMatch(result.output, /site "quoted/, 'no password in the log');
    const opened = await upgraded.reopen();
    assert.match(opened.lastLine, /Succeeded: \{"opened": true\}/, opened.output);
    assert.deepEqual(settingsOf(site), [0, undefined, PREFIX]);
    assert.equal(markerOf(site).upgrade, undefined);
    assert.ok(existsSync(backupOf(site)), 'the backup of the last upgrade stays');
    assert.match((await upgraded.reopen()).lastLine, /"opened": false/);
    assert.match((await upgraded.init()).lastLine, /"migrated": false/);
  });

  it('waits for connections to the database to close, then ends them, also idle ones', async () => {
    const { site, to } = await started();
    const go = join(temporaryDirectory(), 'go');
    const requests = daemon([required('python3'), '-c', REQUESTS, servers.type, databaseOf(site)], {
      PORT: String(servers.database.port),
      TABLE: servers.quoted('tabProbe'),
      GO: go,
    });
    await eventually('both are connected', () => requests.log() === 'at work\n');
    const result = await to(NEW, '15.45.0').with({ CONNECTIONS_WAIT_SECONDS: '1' }).init();
    writeFileSync(go, '');
    assert.equal(result.code, 0, result.output);
    assert.match(result.output, /^ending 2 connections to /m);
    await eventually('both have ended', () => requests.process.exitCode === 0);
    assert.equal(requests.log(), 'at work\nrefused\nrefused\n');
    assert.equal(modules(site), '0');
    assert.doesNotMatch(gunzipSync(readFileSync(backupOf(site))).toString(), /early|late/);
  });

  it('leaves the site open and unchanged if the backup fails', async () => {
    const { site, to } = await started();
    writeFileSync(site.path('private/upgrades'), 'not a folder');
    const refused = await to(NEW, '15.45.0').init();
    assert.match(
      refused.lastLine,
      /^app-operator: UnsafeFile: .*\/private\/upgrades\/.* is open as before$/,
    );
    assert.deepEqual(settingsOf(site), [0, undefined, PREFIX]);
    assert.equal(markerOf(site).upgrade, undefined);
  });

  it('removes a backup that fills the volume, so that the site can be opened', async (context) => {
    const { site, to } = await started();
    const sites = join(site.bench, 'sites');
    const copy = temporaryDirectory();
    cpSync(sites, copy, { recursive: true });
    if (!mounts(context, sites, '1m')) return;
    cpSync(copy, sites, { recursive: true });
    for (let n = 0; n < 60; n += 1) {
      const noise = randomBytes(30_000).toString('hex');
      servers.sqlOf(
        site,
        `INSERT INTO ${servers.quoted('tabSingles')} VALUES ('n', 'n${String(n)}', '${noise}')`,
      );
    }
    const marker = markerOf(site);
    const refused = await to(NEW, '15.45.0').init();
    assert.match(
      refused.lastLine,
      /^app-operator: BackupFailed: .*No space left on device.* is open as before$/,
      refused.output,
    );
    assert.deepEqual(settingsOf(site), [0, undefined, PREFIX]);
    assert.deepEqual(markerOf(site), { ...marker, closings: 1 });
    assert.deepEqual(readdirSync(dirname(backupOf(site))), []);
  });

  it('leaves the site open and unchanged if the database ends the Job’s connection', async () => {
    const { site, to } = await started();
    const user = databaseOf(site);
    const requests = daemon([required('python3'), '-c', REQUESTS, servers.type, user], {
      PORT: String(servers.database.port),
      TABLE: servers.quoted('tabProbe'),
      GO: '/dev/null/never',
    });
    await eventually('both are connected', () => requests.log() === 'at work\n');
    const running = to(NEW, '15.45.0').init();
    const list = servers.type === 'mariadb' ? 'information_schema.PROCESSLIST' : 'pg_stat_activity';
    const name = servers.type === 'mariadb' ? 'USER' : 'usename';
    await eventually('it waits for the connections of others', () => {
      const count = servers.database.sql(`SELECT COUNT(*) FROM ${list} WHERE ${name} = '${user}'`);
      return markerOf(site).upgrade !== undefined && count === '3';
    });
    servers.database.sql(
      servers.type === 'mariadb'
        ? `KILL USER ${user}`
        : `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${user}'`,
    );
    const refused = await running;
    await requests.stop();
    assert.match(refused.lastLine, /^app-operator: BackupFailed: .* is open as before$/);
    assert.deepEqual(settingsOf(site), [0, undefined, PREFIX]);
    assert.equal(markerOf(site).upgrade, undefined);
  });

  it('keeps the site closed if the backup is damaged, and reports it', async () => {
    const { site, to } = await started();
    await to(NEW, '15.45.0', 'half').init();
    writeFileSync(backupOf(site), readFileSync(backupOf(site)).subarray(0, 300));
    const failed = await to(OLD, '15.44.2').init();
    assert.match(failed.lastLine, /^app-operator: RestoreFailed: .* stays in maintenance/);
    assert.equal(settingsOf(site)[0], 1);
  });

  it('keeps the site closed after a failed migration; with the previous image it loads the backup', async () => {
    const { site, to } = await started();
    addModule(servers, site, 'kept');
    const cached = `${databaseOf(site)}|user`;
    redis('SET', cached, 'of the new code');
    redis('SET', 'other_site|user', 'kept');
    const failed = await to(NEW, '15.45.0', 'half').init();
    assert.match(
      failed.lastLine,
      /^app-operator: MigrationFailed: .* stays in maintenance, its backup is sites\/.*\/private\/upgrades\/registry-erpnext-v15.44.2-[0-9a-f]{8}\/database.sql.gz: .*failed half way/,
    );
    assert.equal(failed.terminationMessage, failed.lastLine);
    assert.deepEqual(
      [modules(site), hasTable(site, 'tabHalf'), hasTable(site, '__Auth')],
      ['0', true, false],
    );
    const before = readFileSync(backupOf(site));
    assert.equal((await to(NEW, '15.45.0', 'half').init()).code, 1);
    assert.deepEqual(
      readFileSync(backupOf(site)),
      before,
      'a second attempt makes no second backup',
    );
    assert.match(
      (await site.with({ IMAGE: NEW }).reopen()).lastLine,
      /^app-operator: UpgradeUnfinished: /,
    );
    const back = to(OLD, '15.44.2');
    const result = await back.init();
    assert.equal(result.code, 0, result.output);
    assert.deepEqual([redis('GET', cached), redis('GETDEL', 'other_site|user')], ['', 'kept']);
    assert.deepEqual(
      [modules(site), hasTable(site, 'tabHalf'), hasTable(site, '__Auth')],
      ['1', false, true],
    );
    assert.equal((await back.reopen()).code, 0);
    assert.deepEqual(settingsOf(site), [0, undefined, PREFIX]);
    assert.equal(markerOf(site).code['image'], OLD);
  });

  it('loads the backup of a failed upgrade into no database of that name on another server', async () => {
    const { site, to } = await started();
    assert.match((await to(NEW, '15.45.0', 'half').init()).lastLine, /MigrationFailed/);
    servers.setPassword(databaseOf(site), 'of production');
    servers.sqlOf(site, 'CREATE TABLE precious (id int)');
    const back = to(OLD, '15.44.2');
    const result = await back.with({ DB_HOST: '127.1' }).init();
    assert.match(result.lastLine, /^app-operator: DatabaseServerMismatch: /, result.output);
    assert.ok(hasTable(site, 'precious'));
  });

  it('restores the backup also after a successful migration, until the site was opened', async () => {
    const { site, to } = await started();
    assert.equal((await to(NEW, '15.45.0').init()).code, 0);
    const back = to(OLD, '15.44.2');
    assert.equal((await back.init()).code, 0);
    assert.equal(
      servers.sqlOf(site, `SELECT COUNT(*) FROM ${servers.quoted('tabMigration')}`),
      '0',
    );
    assert.equal((await back.reopen()).code, 0);
    assert.equal(markerOf(site).code['image'], OLD);
  });

  it('reports a killed migration, and starts it again', async () => {
    const { site, to } = await started();
    const killed = await to(NEW, '15.45.0', 'half').with({ STANDIN_KILL: '1' }).init();
    assert.match(
      killed.terminationMessage,
      /^app-operator: MigrationFailed: .* its backup is .*: the Job was killed/,
    );
    assert.equal(markerOf(site).upgrade?.['changed'], true);
    assert.equal((await to(OLD, '15.44.2').init()).code, 0);
    assert.equal(modules(site), '0');
    assert.equal(hasTable(site, '__Auth'), true);
  });

  it('loads the backup again after a kill during loading', async () => {
    const { site, to } = await started();
    addModule(servers, site, 'kept');
    await to(NEW, '15.45.0', 'half').init();
    const marker = markerOf(site);
    writeFileSync(
      site.path('.app-operator.json'),
      JSON.stringify({ ...marker, upgrade: { ...marker.upgrade, restoring: true } }),
    );
    for (const table of ['tabDefaultValue', 'tabSingles', 'tabProbe', 'tabMigration', 'tabHalf']) {
      servers.sqlOf(site, `DROP TABLE ${servers.quoted(table)}`);
    }
    const again = await to(NEW, '15.45.0').init();
    assert.equal(again.code, 0, `even with the image that failed: ${again.output}`);
    assert.deepEqual([modules(site), hasTable(site, 'tabHalf')], ['1', false]);
  });

  // What follows is the same on both kinds of servers.
  if (servers.type === 'postgres') return;

  it('opens automatically if no process of the old image can run', async () => {
    const { to } = await started();
    const site = to(NEW, '15.45.0').with({ KEEP_CLOSED: '' });
    assert.equal((await site.init()).code, 0);
    assert.deepEqual(settingsOf(site), [0, undefined, PREFIX]);
  });

  it('does not begin while workers of an unknown image run', async () => {
    const { to } = await started();
    const site = to(NEW, '15.45.0').with({ KEEP_CLOSED: '' });
    redis('SADD', `rq:workers:${PREFIX}:short`, 'rq:worker:w1');
    redis('SET', 'rq:worker:w1', '1');
    const refused = await site.init();
    redis('DEL', 'rq:worker:w1', `rq:workers:${PREFIX}:short`);
    assert.match(refused.lastLine, /^app-operator: UpgradeUnknown: /);
    assert.deepEqual(settingsOf(site), [0, undefined, PREFIX]);
  });

  it('sets the site’s jobs aside in order, and no other site’s', async () => {
    const { site, to } = await started({ SITE_CONFIG: '{"bench_id":null,"maintenance_mode":0}' });
    const common = join(site.bench, 'sites/common_site_config.json');
    const config = JSON.parse(readFileSync(common, 'utf8')) as object;
    writeFileSync(common, JSON.stringify({ ...config, bench_id: 'team.b' }));
    const own = [`${site.name}::1`, `${site.name}||2`, `${site.name}::3`];
    redis(
      'RPUSH',
      'rq:queue:team.b:short',
      own[0] ?? '',
      'other.example.com::1',
      own[1] ?? '',
      own[2] ?? '',
    );
    redis('RPUSH', 'rq:queue:team.b:mails', own[0] ?? '');
    redis('SADD', 'rq:queues', 'rq:queue:team.b:mails', 'rq:queue:team.b:short');
    const upgraded = to(NEW, '15.45.0');
    await upgraded.init();
    const aside = `team.b.closed.${site.name}`;
    assert.deepEqual(queue('team.b:short'), ['other.example.com::1']);
    assert.deepEqual(queue(`${aside}:short`), own);
    assert.deepEqual(queue(`${aside}:mails`), own.slice(0, 1));
    assert.match(readFileSync(site.path('migrations.txt'), 'utf8'), new RegExp(`15.45.0 ${aside}`));
    // What the migration enqueued comes back with the others, under the name of the queue that it is in by then.
    const enqueued = queue(`${aside}:long`);
    assert.equal(enqueued.length, 1, 'by the migration itself');
    redis('RPUSH', `rq:queue:${aside}:long`, `${site.name}::4`);
    redis('HSET', `rq:job:${site.name}::4`, 'origin', `${aside}:long`);
    redis('SADD', 'rq:queues', `rq:queue:${aside}:long`);
    await upgraded.reopen();
    assert.deepEqual(queue('team.b:short'), ['other.example.com::1', ...own]);
    assert.deepEqual(queue('team.b:mails'), own.slice(0, 1));
    assert.deepEqual(queue('team.b:long'), [...enqueued, `${site.name}::4`]);
    assert.equal(redis('HGET', `rq:job:${site.name}::4`, 'origin'), 'team.b:long');
    assert.equal(redis('KEYS', `rq:queue:${aside}:*`), '');
    assert.equal(redis('SMEMBERS', 'rq:queues').includes(aside), false);
    redis('DEL', 'rq:queue:team.b:short', 'rq:queue:team.b:mails', 'rq:queue:team.b:long');
  });

  it('waits for running jobs; if they do not end, the site is open as before', async () => {
    const { site, to } = await started();
    const lease = String(Math.floor(Date.now() / 1000) + 600);
    // The second one is as RQ 2 has it: with the id of its execution, and here without an end.
    redis('ZADD', `rq:wip:${PREFIX}:long`, lease, `${site.name}::7`);
    redis('ZADD', `rq:wip:${PREFIX}:long`, '+inf', `${site.name}||8:execution`);
    // A worker has taken it, and has not started it yet.
    const taken = `rq:queue:${PREFIX}:default:intermediate`;
    redis('RPUSH', taken, `${site.name}||10`);
    redis('ZADD', `rq:wip:${PREFIX}:short`, '1000', `${site.name}::8`); // its worker was killed long ago
    redis('RPUSH', `rq:queue:${PREFIX}:short`, `${site.name}::9`);
    const upgraded = to(NEW, '15.45.0').with({ JOBS_WAIT_SECONDS: '1' });
    const refused = await upgraded.init();
    assert.match(
      refused.lastLine,
      /^app-operator: JobsRunning: 3 background jobs .* is open as before$/,
    );
    assert.deepEqual(settingsOf(site), [0, undefined, PREFIX]);
    assert.deepEqual(queue(`${PREFIX}:short`), [`${site.name}::9`]);
    assert.equal(markerOf(site).code['image'], OLD);
    redis('DEL', `rq:wip:${PREFIX}:long`, taken);
    assert.equal((await upgraded.init()).code, 0);
    redis('DEL', `rq:queue:${PREFIX}:short`, `rq:wip:${PREFIX}:short`);
  });

  it('opens the site again if the Job fails after one that was killed while it closed the site', async () => {
    const { site, to } = await started();
    const lease = String(Math.floor(Date.now() / 1000) + 600);
    redis('ZADD', `rq:wip:${PREFIX}:long`, lease, `${site.name}::7`);
    const upgraded = to(NEW, '15.45.0');
    const killed = await upgraded.init(() => settingsOf(site)[0] === 1);
    redis('DEL', `rq:wip:${PREFIX}:long`);
    assert.deepEqual([killed.code, settingsOf(site)[0]], [null, 1], killed.output);
    const refused = await upgraded.with({ SITE_APPS: '["wiki"]' }).init();
    assert.match(refused.lastLine, /^app-operator: AppNotInImage: .* is open as before$/);
    assert.deepEqual(settingsOf(site), [0, undefined, PREFIX]);
    assert.equal(markerOf(site).upgrade, undefined);
    assert.equal(markerOf(site).code['image'], OLD);
  });

  it('migrates the data of the first image to a third one, and keeps its backup', async () => {
    const { site, to } = await started();
    addModule(servers, site, 'kept');
    await to(NEW, '15.46.0', 'half').init();
    const before = readFileSync(backupOf(site));
    const third = to(NEWER, '15.45.0');
    const result = await third.init();
    assert.equal(result.code, 0, result.output);
    assert.deepEqual([modules(site), hasTable(site, 'tabHalf')], ['1', false]);
    assert.deepEqual(readFileSync(backupOf(site)), before);
    assert.equal(markerOf(site).code['image'], NEWER);
    assert.equal((await third.reopen()).code, 0);
  });

  it('rejects older code and missing apps while the site is open, and changes nothing', async () => {
    const { site, to } = await started();
    const older = await to('registry/erpnext:v15.43.0', '15.43.9').init();
    assert.match(older.lastLine, /^app-operator: Downgrade: .*frappe 15.43.9 for data of 15.44.2/);
    assert.deepEqual(settingsOf(site), [0, undefined, PREFIX]);
    assert.equal(markerOf(site).upgrade, undefined);
  });

  it('installs new apps after the migration; a failure keeps the site closed', async () => {
    const { to } = await started();
    const growing = to(NEW, '15.45.0').with({ SITE_APPS: '["frappe","hrms"]' });
    writeFileSync(join(growing.bench, 'sites/apps.txt'), 'frappe\nerpnext\n');
    const failed = await growing.init();
    assert.match(failed.lastLine, /MigrationFailed: .* its backup is .*: AppInstallFailed: /);
    writeFileSync(join(growing.bench, 'sites/apps.txt'), 'frappe\nerpnext\nhrms\n');
    assert.match((await growing.init()).lastLine, /"hrms": "15.1.0"/);
    assert.equal((await growing.reopen()).code, 0);
  });

  it('keeps only the backup of the last upgrade', async () => {
    const { site, to } = await started();
    for (const [image, version] of [
      [NEW, '15.45.0'],
      [NEWER, '15.46.0'],
    ] as const) {
      const next = to(image, version);
      assert.equal((await next.init()).code, 0);
      assert.equal((await next.reopen()).code, 0);
    }
    assert.match(
      readdirSync(site.path('private/upgrades')).join(' '),
      /^registry-erpnext-v15.45.0-[0-9a-f]{8}$/,
    );
  });
});
