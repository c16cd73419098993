/**
 * site_init.py making a site, against real MariaDB and PostgreSQL servers and a real Redis. The framework is a stand-in
 * (testbed/stand-in, test code): real SQL, real files, the real one's refusals.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { eventually, required, temporaryDirectory } from './servers.js';
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
/** The stand-in fails with this when it has made its first table. */
const FAILS_HALF_WAY = { STANDIN_PAUSE: 'no number' };
/** The same server by another address: whether it is the same, nobody can know. */
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

describeOnServers('site_init.py', (world) => {
  /** An empty database with a user of its name, as somebody prepares it. */
  const prepare = (name: string): void => {
    if (world.type === 'mariadb') {
      world.database.sql(
        `CREATE DATABASE ${name}; CREATE USER ${name} IDENTIFIED BY 'pw-of-1-db'; GRANT ALL ON ${name}.* TO ${name}`,
      );
    } else {
      world.database.sql(`CREATE ROLE "${name}" LOGIN PASSWORD 'pw-of-1-db'`);
      world.database.sql(`CREATE DATABASE "${name}" OWNER "${name}"`);
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

  it('creates a site with its apps and says so in the termination message', async () => {
    const site = aSite(world.bench, world.database, {
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

  it('enables the scheduler, which the framework leaves off', async () => {
    const site = aSite(world.bench, world.database);
    await site.init();
    const statement = `SELECT value FROM ${world.quoted('tabSingles')} WHERE field = 'enable_scheduler'`;
    assert.equal(world.sqlOf(site, statement), '1');
  });

  it('shows no secret, neither in its output nor in another program’s arguments', async () => {
    const log = join(temporaryDirectory(), 'arguments');
    const programs = recording(['mariadb', 'psql'], log);
    const PATH = `${programs}:${process.env['PATH'] ?? ''}`;
    const result = await aSite(world.bench, world.database, { PATH }).init();
    assert.equal(result.code, 0, result.output);
    const commands = readFileSync(log, 'utf8');
    assert.match(commands, /s\d+_shop/);
    for (const secret of ['quoted', 'r00t', '--admin', KEY]) {
      assert.ok(!result.output.includes(secret), `${secret} in the output`);
      assert.ok(!commands.includes(secret), `${secret} in arguments`);
    }
  });

  /** PostgreSQL goes on with it when the client is gone. */
  const isCreating = (): boolean =>
    world.type === 'postgres' &&
    world.database.sql(
      "SELECT COUNT(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'CREATE DATABASE%'",
    ) !== '0';

  it('repairs a site whose creation was killed, wherever that was', async () => {
    for (const killAfter of [150, 400, 700, 1000, 1400]) {
      const site = aSite(world.bench, world.database, { STANDIN_PAUSE: '0.15' });
      await site.init(killAfter);
      await eventually('the server has ended what was begun', () => !isCreating());
      const result = await site.with({ STANDIN_PAUSE: '0' }).init();
      assert.equal(result.code, 0, `killed after ${String(killAfter)} ms: ${result.output}`);
      assert.equal(world.sqlOf(site, `SELECT COUNT(*) FROM ${world.quoted('__Auth')}`), '1');
    }
  });

  it('adopts a retained site with its data, also for a new AppSite of the same name', async () => {
    const site = aSite(world.bench, world.database);
    await site.init();
    world.sqlOf(site, `INSERT INTO ${world.quoted('tabProbe')} VALUES ('kept')`);
    rmSync(site.path('.app-operator.json'));
    const result = await site.init();
    assert.match(result.lastLine, /"created": false/);
    assert.equal(world.sqlOf(site, `SELECT name FROM ${world.quoted('tabProbe')}`), 'kept');
  });

  it('refuses a database that is not its own, and touches nothing', async () => {
    const site = aSite(world.bench, world.database, { DB_NAME: 'of_others', DB_USER: 'of_others' });
    world.database.sql('CREATE DATABASE of_others');
    world.database.sql('CREATE TABLE precious (id int)', 'of_others');
    const result = await site.init();
    assert.equal(result.code, 1);
    assert.match(result.lastLine, /^app-operator: DatabaseExists: the database of_others exists/);
    assert.equal(world.database.sql('SELECT COUNT(*) FROM precious', 'of_others'), '0');
    assert.ok(!site.exists());
  });

  it('refuses a site directory of another owner', async () => {
    const site = aSite(world.bench, world.database);
    await site.init();
    const result = await site.with({ SITE_OWNER: 'others/shop' }).init();
    assert.match(
      result.lastLine,
      /^app-operator: SiteOwnedByOther: .* belongs to team\/shop\d+, not to others\/shop$/,
    );
  });

  it('refuses a directory that it did not begin and that is no site', async () => {
    const site = aSite(world.bench, world.database);
    mkdirSync(site.path());
    writeFileSync(site.path('notes.txt'), 'by hand');
    const result = await site.init();
    assert.match(result.lastLine, /^app-operator: SiteIncomplete: /);
    assert.ok(existsSync(site.path('notes.txt')));
  });

  it('says SiteIncomplete when the files are there and the database is not', async () => {
    const site = aSite(world.bench, world.database);
    await site.init();
    world.database.sql(`DROP DATABASE ${databaseOf(site)}`);
    const result = await site.init();
    assert.match(result.lastLine, /^app-operator: SiteIncomplete: .* has no database s\d+_shop$/);
    assert.ok(!world.hasDatabase(databaseOf(site)), 'nothing was created in its place');
  });

  const tablesOf = (name: string): number => {
    const count =
      world.type === 'mariadb'
        ? `SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = '${name}'`
        : "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'";
    return Number(world.database.sql(count, name));
  };

  it('uses a prepared database without an administrator, and repairs it after a kill', async () => {
    const site = aSite(world.bench, world.database, {
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

  it('says that the connection broke while the site was created, and begins again', async () => {
    const site = aSite(world.bench, world.database, { STANDIN_PAUSE: '3' });
    const name = `s${/\d+/.exec(site.name)?.[0] ?? ''}_shop`;
    const running = site.init();
    const isBegun = (): boolean => world.hasDatabase(name) && tablesOf(name) > 1;
    await eventually('tables are being made', isBegun);
    world.database.sql(
      world.type === 'mariadb'
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

  it('refuses a prepared database with tables in it', async () => {
    const site = aSite(world.bench, world.database, isPrepared('full'));
    prepare('full');
    world.database.sql('CREATE TABLE precious (id int)', 'full');
    const result = await site.init();
    assert.match(
      result.lastLine,
      /^app-operator: DatabaseExists: the prepared database full on \S+ is not empty \(1 tables\)/,
    );
  });

  it('empties no other prepared database than that in which the half-made site was begun', async () => {
    for (const name of ['begun', 'corrected']) prepare(name);
    const site = await halfMade(aSite(world.bench, world.database, isPrepared('begun')));
    const corrected = site.with(isPrepared('corrected'));
    world.database.sql('CREATE TABLE precious (id int)', 'corrected');
    for (let time = 0; time < 2; time += 1) {
      const result = await corrected.init();
      assert.match(
        result.lastLine,
        /^app-operator: DatabaseExists: the prepared database corrected on \S+ is not empty \(1 tables\), and shop\d+.example.com was not begun in it; /,
      );
      assert.equal(world.database.sql('SELECT COUNT(*) FROM precious', 'corrected'), '0');
    }
    world.database.sql('DROP TABLE precious', 'corrected');
    await halfMade(corrected);
    await createdIn(corrected);
    assert.equal(databaseOf(corrected), 'corrected');
  });

  it('empties no prepared database of the same name on another server', async () => {
    prepare('moved');
    const site = await halfMade(aSite(world.bench, world.database, isPrepared('moved')));
    world.database.sql('CREATE TABLE precious (id int)', 'moved');
    const result = await site.with(ELSEWHERE).init();
    assert.match(
      result.lastLine,
      /^app-operator: DatabaseExists: the prepared database moved on 127.1:\d+ is not empty \(2 tables\)/,
    );
    await createdIn(site);
  });

  it('drops neither database nor user on another server than that on which the half-made site was begun', async () => {
    const site = await halfMade(aSite(world.bench, world.database));
    const name = databaseOf(site);
    const moved = site.with(ELSEWHERE);
    world.database.sql('CREATE TABLE precious (id int)', name);
    const result = await moved.init();
    assert.match(result.lastLine, /^app-operator: DatabaseExists: the database s\d+_shop exists /);
    assert.equal(world.database.sql('SELECT COUNT(*) FROM precious', name), '0');
    world.database.sql(`DROP DATABASE ${name}`);
    // What the user of that name may do elsewhere is the sign that it is somebody else's.
    world.database.sql(`CREATE DATABASE other_${name}`);
    world.database.sql(
      world.type === 'mariadb'
        ? `GRANT ALL ON \`other\\_${name.replace('_', '\\_')}\`.* TO ${name}`
        : `ALTER DATABASE other_${name} OWNER TO ${name}`,
    );
    const refused = await moved.init();
    assert.match(refused.lastLine, /^app-operator: DatabaseUserExists: /, refused.output);
    world.database.sql(`DROP DATABASE other_${name}`);
    if (world.type === 'mariadb') world.database.sql(`DROP USER ${name}`);
    await createdIn(moved);
  });

  it('repairs what an operator has begun that did not yet write down on which server', async () => {
    const old = (site: SiteJobs): void => {
      updateMarker(site, { dbHost: undefined, dbPort: undefined });
    };
    const shared = await halfMade(aSite(world.bench, world.database));
    old(shared);
    await createdIn(shared);

    prepare('older');
    const site = await halfMade(aSite(world.bench, world.database, isPrepared('older')));
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
    const empty = await halfMade(aSite(world.bench, world.database, isPrepared('older_empty')));
    old(empty);
    rmSync(empty.path('site_config.json'));
    world.database.sql(`DROP TABLE ${world.quoted('tabDefaultValue')}`, 'older_empty');
    await createdIn(empty);
  });

  it('says which of database and Redis is unreachable or refuses', async () => {
    const site = aSite(world.bench, world.database, AT_ONCE);
    const unreachable = await site.with({ DB_PORT: '1' }).init();
    assert.match(unreachable.lastLine, /^app-operator: DatabaseUnreachable: 127.0.0.1:1: /);
    const denied = await site.with({ DB_ROOT_PASSWORD: 'wrong-password' }).init();
    assert.match(denied.lastLine, /^app-operator: DatabaseAccessDenied: .* refuses dbadmin/);
    for (const [url, reason] of [
      ['redis://127.0.0.1:1', 'RedisUnreachable'],
      [`redis://:wrong@127.0.0.1:${String(world.redis.port)}`, 'RedisAccessDenied'],
    ] as const) {
      const other = aBench(V15, world.redis);
      writeFileSync(
        join(other, 'sites/common_site_config.json'),
        JSON.stringify({ redis_cache: url }),
      );
      const result = await aSite(other, world.database, AT_ONCE).init();
      assert.match(result.lastLine, new RegExp(`^app-operator: ${reason}: redis_cache: `));
      assert.ok(!existsSync(join(other, 'sites', 'shop')), 'nothing was begun');
    }
  });

  it('works with each version’s own way of creating a site', async () => {
    // Such a version writes the password into its SQL unquoted, and on PostgreSQL logs in to a database named like the user.
    if (world.type === 'postgres')
      world.database.sql(`CREATE DATABASE ${world.database.adminUser}`);
    const old = aSite(aBench('15.41.0', world.redis), world.database, {
      DB_PASSWORD: 'plain-password',
    });
    const oldResult = await old.init();
    assert.equal(oldResult.code, 0, oldResult.output);
    const oldPrepared = await aSite(aBench('15.41.0', world.redis), world.database, {
      DB_ROOT_PASSWORD: '',
      DB_PASSWORD: 'plain-password',
      DB_NAME: databaseOf(old),
      DB_USER: databaseOf(old),
    }).init();
    assert.match(oldPrepared.lastLine, /^app-operator: NoRootRights: /);
    const renamed = await aSite(world.bench, world.database, { DB_USER: 'somebody' }).init();
    assert.match(renamed.lastLine, /^app-operator: DatabaseUserUnsupported: /);
    const sixteen = aSite(aBench('16.0.0', world.redis), world.database, {
      DB_USER: 'somebody_16',
    });
    const result = await sixteen.init();
    assert.equal(result.code, 0, result.output);
    assert.equal(sixteen.json('site_config.json')['db_user'], 'somebody_16');
  });

  it('lets one Job at a time work on a site', async () => {
    const site = aSite(world.bench, world.database, { STANDIN_PAUSE: '1' });
    const results = await Promise.all([site.init(), site.init()]);
    assert.deepEqual(results.map((result) => result.code).sort(), [0, 1]);
    assert.ok(results.some((result) => result.lastLine.startsWith('app-operator: SiteBusy: ')));
  });

  it(
    'gives a site’s user no right on a neighbour’s database whose name differs by one character',
    { skip: world.type !== 'mariadb' },
    async () => {
      const site = aSite(world.bench, world.database, { DB_NAME: 'a_b', DB_USER: 'a_b' });
      await site.init();
      assert.match(world.database.sql("SHOW GRANTS FOR 'a_b'@'%'"), /ON `a\\+_b`\.\*/);
    },
  );

  it('takes no name that could reach beyond its own site', async () => {
    for (const change of [
      { SITE_NAME: '../x' },
      { DB_NAME: 'mysql' },
      { DB_USER: 'a-b' },
      { DB_USER: 'dbadmin' },
      { SITE_NAME: 'assets' },
    ]) {
      assert.match(
        (await aSite(world.bench, world.database, change).init()).lastLine,
        /^app-operator: InvalidInput: /,
      );
    }
  });
});
