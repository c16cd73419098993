/**
 * site_init.py against real MariaDB and PostgreSQL servers and a real Redis. The framework is a stand-in
 * (test/scripts/standin, test code): real SQL, real files, the real one's refusals.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Database, startMariaDb, startPostgres } from './databases.js';
import { type Redis, needs, startRedis } from './servers.js';
import { KEY, aBench, aSite, setAppVersion } from './site-fixture.js';

const ROLES = { mariadb: startMariaDb, postgres: startPostgres } as const;
const V15 = '15.44.2';

for (const [type, start] of Object.entries(ROLES)) {
  const server = type === 'mariadb' ? 'mariadbd' : 'postgres';
  describe(`site_init.py on ${type}`, needs(server, 'redis-server', 'python3'), () => {
    let database: Database;
    let redis: Redis;
    let bench: string;
    before(async () => {
      [database, redis] = await Promise.all([start(), startRedis('cache')]);
      bench = aBench(V15, redis);
    });
    after(async () => {
      await Promise.all([database.stop(), redis.stop()]);
    });

    const scalar = (name: string, statement: string): string => database.sql(statement, name);
    const quoted = (table: string): string => (type === 'mariadb' ? `\`${table}\`` : `"${table}"`);
    const exists = (name: string): boolean =>
      database.sql(
        type === 'mariadb'
          ? `SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '${name}'`
          : `SELECT COUNT(*) FROM pg_database WHERE datname = '${name}'`,
      ) === '1';
    const databaseOf = (site: {
      json: (file: string) => Readonly<Record<string, unknown>>;
    }): string => String(site.json('site_config.json')['db_name']);

    it('creates a site with its apps and says so in the termination message', async () => {
      const site = aSite(bench, database, {
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
      const site = aSite(bench, database);
      await site.init();
      const statement = `SELECT value FROM ${quoted('tabSingles')} WHERE field = 'enable_scheduler'`;
      assert.equal(scalar(databaseOf(site), statement), '1');
    });

    it('shows no secret, neither in its output nor in another program’s arguments', async () => {
      const site = aSite(bench, database);
      const result = await site.init();
      const commands = readFileSync(join(bench, 'sites/client-arguments.txt'), 'utf8');
      for (const secret of ['quoted', 'r00t', '--admin', KEY]) {
        assert.ok(!result.output.includes(secret), `${secret} in the output`);
        assert.ok(!commands.includes(secret), `${secret} in arguments`);
      }
    });

    it('changes nothing when it runs again', async () => {
      const site = aSite(bench, database);
      await site.init();
      const marker = statSync(site.path('.app-operator.json')).mtimeMs;
      const config = statSync(site.path('site_config.json')).mtimeMs;
      const again = await site.init();
      assert.match(again.lastLine, /"created": false.*"migrated": false/);
      assert.equal(statSync(site.path('.app-operator.json')).mtimeMs, marker);
      assert.equal(statSync(site.path('site_config.json')).mtimeMs, config);
    });

    it('repairs a site whose creation was killed, wherever that was', async () => {
      for (const killAfter of [150, 400, 700, 1000, 1400]) {
        const site = aSite(bench, database, { STANDIN_PAUSE: '0.15' });
        await site.init(killAfter);
        const result = await site.with({ STANDIN_PAUSE: '0' }).init();
        assert.equal(result.code, 0, `killed after ${String(killAfter)} ms: ${result.output}`);
        assert.equal(scalar(databaseOf(site), `SELECT COUNT(*) FROM ${quoted('__Auth')}`), '1');
      }
    });

    it('installs an app whose installation was killed half way', async () => {
      const site = aSite(bench, database);
      await site.init();
      const wanting = site.with({ SITE_APPS: '["frappe","hrms"]' });
      await wanting.with({ STANDIN_PAUSE: '20' }).init(3000);
      assert.equal(site.json('.app-operator.json')['installing'], 'hrms');
      const result = await wanting.init();
      assert.equal(result.code, 0, result.output);
      assert.match(result.lastLine, /"hrms": "15.1.0"/);
      assert.equal(site.json('.app-operator.json')['installing'], undefined);
    });

    it('adopts a retained site with its data, also for a new AppSite of the same name', async () => {
      const site = aSite(bench, database);
      await site.init();
      scalar(databaseOf(site), `INSERT INTO ${quoted('tabModule Def')} VALUES ('kept')`);
      rmSync(site.path('.app-operator.json'));
      const result = await site.init();
      assert.match(result.lastLine, /"created": false/);
      assert.equal(scalar(databaseOf(site), `SELECT name FROM ${quoted('tabModule Def')}`), 'kept');
    });

    it('refuses a database that is not its own, and touches nothing', async () => {
      const site = aSite(bench, database, { DB_NAME: 'of_others', DB_USER: 'of_others' });
      database.sql('CREATE DATABASE of_others');
      scalar('of_others', 'CREATE TABLE precious (id int)');
      const result = await site.init();
      assert.equal(result.code, 1);
      assert.match(result.lastLine, /^app-operator: DatabaseExists: the database of_others exists/);
      assert.equal(scalar('of_others', 'SELECT COUNT(*) FROM precious'), '0');
      assert.ok(!site.exists());
    });

    it('refuses a site directory of another owner', async () => {
      const site = aSite(bench, database);
      await site.init();
      const result = await site.with({ SITE_OWNER: 'others/shop' }).init();
      assert.match(
        result.lastLine,
        /^app-operator: SiteOwnedByOther: .* belongs to team\/shop\d+, not to others\/shop$/,
      );
    });

    it('refuses a directory that it did not begin and that is no site', async () => {
      const site = aSite(bench, database);
      mkdirSync(site.path());
      writeFileSync(site.path('notes.txt'), 'by hand');
      const result = await site.init();
      assert.match(result.lastLine, /^app-operator: SiteIncomplete: /);
      assert.ok(existsSync(site.path('notes.txt')));
    });

    it('says SiteIncomplete when the files are there and the database is not', async () => {
      const site = aSite(bench, database);
      await site.init();
      database.sql(`DROP DATABASE ${databaseOf(site)}`);
      const result = await site.init();
      assert.match(result.lastLine, /^app-operator: SiteIncomplete: .* has no database s\d+_shop$/);
      assert.ok(!exists(databaseOf(site)), 'nothing was created in its place');
    });

    it('keeps the site’s encryption key and refuses another one, before it changes anything', async () => {
      const site = aSite(bench, database);
      await site.init();
      const result = await site
        .with({ ENCRYPTION_KEY: 'another', DB_PASSWORD: 'another-pw' })
        .init();
      assert.match(result.lastLine, /^app-operator: EncryptionKeyMismatch: /);
      assert.equal(site.json('site_config.json')['encryption_key'], KEY);
      assert.equal((await site.init()).code, 0, 'the old password still works');
    });

    it('takes the Secret’s encryption key when the site has none yet', async () => {
      const site = aSite(bench, database);
      await site.init();
      const { encryption_key: _, ...without } = site.json('site_config.json');
      writeFileSync(site.path('site_config.json'), JSON.stringify(without));
      assert.equal((await site.init()).code, 0);
      assert.equal(site.json('site_config.json')['encryption_key'], KEY);
    });

    it('follows changed passwords: the Administrator’s and the database user’s', async () => {
      const site = aSite(bench, database);
      await site.init();
      const changed = site.with({ ADMIN_PASSWORD: 'new-admin', DB_PASSWORD: 'new-db' });
      const result = await changed.init();
      assert.equal(result.code, 0, result.output);
      assert.match(result.output, /set the Administrator's password/);
      assert.equal(site.json('site_config.json')['db_password'], 'new-db');
      assert.doesNotMatch((await changed.init()).output, /set the Administrator's password/);
    });

    it('deletes a key that is null, keeps keys of others, refuses keys that it owns', async () => {
      const site = aSite(bench, database, {
        SITE_CONFIG: '{"host_name":"https://x","mute_emails":1}',
      });
      await site.init();
      const config = { ...site.json('site_config.json'), user_key: 'mine' };
      writeFileSync(site.path('site_config.json'), JSON.stringify(config));
      await site.with({ SITE_CONFIG: '{"host_name":null,"mute_emails":1}' }).init();
      const now = site.json('site_config.json');
      assert.deepEqual(
        [now['host_name'], now['mute_emails'], now['user_key']],
        [undefined, 1, 'mine'],
      );
      const refused = await site.with({ SITE_CONFIG: '{"db_name":"x"}' }).init();
      assert.equal(refused.lastLine, 'app-operator: InvalidInput: SITE_CONFIG may not set db_name');
    });

    it('uses a prepared database without an administrator, and repairs it after a kill', async () => {
      const site = aSite(bench, database, {
        DB_ROOT_PASSWORD: '',
        DB_PASSWORD: 'pw-of-1-db',
        STANDIN_PAUSE: '0.4',
      });
      const name = `s${/\d+/.exec(site.name)?.[0] ?? ''}_shop`;
      const missing = await site.init();
      assert.match(missing.lastLine, /^app-operator: Database(AccessDenied|Missing): /);
      if (type === 'mariadb') {
        database.sql(
          `CREATE DATABASE ${name}; CREATE USER ${name} IDENTIFIED BY 'pw-of-1-db'; GRANT ALL ON ${name}.* TO ${name}`,
        );
      } else {
        database.sql(`CREATE ROLE ${name} LOGIN PASSWORD 'pw-of-1-db'`);
        database.sql(`CREATE DATABASE ${name} OWNER ${name}`);
      }
      await site.init(1200);
      assert.equal(site.json('.app-operator.json')['state'], 'creating');
      const result = await site.with({ STANDIN_PAUSE: '0' }).init();
      assert.equal(result.code, 0, result.output);
      assert.match(result.lastLine, /"created": true/);
    });

    it('refuses a prepared database with tables in it', async () => {
      const site = aSite(bench, database, {
        DB_NAME: 'full',
        DB_USER: 'full',
        DB_PASSWORD: 'pw-of-1-db',
        DB_ROOT_PASSWORD: '',
      });
      if (type === 'mariadb') {
        database.sql(
          "CREATE DATABASE full; CREATE USER full IDENTIFIED BY 'pw-of-1-db'; GRANT ALL ON full.* TO full",
        );
        scalar('full', 'CREATE TABLE precious (id int)');
      } else {
        database.sql('CREATE ROLE "full" LOGIN PASSWORD \'pw-of-1-db\'');
        database.sql('CREATE DATABASE "full" OWNER "full"');
        scalar('full', 'CREATE TABLE precious (id int)');
      }
      const result = await site.init();
      assert.match(
        result.lastLine,
        /^app-operator: DatabaseExists: the prepared database full is not empty \(1 tables\)/,
      );
    });

    it('says which of database and Redis is unreachable or refuses', async () => {
      const site = aSite(bench, database);
      const unreachable = await site.with({ DB_PORT: '1' }).init();
      assert.match(unreachable.lastLine, /^app-operator: DatabaseUnreachable: 127.0.0.1:1: /);
      const denied = await site.with({ DB_ROOT_PASSWORD: 'wrong-password' }).init();
      assert.match(denied.lastLine, /^app-operator: DatabaseAccessDenied: .* refuses dbadmin/);
      for (const [url, reason] of [
        ['redis://127.0.0.1:1', 'RedisUnreachable'],
        [`redis://:wrong@127.0.0.1:${String(redis.port)}`, 'RedisAccessDenied'],
      ] as const) {
        const other = aBench(V15, redis);
        writeFileSync(
          join(other, 'sites/common_site_config.json'),
          JSON.stringify({ redis_cache: url }),
        );
        const result = await aSite(other, database).init();
        assert.match(result.lastLine, new RegExp(`^app-operator: ${reason}: redis_cache: `));
        assert.ok(!existsSync(join(other, 'sites', 'shop')), 'nothing was begun');
      }
    });

    it('migrates in maintenance when the image’s code changed, and puts the settings back', async () => {
      const own = aBench(V15, redis);
      const site = aSite(own, database, { SITE_APPS: '["frappe","erpnext"]' });
      await site.init();
      setAppVersion(own, 'erpnext', '15.2.0');
      const result = await site.init();
      assert.match(result.lastLine, /"erpnext": "15.2.0".*"migrated": true/);
      assert.equal(scalar(databaseOf(site), `SELECT * FROM ${quoted('tabMigration')}`), '1\t1');
      assert.equal(site.json('site_config.json')['maintenance_mode'], undefined);
      assert.match((await site.init()).lastLine, /"migrated": false/);
    });

    it('leaves the site in maintenance after a failed migrate, says so, and comes back with a good image', async () => {
      const own = aBench(V15, redis);
      const site = aSite(own, database, { SITE_CONFIG: '{"maintenance_mode":null}' });
      await site.init();
      setAppVersion(own, 'frappe', '15.45.0', 'fail');
      const failed = await site.init();
      assert.match(
        failed.lastLine,
        /^app-operator: MigrationFailed: .* stays in maintenance: .*patch of frappe failed/,
      );
      assert.equal((await site.init()).code, 1, 'a second try does not take it out of maintenance');
      assert.equal(site.json('site_config.json')['maintenance_mode'], 1);
      setAppVersion(own, 'frappe', '15.45.1');
      assert.match((await site.init()).lastLine, /"migrated": true/);
      assert.equal(site.json('site_config.json')['maintenance_mode'], undefined);
      assert.equal(site.json('site_config.json')['pause_scheduler'], undefined);
    });

    it('refuses apps that are not in the image: wanted ones, and ones that the site has', async () => {
      const own = aBench(V15, redis);
      const site = aSite(own, database, { SITE_APPS: '["frappe","hrms"]' });
      const wanted = await site.with({ SITE_APPS: '["wiki"]' }).init();
      assert.match(
        wanted.lastLine,
        /^app-operator: AppNotInImage: not in the image: wiki; the image holds: /,
      );
      await site.init();
      rmSync(join(own, 'apps/hrms'), { recursive: true });
      const lost = await site.with({ SITE_APPS: '["frappe"]' }).init();
      assert.match(
        lost.lastLine,
        /^app-operator: AppNotInImage: installed on .*, but not in the image: hrms$/,
      );
    });

    it('works with each version’s own way of creating a site', async () => {
      // Such a version writes the password into its SQL unquoted, and on PostgreSQL logs in to a database named like the user.
      if (type === 'postgres') database.sql(`CREATE DATABASE ${database.adminUser}`);
      const old = aSite(aBench('15.41.0', redis), database, { DB_PASSWORD: 'plain-password' });
      const oldResult = await old.init();
      assert.equal(oldResult.code, 0, oldResult.output);
      const oldPrepared = await aSite(aBench('15.41.0', redis), database, {
        DB_ROOT_PASSWORD: '',
        DB_PASSWORD: 'plain-password',
        DB_NAME: databaseOf(old),
        DB_USER: databaseOf(old),
      }).init();
      assert.match(oldPrepared.lastLine, /^app-operator: NoRootRights: /);
      const renamed = await aSite(bench, database, { DB_USER: 'somebody' }).init();
      assert.match(renamed.lastLine, /^app-operator: DatabaseUserUnsupported: /);
      const sixteen = aSite(aBench('16.0.0', redis), database, { DB_USER: 'somebody_16' });
      const result = await sixteen.init();
      assert.equal(result.code, 0, result.output);
      assert.equal(sixteen.json('site_config.json')['db_user'], 'somebody_16');
    });

    it('lets one Job at a time work on a site', async () => {
      const site = aSite(bench, database, { STANDIN_PAUSE: '0.3' });
      const results = await Promise.all([site.init(), site.init()]);
      assert.deepEqual(results.map((result) => result.code).sort(), [0, 1]);
      assert.ok(results.some((result) => result.lastLine.startsWith('app-operator: SiteBusy: ')));
    });

    it(
      'gives a site’s user no right on a neighbour’s database whose name differs by one character',
      { skip: type !== 'mariadb' },
      async () => {
        const site = aSite(bench, database, { DB_NAME: 'a_b', DB_USER: 'a_b' });
        await site.init();
        assert.match(database.sql("SHOW GRANTS FOR 'a_b'@'%'"), /ON `a\\+_b`\.\*/);
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
          (await aSite(bench, database, change).init()).lastLine,
          /^app-operator: InvalidInput: /,
        );
      }
    });
  });
}
