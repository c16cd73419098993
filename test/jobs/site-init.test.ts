/**
 * site_init.py making a site, against real MariaDB and PostgreSQL servers and a real Redis. The framework is a stand-in
 * (testbed/stand-in, test code): real SQL, real files, the real one's refusals.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { readySite } from './ready-site.js';
import { eventually, required, SCRIPTS, temporaryDirectory } from './servers.js';
import {
  AT_ONCE,
  KEY,
  type SiteJobs,
  aBench,
  aSite,
  databaseOf,
  describeOnServers,
  updateMarker,
} from './site-fixture.js';

const V15 = '15.44.2';
/** With this the stand-in fails after it has created its first table. */
const FAILS_HALF_WAY = { STANDIN_PAUSE: 'no number' };
/** The same server by another address: a Job cannot detect that it is the same. */
const ELSEWHERE = { DB_HOST: '127.1' };

/** A folder with programs that write their arguments to a file, and then run the real program. */
function recording(names: readonly string[], log: string): string {
  const folder = temporaryDirectory();
  for (const name of names) {
    const script = `#!/bin/sh\necho "$0 $*" >> ${log}\nexec ${required(name)} "$@"\n`;
    writeFileSync(join(folder, name), script, { mode: 0o755 });
  }
  return folder;
}

