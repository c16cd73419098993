/** site_drop.py against real MariaDB and PostgreSQL servers; sites are created by site_init.py with the stand-in framework. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../testbed/controlplane/ports.js';
import { type Database, startMariaDb, startPostgres } from './databases.js';
import { readySite } from './ready-site.js';
import { type Redis, startRedis } from './servers.js';
import { AT_ONCE, aBench, aSite, needsStandIn, updateMarker } from './site-fixture.js';

for (const [type, start] of Object.entries({ mariadb: startMariaDb, postgres: startPostgres })) {
  describe(
    `site_drop.py on ${type}`,
    needsStandIn(type === 'mariadb' ? 'mariadbd' : 'postgres', 'redis-server', 'python3'),
    () => {
      let database: Database;
      let redis: Redis;
      let bench: string;
      before(async () => {
        [database, redis] = await Promise.all([start(), startRedis('cache')]);
        bench = aBench('15.44.2', redis);
      });
      after(async () => {
        await Promise.all([database.stop(), redis.stop()]);
      });

      const names = (): string =>
        database.sql(
          type === 'mariadb'
            ? 'SELECT SCHEMA_NAME FROM information_schema.SCHEMATA UNION ALL SELECT CONCAT(User, "@", Host) FROM mysql.user'
            : 'SELECT datname FROM pg_database UNION ALL SELECT rolname FROM pg_roles',
        );

      it('drops database, user and files, and may be repeated', async () => {
        const site = aSite(bench, database);
        await site.init();
        const name = String(site.json('site_config.json')['db_name']);
        const first = await site.drop();
        assert.equal(
          first.lastLine,
          'app-operator: Succeeded: {"databaseDropped": true, "filesRemoved": true}',
        );
        assert.ok(!names().includes(name));
        assert.ok(!site.exists());
        assert.equal(
          (await site.drop()).lastLine,
          'app-operator: Succeeded: {"databaseDropped": false, "filesRemoved": false}',
        );
        assert.equal((await site.init()).code, 0, 'a new site of that name can be made');
      });

      it('keeps a database that belongs to another site', async () => {
        const site = await readySite(bench, database);
        const name = String(site.json('site_config.json')['db_name']);
        // For the next site of this name it belongs to another site.
        rmSync(site.path(), { recursive: true });
        assert.match((await site.init()).lastLine, /^app-operator: DatabaseExists: /);
        const result = await site.drop();
        assert.equal(result.code, 0, result.output);
        assert.match(result.output, /has no database on this server: a database \w+ is retained/);
        assert.ok(names().includes(name));
      });

      it('keeps a database on a server where the site’s creation did not begin', async () => {
        const site = aSite(bench, database, { STANDIN_PAUSE: '2' });
        await site.init(() => existsSync(site.path('site_config.json')));
        assert.equal(site.json('.app-operator.json')['state'], 'creating');
        const name = String(site.json('.app-operator.json')['dbName']);
        const result = await site.with({ DB_HOST: '127.1' }).drop();
        assert.equal(result.code, 0, result.output);
        assert.ok(names().includes(name));
        assert.ok(!site.exists());
      });

      const setPassword = (user: string, password: string): void => {
        const set = type === 'mariadb' ? 'IDENTIFIED BY' : 'PASSWORD';
        database.sql(`ALTER USER ${user} ${set} '${password}'`);
      };

      it('drops no database on another server with a complete site, and keeps its files', async () => {
        // The operator passes no password of the site to this Job.
        const site = await readySite(bench, database);
        const name = String(site.json('site_config.json')['db_name']);
        const port = String(database.port);
        const moved = site.with({ DB_HOST: '127.1', DB_PASSWORD: '' });
        // To the Job, a user with another password is the one of another server.
        setPassword(name, 'of production');
        for (const record of [{}, { dbHost: undefined, dbPort: undefined }]) {
          updateMarker(site, record);
          const result = await moved.drop();
          assert.equal(
            result.lastLine,
            `app-operator: DatabaseServerMismatch: the database ${name} of ${site.name} is on 127.0.0.1:${port}, and 127.1:${port} refuses the site's password for ${name}: its database may belong to another site; nothing was touched; set the server back to 127.0.0.1:${port}, or set the annotation skip-drop of the AppSite`,
          );
          assert.ok(names().includes(name));
          assert.ok(site.exists());
        }
        const back = await site.with({ DB_PASSWORD: '' }).drop();
        assert.match(back.lastLine, /"databaseDropped": true, "filesRemoved": true/);
        assert.ok(!names().includes(name));
      });

      it('drops a complete site’s database that has another address', async () => {
        const site = await readySite(bench, database);
        const name = String(site.json('site_config.json')['db_name']);
        const result = await site.with({ DB_HOST: '127.1', DB_PASSWORD: '' }).drop();
        assert.match(result.lastLine, /"databaseDropped": true, "filesRemoved": true/);
        assert.ok(!names().includes(name));
      });

      it('drops no database on another server than the one of the status, without files', async () => {
        const site = aSite(bench, database);
        await site.init();
        const name = String(site.json('site_config.json')['db_name']);
        rmSync(site.path(), { recursive: true });
        const port = String(database.port);
        const recorded = { DB_RECORDED_HOST: 'old.example.com', DB_RECORDED_PORT: '3307' };
        const moved = site.with({ WAS_READY: '1', DB_PASSWORD: '', ...recorded });
        const result = await moved.drop();
        assert.equal(
          result.lastLine,
          `app-operator: DatabaseServerMismatch: the database ${name} of ${site.name} is on old.example.com:3307 according to the status of its AppSite, and the site has no files that name 127.0.0.1:${port}: a database ${name} there may belong to another site; nothing was touched; set the server back to old.example.com:3307, or set the annotation skip-drop of the AppSite`,
        );
        assert.ok(names().includes(name));
        const back = await moved.with({ DB_RECORDED_HOST: '', DB_RECORDED_PORT: '' }).drop();
        assert.match(back.lastLine, /"databaseDropped": true, "filesRemoved": false/);
        assert.ok(!names().includes(name));
      });

      it('drops the rest if files or database do not exist', async () => {
        const site = await readySite(bench, database);
        const name = String(site.json('site_config.json')['db_name']);
        rmSync(site.path(), { recursive: true });
        assert.equal((await site.with({ WAS_READY: '1' }).drop()).code, 0);
        assert.ok(!names().includes(name));

        await site.init();
        database.sql(`DROP DATABASE ${name}`);
        assert.equal((await site.drop()).code, 0);
        assert.ok(!site.exists());
        assert.ok(!names().includes(name));
      });

      it(
        'drops the users that a restore has created for a pod’s address',
        { skip: type !== 'mariadb' },
        async () => {
          const site = await readySite(bench, database);
          const name = String(site.json('site_config.json')['db_name']);
          database.sql(`CREATE USER '${name}'@'10.0.0.7' IDENTIFIED BY 'x'`);
          await site.drop();
          assert.ok(!names().includes(name));
        },
      );

      it('drops a database with an open transaction', async () => {
        const site = await readySite(bench, database);
        const name = String(site.json('site_config.json')['db_name']);
        const locked = database.hold(name, type === 'mariadb' ? '`tabSingles`' : '"tabSingles"');
        await sleep(700);
        assert.equal(locked.process.exitCode, null, locked.log());
        const result = await site.drop();
        assert.equal(result.code, 0, result.output);
        assert.ok(!names().includes(name));
        assert.notEqual((await locked.stop()).code, 0);
      });

      it('drops a site whose creation was killed', async () => {
        const site = aSite(bench, database, { STANDIN_PAUSE: '2' });
        await site.init(() => existsSync(site.path('site_config.json')));
        const result = await site.drop();
        assert.equal(result.code, 0, result.output);
        assert.ok(!site.exists());
      });

      it('drops a site without a marker, as on a full volume', async () => {
        const site = aSite(bench, database);
        mkdirSync(site.path());
        writeFileSync(site.path('..app-operator.json.app-operator'), '');
        const result = await site.drop();
        assert.equal(result.code, 0, result.output);
        assert.ok(!site.exists());
      });

      it('keeps a prepared database and removes the files', async () => {
        const site = await readySite(bench, database);
        const name = String(site.json('site_config.json')['db_name']);
        const result = await site.with({ DB_ROOT_PASSWORD: '' }).drop();
        assert.equal(
          result.lastLine,
          'app-operator: Succeeded: {"databaseDropped": false, "filesRemoved": true}',
        );
        assert.ok(names().includes(name));
      });

      it('refuses a site of another or no owner, and a database that the site does not record', async () => {
        const site = await readySite(bench, database);
        const neighbour = await readySite(bench, database);
        const other = await site.with({ SITE_OWNER: 'others/shop' }).drop();
        assert.match(other.lastLine, /^app-operator: SiteOwnedByOther: /);
        const theirs = String(neighbour.json('site_config.json')['db_name']);
        const wrong = await site.with({ DB_NAME: theirs }).drop();
        assert.match(wrong.lastLine, /^app-operator: DatabaseNameMismatch: /);
        assert.ok(names().includes(theirs));

        const byHand = aSite(bench, database);
        mkdirSync(byHand.path());
        writeFileSync(byHand.path('site_config.json'), '{"db_name":"x"}');
        assert.match((await byHand.drop()).lastLine, /^app-operator: SiteNotOwned: /);
        assert.ok(byHand.exists());
      });

      it('completes the removal of files after a kill', async () => {
        const site = aSite(bench, database);
        const trash = join(bench, 'sites/.app-operator', `dropped-${site.name}`);
        mkdirSync(trash, { recursive: true });
        writeFileSync(join(trash, 'a'), '');
        assert.equal((await site.drop()).code, 0);
        assert.ok(!existsSync(trash));
      });

      it('reports an unreachable database, also while it drops it', async () => {
        const site = await readySite(bench, database);
        // Accepts the connection by which the Job waits for the server, and refuses the next one.
        const listener = createServer((client) => {
          listener.close();
          const server = connect(database.port, '127.0.0.1');
          client.pipe(server).pipe(client);
          for (const socket of [client, server]) socket.on('error', () => undefined);
        });
        const port = await freePort();
        listener.listen(port, '127.0.0.1');
        await once(listener, 'listening');
        updateMarker(site, { dbPort: port });
        const result = await site.with({ DB_PORT: String(port) }).drop();
        assert.match(result.lastLine, /^app-operator: DatabaseUnreachable: /, result.output);
        assert.ok(site.exists());
        assert.equal((await site.drop()).code, 0);
      });

      it('keeps the files while the database is unreachable', async () => {
        const site = await readySite(bench, database);
        const result = await site.with({ DB_PORT: '1', ...AT_ONCE }).drop();
        assert.match(result.lastLine, /^app-operator: DatabaseUnreachable: /);
        assert.ok(site.exists());
      });
    },
  );
}
