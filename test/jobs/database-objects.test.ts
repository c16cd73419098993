/**
 * What a database may hold beside the framework's tables goes round: through a backup into another site, through a
 * restore in place, and through the way back of an upgrade. Rows, definitions and rights are equal.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { readReport } from '../../constructs/kinds/backup/result.js';
import { aStore, rowsOf, type StoreVolume } from './backup-fixture.js';
import { readySite } from './ready-site.js';
import {
  jobCommand,
  plainEnv,
  required,
  ROOT,
  runScript,
  type ScriptResult,
  SCRIPTS,
} from './servers.js';
import {
  aBench,
  databaseOf,
  needsStandIn,
  setAppVersion,
  type SiteJobs,
  TestServers,
} from './site-fixture.js';

const OBJECTS = readFileSync(join(ROOT, 'test/jobs/objects/mariadb.sql'));
const OLD = 'registry/erpnext:v15.44.2';
const NEW = 'registry/erpnext:v15.45.0';
const RESTORE = { RESTORE_ID: 'aaaaaaaaaa', RESTORE_CONFIRMED: '1' };

describe(
  'objects of a database of MariaDB',
  needsStandIn('mariadbd', 'redis-server', 'python3'),
  () => {
    const servers = new TestServers('mariadb');
    before(() => servers.start());
    after(() => servers.stop());

    const asUser = (site: SiteJobs, input: string | Buffer): string => {
      const { db_name: name, db_password: password } = site.json('site_config.json');
      const login = ['--no-defaults', '-h127.0.0.1', `-P${String(servers.database.port)}`];
      const user = [`-u${String(name)}`, '--default-character-set=utf8mb4', '-NB', String(name)];
      return execFileSync('mariadb', [...login, ...user], {
        env: plainEnv({ MYSQL_PWD: String(password) }),
        input,
        stdio: ['pipe', 'pipe', 'pipe'],
      }).toString();
    };
    const namesOf = (site: SiteJobs, query: string): readonly string[] =>
      asUser(site, query).split('\n').filter(Boolean);
    const quoted = (name: string): string => `\`${name.replaceAll('`', '``')}\``;
    /** Every definition, with the database and its user under one name. */
    const definitionsOf = (site: SiteJobs): readonly string[] => {
      const of = (kind: string, query: string): readonly string[] =>
        namesOf(site, query).map((name) => `SHOW CREATE ${kind} ${quoted(name)}`);
      const tables = (type: string): string =>
        `SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = '${type}' ORDER BY 1`;
      const routines = (type: string): string =>
        `SELECT routine_name FROM information_schema.routines WHERE routine_schema = DATABASE() AND routine_type = '${type}' ORDER BY 1`;
      const shows = [
      ...of('TABLE', tables('BASE TABLE')),
      ...of('VIEW', tables('VIEW')),
      ...of('SEQUENCE', tables('SEQUENCE')),
      ...['FUNCTION', 'PROCEDURE', 'PACKAGE', 'PACKAGE BODY'].flatMap((type) => of(type, routines(type))),
      ...of('EVENT', 'SELECT event_name FROM information_schema.events WHERE event_schema = DATABASE() ORDER BY 1'),
    ]; // prettier-ignore
      const others = [
        `SELECT trigger_name, event_manipulation, event_object_table, action_order, action_statement, action_timing, sql_mode, definer, character_set_client, collation_connection, database_collation FROM information_schema.triggers WHERE trigger_schema = DATABASE() ORDER BY 1`,
        `SELECT routine_name, security_type, definer, sql_data_access, is_deterministic, routine_comment FROM information_schema.routines WHERE routine_schema = DATABASE() ORDER BY 1`,
        `SELECT event_name, status, definer, time_zone, starts, execute_at FROM information_schema.events WHERE event_schema = DATABASE() ORDER BY 1`,
        `SELECT table_name, definer, security_type, check_option FROM information_schema.views WHERE table_schema = DATABASE() ORDER BY 1`,
      ];
      return [...shows, ...others]
        .map((statement) => asUser(site, statement))
        .map((text) => text.replaceAll(databaseOf(site), 'DB').replace(/ AUTO_INCREMENT=\d+/, ''));
    };
    const stateOf = (site: SiteJobs): unknown => {
      const { tabMigration, __Auth, tabSingles, ...rows } = rowsOf(servers, site);
      assert.ok(tabMigration && __Auth && tabSingles);
      return {
        rows: { ...rows, 'tabInstalled Application': [] },
        definitions: definitionsOf(site),
      };
    };
    const aFullSite = async (bench = servers.bench, image = ''): Promise<SiteJobs> => {
      const change = image === '' ? {} : { IMAGE: image };
      const site = await readySite(bench, servers.database, change);
      asUser(site, OBJECTS);
      return site;
    };
    const backUp = async (site: SiteJobs, store: StoreVolume): Promise<ScriptResult> => {
      const result = await runScript(jobCommand('site_backup.py', {}), {
        BENCH_DIR: site.bench,
        PYTHONPATH: join(site.bench, 'apps/frappe'),
        SITE_NAME: site.name,
        SITE_OWNER: String(site.json('.app-operator.json')['owner']),
        BACKUP_OWNER: 'team/nightly',
        ...store.env,
      });
      assert.equal(result.code, 0, result.output);
      return result;
    };
    const leftOut = (result: ScriptResult): readonly string[] | undefined =>
      readReport(result.terminationMessage)?.leftOut;

    it('go through a backup into another site, and back in place', async () => {
      const store = aStore();
      const source = await aFullSite();
      const state = stateOf(source);
      const result = await backUp(source, store);
      assert.deepEqual(leftOut(result), []);
      const other = await readySite(servers.bench, servers.database);
      asUser(other, 'CREATE VIEW a_view AS SELECT 1; CREATE PROCEDURE p1() SELECT 2; CREATE PROCEDURE mine() SELECT 3; CREATE SEQUENCE mine;'); // prettier-ignore
      for (const site of [other, source]) {
        const restored = await site.with({ ...store.env, ...RESTORE }).init();
        assert.equal(restored.code, 0, restored.output);
        assert.deepEqual(stateOf(site), state);
      }
      assert.equal(asUser(other, "SELECT v FROM c_view WHERE v LIKE 'a%'").slice(0, 2), 'a\\');
      asUser(other, 'CALL p1(); INSERT INTO parted VALUES (3); CALL p2()');
      assert.match(asUser(other, 'SELECT a FROM parted ORDER BY a'), /^1\n7\n100\n$/);
    });

    it('are there again after the way back of an upgrade, by PyMySQL', async () => {
      const bench = aBench('15.44.2', servers.redis);
      writeFileSync(join(bench, 'apps/frappe/MySQLdb.py'), 'raise ImportError\n');
      const site = await aFullSite(bench, OLD);
      const state = stateOf(site);
      setAppVersion(bench, 'frappe', '15.45.0', 'half');
      const failed = await site.with({ IMAGE: NEW }).init();
      assert.match(failed.lastLine, /MigrationFailed/);
      setAppVersion(bench, 'frappe', '15.44.2');
      const back = await site.with({ IMAGE: OLD }).init();
      assert.equal(back.code, 0, back.output);
      assert.deepEqual(stateOf(site), state);
    });

    it('that cannot be taken over are named when the backup is made, and stay in place', async () => {
      const store = aStore();
      const source = await readySite(servers.bench, servers.database);
      const name = databaseOf(source);
      servers.database.sql(
        `CREATE FUNCTION of_admin() RETURNS int DETERMINISTIC RETURN 1; CREATE TABLE gone (a int); CREATE VIEW broken AS SELECT a FROM gone;
       CREATE VIEW chain AS SELECT a FROM broken; DROP TABLE gone; CREATE VIEW elsewhere AS SELECT User FROM mysql.user;
       CREATE VIEW readable AS SELECT 1 AS a; CREATE TABLE versioned (a int) WITH SYSTEM VERSIONING;
       SET NAMES gbk; CREATE PROCEDURE in_gbk() SELECT 1`,
        name,
      );
      const result = await backUp(source, store);
      const text = (leftOut(result) ?? []).join('\n');
      for (const pattern of [
      /^function of_admin: its text cannot be read, its definer is dbadmin@%$/m,
      /^view broken: Table '.*gone' doesn't exist$/m,
      /^view chain: /m,
      /^view elsewhere: SELECT command denied/m,
      /^the definer dbadmin@% of view readable$/m,
      /^the history of table versioned: /m,
      /^procedure in_gbk: /m,
    ]) assert.match(text, pattern); // prettier-ignore
      const restore = { ...store.env, ...RESTORE };
      const other = await readySite(servers.bench, servers.database);
      const result2 = await other.with(restore).init();
      assert.equal(result2.code, 0, result2.output);
      assert.equal(asUser(other, 'SELECT a FROM readable'), '1\n');
      const inPlace = await source.with(restore).init();
      assert.equal(inPlace.code, 0, inPlace.output);
      assert.match(servers.sqlOf(source, 'SHOW CREATE FUNCTION of_admin'), /dbadmin/);
      assert.equal(servers.sqlOf(source, "SHOW TABLES LIKE 'elsewhere'"), 'elsewhere');
    });

    it('are as large as the server takes them, also in a form that is larger', async () => {
      const store = aStore();
      const source = await readySite(servers.bench, servers.database);
      asUser(
        source,
        'CREATE TABLE large (id int, a longtext, b longblob, c longtext CHARACTER SET latin1)',
      );
      const size = Number(asUser(source, 'SELECT @@max_allowed_packet'));
      const near = String(size - 2000);
      const rows = `(1, repeat('ü\\\\', ${near} / 3), NULL, 'x'), (2, 'x', repeat(x'00FF27', ${near} / 3), repeat('ä"', 100)), (3, '', '', NULL)`;
      asUser(source, `INSERT INTO large VALUES ${rows}`);
      const sums =
        'SELECT id, md5(a), md5(b), md5(c), length(a), length(b) FROM large ORDER BY 1, 2';
      await backUp(source, store);
      const other = await readySite(servers.bench, servers.database);
      const result = await other.with({ ...store.env, ...RESTORE }).init();
      assert.equal(result.code, 0, result.output);
      assert.equal(asUser(other, sums), asUser(source, sums));
    });

    it('are in statements whose ends the tokenizer sees as the server does: random ones', () => {
      const seed = process.env['SEED'] ?? String(randomInt(1 << 30));
      const program = join(ROOT, 'test/jobs/objects/random_statements.py');
      const site = [String(servers.database.port), servers.database.adminUser];
      const output = execFileSync(required('python3'), [program, SCRIPTS, seed, ...site], {
        env: plainEnv({ PASSWORD: servers.database.adminPassword, PYTHONDONTWRITEBYTECODE: '1' }),
      }).toString();
      console.log(output.trim());
      assert.match(output, /^seed \d+: [1-9]\d* equal/);
    });
  },
);