describeOnServers('site_init.py', (servers) => {
  /** An empty database with a user of its name, as an administrator prepares it. */
  const prepare = (name: string): void => {
    if (servers.type === 'mariadb') {
      servers.database.sql(
        `CREATE DATABASE ${name}; CREATE USER ${name} IDENTIFIED BY 'pw-of-1-db'; GRANT ALL ON ${name}.* TO ${name}`,
      );
    } else {
      servers.database.sql(`CREATE ROLE "${name}" LOGIN PASSWORD 'pw-of-1-db'`);
      servers.database.sql(`CREATE DATABASE "${name}" OWNER "${name}"`);
    }
  };
  const isPrepared = (name: string) => ({
    DB_NAME: name,
    DB_USER: name,
    DB_PASSWORD: 'pw-of-1-db',
    DB_ROOT_PASSWORD: '',
  });
  const halfMade = async (site: SiteJobs): Promise<SiteJobs> => {
    const result = await site.with(FAILS_HALF_WAY).init();
    assert.match(result.lastLine, /^app-operator: SiteCreationFailed: /, result.output);
    assert.equal(site.json('.app-operator.json')['state'], 'creating');
    return site;
  };
  const createdIn = async (site: SiteJobs): Promise<void> => {
    const result = await site.init();
    assert.equal(result.code, 0, result.output);
    assert.match(result.lastLine, /"created": true/);
  };

  it('creates a site with its apps and reports them in the termination message', async () => {
    const site = aSite(servers.bench, servers.database, {
      SITE_APPS: '["frappe","erpnext"]',
      SITE_CONFIG: '{"host_name":"https://x"}',
    });
    const result = await site.init();
    assert.equal(result.code, 0, result.output);
    assert.equal(
      result.lastLine,
      `app-operator: Succeeded: {"created": true, "apps": {"frappe": "${V15}", "erpnext": "15.1.0"}, "migrated": false}`,
    );
    assert.equal(result.terminationMessage, result.lastLine);
    const config = site.json('site_config.json');
    assert.equal(config['encryption_key'], KEY);
    assert.equal(config['host_name'], 'https://x');
    assert.match(String(config['app_operator_owner']), /^team\/shop/);
    assert.equal(statSync(site.path('site_config.json')).mode & 0o777, 0o640);
    assert.equal(site.json('.app-operator.json')['state'], 'complete');
  });

  const mysqlclient = spawnSync(required('python3'), ['-c', 'import MySQLdb']).status === 0;
  it(
    'runs in these tests with mysqlclient, the driver of version-16',
    {
      skip:
        servers.type !== 'mariadb' ||
        (!mysqlclient && 'NOT TESTED: apt-get install python3-mysqldb'),
    },
    () => {
      const script =
        'import sys; sys.path.insert(0, sys.argv[1]); import mariadb_server; print(mariadb_server.mysql_driver().__name__)';
      const { stdout, stderr } = spawnSync(required('python3'), ['-B', '-c', script, SCRIPTS]);
      assert.equal(String(stdout), 'MySQLdb\n', String(stderr));
    },
  );

  it('shows no secret, neither in its output nor in another program’s arguments', async () => {
    const log = join(temporaryDirectory(), 'arguments');
    const programs = recording(['mariadb', 'psql'], log);
    const PATH = `${programs}:${process.env['PATH'] ?? ''}`;
    const result = await aSite(servers.bench, servers.database, { PATH }).init();
    assert.equal(result.code, 0, result.output);
    const commands = readFileSync(log, 'utf8');
    assert.match(commands, /s\d+_shop/);
    for (const secret of ['quoted', 'r00t', '--admin', KEY]) {
      assert.ok(!result.output.includes(secret), `${secret} in the output`);
      assert.ok(!commands.includes(secret), `${secret} in arguments`);
    }
  });

  /** PostgreSQL continues a statement whose client was killed. */
  const isCreating = (): boolean =>
    servers.type === 'postgres' &&
    servers.database.sql(
      "SELECT COUNT(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'CREATE DATABASE%'",
    ) !== '0';

  it('completes a site whose creation was killed at any point', async () => {
    for (const killAfter of [150, 400, 700, 1000, 1400]) {
      const site = aSite(servers.bench, servers.database, { STANDIN_PAUSE: '0.15' });
      await site.init(killAfter);
      await eventually('the server has ended what was begun', () => !isCreating());
      const result = await site.with({ STANDIN_PAUSE: '0' }).init();
      assert.equal(result.code, 0, `killed after ${String(killAfter)} ms: ${result.output}`);
      assert.equal(servers.sqlOf(site, `SELECT COUNT(*) FROM ${servers.quoted('__Auth')}`), '1');
    }
  });

  it('rejects a database of another site, and changes nothing', async () => {
    const site = aSite(servers.bench, servers.database, {
      DB_NAME: 'of_others',
      DB_USER: 'of_others',
    });
    servers.database.sql('CREATE DATABASE of_others');
    servers.database.sql('CREATE TABLE precious (id int)', 'of_others');
    const result = await site.init();
    assert.equal(result.code, 1);
    assert.match(result.lastLine, /^app-operator: DatabaseExists: the database of_others exists/);
    assert.equal(servers.database.sql('SELECT COUNT(*) FROM precious', 'of_others'), '0');
    assert.ok(!site.exists());
  });

  it('reports SiteIncomplete when the files exist and the database does not', async () => {
    const site = await readySite(servers.bench, servers.database);
    servers.database.sql(`DROP DATABASE ${databaseOf(site)}`);
    const result = await site.init();
    assert.match(result.lastLine, /^app-operator: SiteIncomplete: .* has no database s\d+_shop$/);
    assert.ok(!servers.hasDatabase(databaseOf(site)), 'nothing was created in its place');
  });

  const tablesOf = (name: string): number => {
    const count =
      servers.type === 'mariadb'
        ? `SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = '${name}'`
        : "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'";
    return Number(servers.database.sql(count, name));
  };

  it('uses a prepared database without an administrator, and repairs it after a kill', async () => {
    const site = aSite(servers.bench, servers.database, {
      DB_ROOT_PASSWORD: '',
      DB_PASSWORD: 'pw-of-1-db',
      STANDIN_PAUSE: '2',
    });
    const missing = await site.with(AT_ONCE).init();
    assert.match(missing.lastLine, /^app-operator: Database(AccessDenied|Missing): /);
    const name = `s${/\d+/.exec(site.name)?.[0] ?? ''}_shop`;
    prepare(name);
    await site.init(() => tablesOf(name) > 0);
    assert.equal(site.json('.app-operator.json')['state'], 'creating');
    const result = await site.with({ STANDIN_PAUSE: '0' }).init();
    assert.equal(result.code, 0, result.output);
    assert.match(result.lastLine, /"created": true/);
  });

  it('reports a connection that was lost during the creation, and starts again', async () => {
    const site = aSite(servers.bench, servers.database, { STANDIN_PAUSE: '3' });
    const name = `s${/\d+/.exec(site.name)?.[0] ?? ''}_shop`;
    const running = site.init();
    const isBegun = (): boolean => servers.hasDatabase(name) && tablesOf(name) > 1;
    await eventually('tables are being made', isBegun);
    servers.database.sql(
      servers.type === 'mariadb'
        ? `KILL USER ${name}`
        : `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${name}'`,
    );
    const broken = await running;
    assert.match(
      broken.lastLine,
      /^app-operator: DatabaseConnectionLost: .*, while .* was created: /,
    );
    const result = await site.with({ STANDIN_PAUSE: '0' }).init();
    assert.equal(result.code, 0, result.output);
  });

  it('rejects a prepared database that has tables', async () => {
    const site = aSite(servers.bench, servers.database, isPrepared('full'));
    prepare('full');
    servers.database.sql('CREATE TABLE precious (id int)', 'full');
    const result = await site.init();
    assert.match(
      result.lastLine,
      /^app-operator: DatabaseExists: the prepared database full on \S+ is not empty \(1 tables\)/,
    );
  });

  it('empties only the prepared database in which the site’s creation began', async () => {
    for (const name of ['begun', 'corrected']) prepare(name);
    const site = await halfMade(aSite(servers.bench, servers.database, isPrepared('begun')));
    const corrected = site.with(isPrepared('corrected'));
    servers.database.sql('CREATE TABLE precious (id int)', 'corrected');
    for (let time = 0; time < 2; time += 1) {
      const result = await corrected.init();
      assert.match(
        result.lastLine,
        /^app-operator: DatabaseExists: the prepared database corrected on \S+ is not empty \(1 tables\), and shop\d+.example.com was not begun in it; /,
      );
      assert.equal(servers.database.sql('SELECT COUNT(*) FROM precious', 'corrected'), '0');
    }
    servers.database.sql('DROP TABLE precious', 'corrected');
    await halfMade(corrected);
    await createdIn(corrected);
    assert.equal(databaseOf(corrected), 'corrected');
  });

  it('empties no prepared database of the same name on another server', async () => {
    prepare('moved');
    const site = await halfMade(aSite(servers.bench, servers.database, isPrepared('moved')));
    servers.database.sql('CREATE TABLE precious (id int)', 'moved');
    const result = await site.with(ELSEWHERE).init();
    assert.match(
      result.lastLine,
      /^app-operator: DatabaseExists: the prepared database moved on 127.1:\d+ is not empty \(2 tables\)/,
    );
    await createdIn(site);
  });

  it('drops neither database nor user on a server where the site’s creation did not begin', async () => {
    const site = await halfMade(aSite(servers.bench, servers.database));
    const name = databaseOf(site);
    const moved = site.with(ELSEWHERE);
    servers.database.sql('CREATE TABLE precious (id int)', name);
    const result = await moved.init();
    assert.match(result.lastLine, /^app-operator: DatabaseExists: the database s\d+_shop exists /);
    assert.equal(servers.database.sql('SELECT COUNT(*) FROM precious', name), '0');
    servers.database.sql(`DROP DATABASE ${name}`);
    // The user's rights on another database show that it belongs to another site.
    servers.database.sql(`CREATE DATABASE other_${name}`);
    servers.database.sql(
      servers.type === 'mariadb'
        ? `GRANT ALL ON \`other\\_${name.replace('_', '\\_')}\`.* TO ${name}`
        : `ALTER DATABASE other_${name} OWNER TO ${name}`,
    );
    const refused = await moved.init();
    assert.match(refused.lastLine, /^app-operator: DatabaseUserExists: /, refused.output);
    servers.database.sql(`DROP DATABASE other_${name}`);
    if (servers.type === 'mariadb') servers.database.sql(`DROP USER ${name}`);
    await createdIn(moved);
  });

  const storedPassword = (user: string): string =>
    servers.database.sql(
      servers.type === 'mariadb'
        ? `SELECT authentication_string FROM mysql.user WHERE User = '${user}'`
        : `SELECT rolpassword FROM pg_authid WHERE rolname = '${user}'`,
    );

  it('changes no password of a user on another server than the one of the complete site', async () => {
    const site = await readySite(servers.bench, servers.database);
    const name = databaseOf(site);
    const port = String(servers.database.port);
    servers.setPassword(name, 'of production');
    const before = [storedPassword(name), site.json('site_config.json')];
    for (const record of [{}, { dbHost: undefined, dbPort: undefined }]) {
      updateMarker(site, record);
      const marker = site.json('.app-operator.json');
      const result = await site.with({ ...ELSEWHERE, DB_PASSWORD: 'a new one' }).init();
      assert.equal(
        result.lastLine,
        `app-operator: DatabaseServerMismatch: the database ${name} of ${site.name} is on 127.0.0.1:${port}, and 127.1:${port} refuses the site's password for ${name}: its database may belong to another site; nothing was touched; set the server back to 127.0.0.1:${port}`,
      );
      assert.deepEqual([storedPassword(name), site.json('site_config.json')], before);
      assert.deepEqual(site.json('.app-operator.json'), marker);
    }
    const back = await site.init();
    assert.equal(back.code, 0, back.output);
    assert.notEqual(storedPassword(name), before[0]);
  });

  it('uses the database of a complete site at another address, also with a new password', async () => {
    const site = await readySite(servers.bench, servers.database);
    const addresses = [ELSEWHERE, { DB_HOST: '127.0.0.1', DB_PASSWORD: 'a new one' }];
    for (const address of addresses) {
      const result = await site.with(address).init();
      assert.equal(result.code, 0, result.output);
      assert.equal(site.json('site_config.json')['db_host'], address.DB_HOST);
      assert.equal(site.json('.app-operator.json')['dbHost'], address.DB_HOST);
    }
    assert.equal(site.json('site_config.json')['db_password'], 'a new one');
  });

  it('completes a site whose marker names no server, as of an earlier operator', async () => {
    const old = (site: SiteJobs): void => {
      updateMarker(site, { dbHost: undefined, dbPort: undefined });
    };
    const shared = await halfMade(aSite(servers.bench, servers.database));
    old(shared);
    await createdIn(shared);

    prepare('older');
    const site = await halfMade(aSite(servers.bench, servers.database, isPrepared('older')));
    old(site);
    const moved = await site.with(ELSEWHERE).init();
    assert.match(moved.lastLine, /^app-operator: DatabaseExists: /);
    // Killed before it wrote the configuration: only an empty database can be the site's.
    const config = readFileSync(site.path('site_config.json'));
    rmSync(site.path('site_config.json'));
    assert.match((await site.init()).lastLine, /^app-operator: DatabaseExists: /);
    writeFileSync(site.path('site_config.json'), config);
    await halfMade(site);
    await createdIn(site);

    prepare('older_empty');
    const empty = await halfMade(aSite(servers.bench, servers.database, isPrepared('older_empty')));
    old(empty);
    rmSync(empty.path('site_config.json'));
    servers.database.sql(`DROP TABLE ${servers.quoted('tabDefaultValue')}`, 'older_empty');
    await createdIn(empty);
  });

  it('reports whether database or Redis is unreachable or denies access', async () => {
    const site = aSite(servers.bench, servers.database, AT_ONCE);
    const unreachable = await site.with({ DB_PORT: '1' }).init();
    assert.match(unreachable.lastLine, /^app-operator: DatabaseUnreachable: 127.0.0.1:1: /);
    const denied = await site.with({ DB_ROOT_PASSWORD: 'wrong-password' }).init();
    assert.match(denied.lastLine, /^app-operator: DatabaseAccessDenied: .* refuses dbadmin/);
    for (const [url, reason] of [
      ['redis://127.0.0.1:1', 'RedisUnreachable'],
      [`redis://:wrong@127.0.0.1:${String(servers.redis.port)}`, 'RedisAccessDenied'],
    ] as const) {
      const other = aBench(V15, servers.redis);
      writeFileSync(
        join(other, 'sites/common_site_config.json'),
        JSON.stringify({ redis_cache: url }),
      );
      const result = await aSite(other, servers.database, AT_ONCE).init();
      assert.match(result.lastLine, new RegExp(`^app-operator: ${reason}: redis_cache: `));
      assert.ok(!existsSync(join(other, 'sites', 'shop')), 'nothing was begun');
    }
  });

  it('creates a site with every version’s options', async () => {
    // Such a version writes the password into its SQL unquoted, and on PostgreSQL logs in to a database named like the user.
    if (servers.type === 'postgres')
      servers.database.sql(`CREATE DATABASE ${servers.database.adminUser}`);
    const old = aSite(aBench('15.41.0', servers.redis), servers.database, {
      DB_PASSWORD: 'plain-password',
    });
    const oldResult = await old.init();
    assert.equal(oldResult.code, 0, oldResult.output);
    const oldPrepared = await aSite(aBench('15.41.0', servers.redis), servers.database, {
      DB_ROOT_PASSWORD: '',
      DB_PASSWORD: 'plain-password',
      DB_NAME: databaseOf(old),
      DB_USER: databaseOf(old),
    }).init();
    assert.match(oldPrepared.lastLine, /^app-operator: NoRootRights: /);
    const renamed = await aSite(servers.bench, servers.database, { DB_USER: 'other_user' }).init();
    assert.match(renamed.lastLine, /^app-operator: DatabaseUserUnsupported: /);
    const sixteen = aSite(aBench('16.0.0', servers.redis), servers.database, {
      DB_USER: 'other_user_16',
    });
    const result = await sixteen.init();
    assert.equal(result.code, 0, result.output);
    assert.equal(sixteen.json('site_config.json')['db_user'], 'other_user_16');
  });

  it(
    'gives a site’s user no right on a neighbour’s database whose name differs by one character',
    { skip: servers.type !== 'mariadb' },
    async () => {
      const site = aSite(servers.bench, servers.database, { DB_NAME: 'a_b', DB_USER: 'a_b' });
      await site.init();
      assert.match(servers.database.sql("SHOW GRANTS FOR 'a_b'@'%'"), /ON `a\\+_b`\.\*/);
    },
  );

  // What follows is the same on both kinds of servers.
  if (servers.type === 'postgres') return;

  it('enables the scheduler, which the framework disables', async () => {
    const site = aSite(servers.bench, servers.database);
    await site.init();
    const statement = `SELECT value FROM ${servers.quoted('tabSingles')} WHERE field = 'enable_scheduler'`;
    assert.equal(servers.sqlOf(site, statement), '1');
  });

  it('adopts a retained site with its data, also for a new AppSite of the same name', async () => {
    const site = await readySite(servers.bench, servers.database);
    servers.sqlOf(site, `INSERT INTO ${servers.quoted('tabProbe')} VALUES ('kept')`);
    rmSync(site.path('.app-operator.json'));
    const result = await site.init();
    assert.match(result.lastLine, /"created": false/);
    assert.equal(servers.sqlOf(site, `SELECT name FROM ${servers.quoted('tabProbe')}`), 'kept');
  });

  it('refuses a site directory of another owner', async () => {
    const site = await readySite(servers.bench, servers.database);
    const result = await site.with({ SITE_OWNER: 'others/shop' }).init();
    assert.match(
      result.lastLine,
      /^app-operator: SiteOwnedByOther: .* belongs to team\/shop\d+, not to others\/shop$/,
    );
  });

  it('refuses a directory that it did not create and that is no site', async () => {
    const site = aSite(servers.bench, servers.database);
    mkdirSync(site.path());
    writeFileSync(site.path('notes.txt'), 'by hand');
    const result = await site.init();
    assert.match(result.lastLine, /^app-operator: SiteIncomplete: /);
    assert.ok(existsSync(site.path('notes.txt')));
  });

  it('runs one Job of a site at a time', async () => {
    const site = aSite(servers.bench, servers.database, { STANDIN_PAUSE: '1' });
    const both = await Promise.all([site.init(), site.init()]);
    assert.deepEqual(
      both.map(({ code }) => code),
      [0, 0],
      'one waits for the other',
    );
    const other = aSite(servers.bench, servers.database, {
      STANDIN_PAUSE: '1',
      LOCK_WAIT_SECONDS: '0',
    });
    const results = await Promise.all([other.init(), other.init()]);
    assert.deepEqual(results.map((result) => result.code).sort(), [0, 1]);
    assert.ok(results.some((result) => result.lastLine.startsWith('app-operator: SiteBusy: ')));
  });

  it('rejects names that could reach outside of the site', async () => {
    for (const change of [
      { SITE_NAME: '../x' },
      { DB_NAME: 'mysql' },
      { DB_USER: 'a-b' },
      { DB_USER: 'dbadmin' },
      { SITE_NAME: 'assets' },
    ]) {
      assert.match(
        (await aSite(servers.bench, servers.database, change).init()).lastLine,
        /^app-operator: InvalidInput: /,
      );
    }
  });
});
