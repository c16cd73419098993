import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';

import { parseOutcome } from '../../constructs/kit/job-result.js';
import { databaseName } from '../../constructs/kit/names.js';
import { projectRoot } from '../../testbed/project-root.js';
import { aSecret, aSite } from '../cluster/support/builders.js';
import { at, conditionOf, type Live, type Manifest } from '../cluster/support/objects.js';
import { type E2e, e2e, skip } from './harness.js';
import { backUp, backupsClaim } from './support/backups.js';
import { cleanUp, smallBench } from './support/benches.js';
import { newPassword } from './support/bench.js';
import { type ServerPod, sql } from './support/database-client.js';
import { asSite, contentOf } from './support/database-content.js';
import { killContainer, killPod } from './support/kill.js';
import { ArgumentLists, exposedSecrets } from './support/exposed-secrets.js';
import { outsideServer } from './support/outside-server.js';

const READY_MS = 300_000;
/**
 * A Job waits two minutes for its database before it gives up, or is tried four times; and a busy
 * machine is slow.
 */
const COMPLAINT_MS = 400_000;

suite('databases', { skip }, () => {
  let cluster: E2e;
  let namespace: string;
  let maria: ServerPod;
  let postgres: ServerPod;
  let outside: ServerPod;
  let lists: ArgumentLists;

  before(async () => {
    cluster = await e2e();
    namespace = await cluster.namespace();
    lists = new ArgumentLists();
    maria = { namespace, pod: 'maria-db-0', provider: 'mariadb' };
    postgres = { namespace, pod: 'pg-db-0', provider: 'postgres' };
    outside = { namespace, pod: 'outside-0', provider: 'mariadb' };
    await cluster.apply(
      namespace,
      ...outsideServer('outside', newPassword()),
      backupsClaim('ReadWriteOnce'),
      smallBench('maria'),
      smallBench('pg', {
        dbConfig: {
          provider: 'postgres',
          resources: { limits: { memory: '400Mi' } },
          settings: { work_mem: '5MB' },
        },
      }),
      smallBench('guest', {
        dbConfig: {
          mode: 'external',
          host: `outside.${namespace}.svc.cluster.local`,
          rootSecretRef: { name: 'outside-root' },
        },
      }),
    );
    const benches = ['maria', 'pg', 'guest'];
    await Promise.all(benches.map((name) => cluster.ready('AppBench', namespace, name, READY_MS)));
  });

  after(async () => {
    lists.stop();
    await cleanUp(cluster, namespace);
  });

  suite('side by side', { concurrency: true }, () => {
    test('a managed MariaDB: the site uses its own database only, and finds it again', async () => {
      const site = shared('managed', 'maria');
      await serves(site, 'maria');
      const database = databaseName(namespace, 'managed');
      const grants = await sql(cluster, maria, `SHOW GRANTS FOR '${database}'@'%'`);
      assert.deepEqual(
        grants.map((grant) => / ON (\S+) /.exec(grant)?.[1]),
        ['*.*', `\`${database.replaceAll('_', '\\\\_')}\`.*`],
      );
      assert.match(grants[0] ?? '', /^GRANT USAGE /);

      await sql(
        cluster,
        maria,
        'CREATE TABLE kept (it INT); INSERT INTO kept VALUES (7)',
        database,
      );
      await cluster.delete('AppSite', namespace, 'managed');
      await cluster.deleted('AppSite', namespace, 'managed', READY_MS);
      assert.deepEqual(await sql(cluster, maria, 'SELECT it FROM kept', database), ['7']);
      await serves(site, 'maria');
      assert.deepEqual(await sql(cluster, maria, 'SELECT it FROM kept', database), ['7']);
      assert.equal((await outcomeOf('managed'))['created'], false);
    });

    test('a dedicated server holds the database of its site, and no other does', async () => {
      await serves(shared('alone', 'maria', { dbConfig: { mode: 'dedicated' } }), 'maria');
      const database = databaseName(namespace, 'alone');
      const server: ServerPod = { namespace, pod: 'alone-db-0', provider: 'mariadb' };
      assert.deepEqual(await databasesOf(server), [database]);
      assert.ok(!(await databasesOf(maria)).includes(database));
    });

    test('a prepared database, at first with a wrong password', async () => {
      const [password, wrong] = [newPassword(), newPassword()];
      await sql(
        cluster,
        maria,
        `CREATE DATABASE prepared CHARACTER SET utf8mb4;
         CREATE USER prepared@'%' IDENTIFIED BY '${password}';
         GRANT ALL ON prepared.* TO prepared@'%';`,
      );
      await cluster.apply(namespace, aSecret('prepared', { password: wrong }));
      const dbConfig = {
        mode: 'external',
        host: 'maria-db',
        name: 'prepared',
        secretRef: { name: 'prepared' },
      };
      const site = shared('prepared', 'maria', { dbConfig });
      await cluster.apply(namespace, site);
      await complains(
        'prepared',
        /DatabaseAccessDenied: maria-db:3306 refuses prepared: Access denied/,
      );
      const job = await cluster.the('Job', namespace, 'prepared-init');
      assert.doesNotMatch(JSON.stringify(job), /DB_ROOT/);
      assert.deepEqual(await tablesOf(maria, 'prepared'), []);

      await cluster.apply(namespace, aSecret('prepared', { password }));
      await serves(site, 'maria');
      assert.notEqual((await tablesOf(maria, 'prepared')).length, 0);
    });

    test('MariaDB: a foreign database of this name does not change', async () => {
      await staysUntouched(maria, shared('taken', 'maria'), 'maria');
    });

    test('PostgreSQL: a foreign database of this name does not change', async () => {
      await staysUntouched(postgres, shared('squatted', 'pg'), 'pg');
    });

    test('a managed PostgreSQL: the site owns its database, and others cannot enter', async () => {
      await serves(shared('elephant', 'pg'), 'pg');
      const database = databaseName(namespace, 'elephant');
      const rows = await sql(
        cluster,
        postgres,
        `SELECT r.rolname, has_database_privilege('public', d.oid, 'CONNECT'), r.rolsuper
         FROM pg_database d JOIN pg_roles r ON r.oid = d.datdba WHERE d.datname = '${database}'`,
      );
      assert.deepEqual(rows, [`${database}|f|f`]);
    });

    test('a managed PostgreSQL has its settings, and a quarter of the memory limit', async () => {
      const rows = await sql(cluster, postgres, 'SHOW shared_buffers; SHOW work_mem');
      assert.deepEqual(rows, ['100MB', '5MB']);
    });

    test('MariaDB: all that a database may hold goes through a backup into another site', async () => {
      await goesRound('whole-maria', maria, 'jobs/objects/mariadb.sql');
    });

    test('PostgreSQL: all that a database may hold goes through a backup into another site', async () => {
      await sql(cluster, postgres, 'CREATE ROLE reader');
      await goesRound('whole-pg', postgres, 'jobs/postgres/everything.sql', / TO reader;$/);
    });

    test('an outside server that stops while a site is created on it', async () => {
      await serves(shared('guest-one', 'guest'), 'guest');
      const broken = shared('broken', 'guest');
      await stopsHalfway(broken);
      // The second failed attempt replaces the message of the first.
      await Promise.all([
        complains('broken', /DatabaseConnectionLost: outside\.\S+:3306/),
        resize(0),
      ]);
      const late = shared('late', 'guest');
      await cluster.apply(namespace, late);
      await complains('late', /DatabaseUnreachable: outside\.\S+:3306/);
      await resize(1);
      await cluster.figures.time('databases: server back, until both sites are Ready', () =>
        Promise.all([serves(broken, 'guest'), serves(late, 'guest')]),
      );
      await serves(shared('guest-one', 'guest'), 'guest');
    });
  });

  test('no secret value is where others may read', async () => {
    const { exposed, values, places } = await exposedSecrets(cluster, namespace, lists);
    cluster.figures.add('databases: secret values looked for', `${values}, in ${places} places`);
    // Of 8 sites 3 each, without one whose database is prepared; 3 of Redis, 4 of roots, the
    // prepared one.
    assert.ok(values >= 31, `${values} values`);
    assert.deepEqual(exposed, []);
  });

  /** Applies a site, waits until it is Ready, and sends a request. */
  async function serves(site: Manifest, bench: string): Promise<void> {
    const { name } = site.metadata;
    await cluster.apply(namespace, site);
    await cluster.ready('AppSite', namespace, name, READY_MS);
    const host = `${name}.example.com`;
    const { status, body } = await cluster.request(namespace, bench, {
      host,
      path: '/api/method/ping',
    });
    assert.deepEqual([status, body.trim()], [200, '{"message":"pong"}']);
  }

  /** Waits until the condition Ready of a site has the last message of its Job. */
  function complains(site: string, words: RegExp): Promise<Live> {
    return cluster.becomes('AppSite', namespace, site, {
      what: `says ${words.source}`,
      check: (object) => words.test(conditionOf(object, 'Ready')?.message ?? ''),
      timeoutMs: COMPLAINT_MS,
    });
  }

  /**
   * A site whose database exists with tables is refused; without the database, it continues
   * automatically.
   */
  async function staysUntouched(server: ServerPod, site: Manifest, bench: string): Promise<void> {
    const { name } = site.metadata;
    const database = databaseName(namespace, name);
    await sql(cluster, server, `CREATE DATABASE ${database}`);
    await sql(cluster, server, 'CREATE TABLE old (it INT); INSERT INTO old VALUES (7)', database);
    await cluster.apply(namespace, site);
    const refused = await cluster.becomes('AppSite', namespace, name, {
      what: 'is refused',
      check: (object) => conditionOf(object, 'Ready')?.reason === 'DatabaseExists',
      timeoutMs: COMPLAINT_MS,
    });
    assert.equal(refused.status?.['phase'], 'Provisioning');
    assert.match(
      conditionOf(refused, 'Ready')?.message ?? '',
      /exists on \S+, .*nothing was touched/,
    );
    assert.deepEqual(await tablesOf(server, database), ['old']);
    assert.deepEqual(await sql(cluster, server, 'SELECT it FROM old', database), ['7']);
    // No login for it was created either.
    const users = {
      mariadb: `SELECT COUNT(*) FROM mysql.user WHERE User = '${database}'`,
      postgres: `SELECT COUNT(*) FROM pg_roles WHERE rolname = '${database}'`,
    };
    assert.deepEqual(await sql(cluster, server, users[server.provider]), ['0']);
    await sql(cluster, server, `DROP DATABASE ${database}`);
    await serves(site, bench);
  }

  /**
   * Applies a site and holds the framework while it works in the new database: the first tables are
   * made, no more will be.
   */
  async function stopsHalfway(site: Manifest): Promise<void> {
    const { name } = site.metadata;
    const database = databaseName(namespace, name);
    // The lock lasts as long as its session, which ends with the server.
    const hold = `
      DO GET_LOCK('holds', 0);
      DELIMITER //
      BEGIN NOT ATOMIC
        REPEAT
          SELECT COUNT(*) INTO @tables FROM information_schema.TABLES WHERE TABLE_SCHEMA = '${database}';
          DO SLEEP(0.02);
        UNTIL @tables > 0 END REPEAT;
      END//
      DELIMITER ;
      FLUSH TABLES WITH READ LOCK;
      DO SLEEP(600);`;
    void sql(cluster, outside, hold).catch(() => undefined);
    await cluster.until('the lease to have a holder', async () => {
      return (await sql(cluster, outside, "SELECT IS_USED_LOCK('holds') IS NOT NULL"))[0] === '1';
    });
    await cluster.apply(namespace, site);
    await cluster.until(
      `the creation of ${name} to be held`,
      async () => {
        const waiting = `SELECT COUNT(*) FROM information_schema.PROCESSLIST
          WHERE DB = '${database}' AND STATE LIKE 'Waiting for%'`;
        return (await sql(cluster, outside, waiting))[0] !== '0';
      },
      READY_MS,
    );
    assert.notEqual((await tablesOf(outside, database)).length, 0);
  }

  /** Ends the server outside at once, as when its machine is out of memory, or starts it again. */
  async function resize(replicas: 0 | 1): Promise<void> {
    if (replicas === 0) {
      const pod = await cluster.the('Pod', namespace, 'outside-0');
      // While the pod has its network: later its clients would not see that the server closes its
      // connections.
      await killContainer(cluster, pod, 'mariadb');
      await killPod(cluster, pod);
    }
    await cluster.patch('StatefulSet', namespace, 'outside', { spec: { replicas } });
    await cluster.until(
      `${replicas} servers outside`,
      async () => {
        const { status = {} } = await cluster.the('StatefulSet', namespace, 'outside');
        const pods = await cluster.pods(namespace, 'outside=outside');
        return pods.length === replicas && (status['readyReplicas'] ?? 0) === replicas;
      },
      READY_MS,
    );
  }

  /** Databases whose names are of the operator's making. */
  function databasesOf(server: ServerPod): Promise<readonly string[]> {
    return sql(cluster, server, String.raw`SHOW DATABASES LIKE 's\_%'`);
  }

  function tablesOf(server: ServerPod, database: string): Promise<readonly string[]> {
    const schema = server.provider === 'postgres' ? 'public' : database;
    const all = `SELECT table_name FROM information_schema.tables WHERE table_schema = '${schema}'`;
    return sql(cluster, server, all, database);
  }

  /** @param file what the site's user adds to its database; `leftOut`: lines of its dump that stay behind */
  async function goesRound(
    name: string,
    server: ServerPod,
    file: string,
    leftOut = /^$/,
  ): Promise<void> {
    const bench = server.pod.replace('-db-0', '');
    await serves(shared(name, bench), bench);
    const secret = await cluster.the('Secret', namespace, `${name}-db`);
    const password = Buffer.from(String(at(secret, 'data.password')), 'base64').toString();
    const database = databaseName(namespace, name);
    const statements = await readFile(path.join(projectRoot(), 'test', file), 'utf8');
    await asSite(cluster, server, { database, password }, statements);
    const before = await contentOf(cluster, server, database);
    assert.ok(before.length > 100, `${before.length} lines`);
    await backUp(cluster, namespace, { name, site: name, timeoutMs: READY_MS });
    await serves(shared(`${name}-copy`, bench, { restoreFrom: { backupRef: { name } } }), bench);
    assert.deepEqual(
      await contentOf(cluster, server, databaseName(namespace, `${name}-copy`)),
      before.filter((line) => !leftOut.test(line)),
    );
  }

  /** The result of the init Job of a site, from its last line. */
  async function outcomeOf(site: string): Promise<Readonly<Record<string, unknown>>> {
    const pods = (await cluster.pods(namespace, `job-name=${site}-init`)).toSorted((a, b) =>
      String(b.metadata.creationTimestamp).localeCompare(String(a.metadata.creationTimestamp)),
    );
    const path = 'status.containerStatuses[0].state.terminated.message';
    const last = pods
      .map((pod) => String(at(pod, path)))
      .find((line) => line.includes('Succeeded'));
    return parseOutcome(last);
  }
});

/** A site with shared workloads. */
function shared(
  name: string,
  bench: string,
  spec: Readonly<Record<string, unknown>> = {},
): Manifest {
  return aSite(name, { bench, workloads: 'Shared', ...spec });
}
