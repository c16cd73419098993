/** Dumps of PostgreSQL on a real server: what a database may hold goes round, and how dumps are read. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { aStore, backUp, dumpOf, type StoreVolume, writeManifest } from './backup-fixture.js';
import { readySite } from './ready-site.js';
import {
  type Env,
  jobCommand,
  plainEnv,
  required,
  ROOT,
  runScript,
  SCRIPTS,
  temporaryDirectory,
} from './servers.js';
import {
  aBench,
  aSite,
  databaseOf,
  needsStandIn,
  setAppVersion,
  type SiteConfig,
  type SiteJobs,
  TestServers,
} from './site-fixture.js';

const EVERYTHING = readFileSync(join(ROOT, 'test/jobs/postgres/everything.sql'), 'utf8');
/** What the server's administrator has made in a site's database. */
const OTHERS = readFileSync(join(ROOT, 'test/jobs/postgres/others.sql'), 'utf8');
const [OLD, NEW] = ['registry/erpnext:v15.44.2', 'registry/erpnext:v15.45.0'];
const confirmed = { RESTORE_CONFIRMED: '1' };

describe('dumps of PostgreSQL', needsStandIn('postgres', 'redis-server', 'python3'), () => {
  const servers = new TestServers('postgres');
  before(async () => {
    await servers.start();
    servers.database.sql('CREATE ROLE reader LOGIN');
  });
  after(() => servers.stop());

  const asOwner = (site: SiteJobs, sql: string): string =>
    servers.sqlOf(site, `SET ROLE "${databaseOf(site)}"; ${sql}`);
  /** A site with everything. */
  const full = async (bench = servers.bench): Promise<SiteJobs> => {
    const site = await readySite(bench, servers.database, { IMAGE: OLD, KEEP_CLOSED: '' });
    servers.database.sql(`GRANT CONNECT ON DATABASE ${databaseOf(site)} TO reader`);
    asOwner(site, EVERYTHING);
    return site;
  };
  const contentOf = (site: SiteJobs): readonly string[] =>
    // Without the framework's tables, in which each Job writes.
    dumpOf(servers.database, databaseOf(site), ['-T', 'public.tab*', '-T', 'public.__*'])
      .toString()
      .replaceAll(databaseOf(site), 'OWNER')
      .replaceAll(/^\\(un)?restrict .*\n/gm, '')
      .replaceAll(/^-- Name: .*\n/gm, '')
      .split('\n')
      .filter((line) => !['', '--'].includes(line));
  const from = (store: StoreVolume, id = 'aaaaaaaaaa'): Env => ({ ...store.env, RESTORE_ID: id });
  const backedUp = async (site: SiteJobs, store: Env): Promise<SiteConfig> => {
    const result = await runScript(jobCommand('site_backup.py', {}), {
      ...{ BENCH_DIR: site.bench, PYTHONPATH: join(site.bench, 'apps/frappe') },
      ...{ SITE_NAME: site.name, SITE_OWNER: String(site.json('.app-operator.json')['owner']) },
      ...{ BACKUP_OWNER: 'team/nightly', IMAGE: OLD, JOB_NAME: 'job-1', WAIT_SECONDS: '60' },
      ...store,
    });
    assert.equal(result.code, 0, result.output);
    const folder = join(store['STORE_DIR'] ?? '', store['STORE_PREFIX'] ?? '');
    const [name = ''] = readdirSync(folder).filter((one) => !one.startsWith('.'));
    return JSON.parse(readFileSync(join(folder, name, 'manifest.json'), 'utf8')) as SiteConfig;
  };
  /** Replaces the dump of a backup. */
  const putDump = (directory: string, dump: string | Buffer): void => {
    writeFileSync(join(directory, 'database.sql.gz'), gzipSync(dump));
    const manifest = readFileSync(join(directory, 'manifest.json'), 'utf8');
    writeManifest(directory, JSON.parse(manifest) as SiteConfig);
  };

  it('hold everything: into another site, and twice in place', async () => {
    const store = aStore();
    const site = await full();
    const before = contentOf(site);
    assert.ok(before.includes('GRANT x;'));
    const { leftOut } = await backedUp(site, store.env);
    assert.deepEqual(leftOut, ['rights of the role reader']);
    const copy = aSite(servers.bench, servers.database, { IMAGE: OLD, ...from(store) });
    const made = await copy.init();
    assert.equal(made.code, 0, made.output);
    const isOfReader = (line: string): boolean => line.endsWith(' TO reader;');
    assert.deepEqual(
      contentOf(copy),
      before.filter((line) => !isOfReader(line)),
      'no other role gets rights in another database',
    );
    assert.equal(servers.sqlOf(copy, 'SELECT report.total()'), '42');
    for (const id of ['bbbbbbbbbb', 'cccccccccc']) {
      asOwner(site, 'CREATE TABLE later (id int); DROP VIEW v_chain');
      const restored = await site.with({ ...from(store, id), ...confirmed }).init();
      assert.equal(restored.code, 0, restored.output);
      assert.deepEqual(contentOf(site), before);
    }
  });

  it('hold everything on the way back of an upgrade, and of a restore that fails', async () => {
    const bench = aBench('15.44.2', servers.redis);
    const site = await full(bench);
    const before = contentOf(site);
    setAppVersion(bench, 'frappe', '15.45.0', 'half');
    assert.match((await site.with({ IMAGE: NEW }).init()).lastLine, /MigrationFailed/);
    setAppVersion(bench, 'frappe', '15.44.2');
    const back = await site.init();
    assert.equal(back.code, 0, back.output);
    assert.deepEqual(contentOf(site), before);

    const store = aStore();
    const directory = backUp(servers, site, store);
    putDump(directory, `${dumpOf(servers.database, databaseOf(site)).toString()}\nSELECT 1;\n`);
    const failed = await site.with({ ...from(store), ...confirmed }).init();
    assert.match(
      failed.lastLine,
      /RestoreFailed: .* remove restoreFrom to return to it: line \d+ of the dump has a statement that is not loaded, 'SELECT 1'/,
    );
    const returned = await site.init();
    assert.equal(returned.code, 0, returned.output);
    assert.deepEqual(contentOf(site), before);
  });

  it('leave out what is not the site’s, by name, and leave it where it is', async () => {
    const store = aStore();
    const site = await full();
    servers.sqlOf(site, OTHERS.replaceAll('OWNER', databaseOf(site)));
    const before = contentOf(site);
    const { leftOut, complete } = await backedUp(site, store.env);
    assert.equal(complete, true);
    assert.deepEqual(leftOut, [
      'public.audit of dbadmin',
      'public.audit_id_seq of dbadmin',
      'event trigger watch',
      'extension pg_stat_statements',
      'function native(integer) in internal',
      'rights of the role reader',
    ]);
    const restored = await site.with({ ...from(store), ...confirmed }).init();
    assert.equal(restored.code, 0, restored.output);
    const withoutOwners = (lines: readonly string[]): readonly string[] =>
      lines.filter((line) => !line.includes(' OWNER TO '));
    assert.deepEqual(withoutOwners(contentOf(site)), withoutOwners(before));
    assert.equal(servers.sqlOf(site, 'SELECT count(*) FROM audit'), '1');
    const copy = aSite(servers.bench, servers.database, { IMAGE: OLD, ...from(store) });
    const made = await copy.init();
    assert.equal(made.code, 0, made.output);
    assert.equal(servers.sqlOf(copy, 'SELECT report.total()'), '42');
    assert.match(made.output, /left out of the dump: CREATE VIEW public.v_audit/);
  });

  it('hold 3,000 tables with 12,000 indexes', async () => {
    const bench = aBench('15.44.2', servers.redis);
    const site = await readySite(bench, servers.database, { IMAGE: OLD });
    const tables = `DO $$ BEGIN FOR i IN 1..3000 LOOP
      EXECUTE format('CREATE TABLE "tabMany %s" (name text PRIMARY KEY, a int, b int, c int)', i);
      EXECUTE format('CREATE INDEX ON "tabMany %s" (a); CREATE INDEX ON "tabMany %s" (b); CREATE INDEX ON "tabMany %s" (c)', i, i, i);
      COMMIT; END LOOP; END $$`;
    servers.database.sqlAll([`SET ROLE "${databaseOf(site)}"`, tables], databaseOf(site));
    const count = (): string =>
      servers.sqlOf(
        site,
        "SELECT count(*) FROM pg_class WHERE relkind IN ('r', 'i') AND relname LIKE 'tabMany%'",
      );
    assert.equal(count(), '15000');
    setAppVersion(bench, 'frappe', '15.45.0', 'half');
    assert.match((await site.with({ IMAGE: NEW }).init()).lastLine, /MigrationFailed/);
    setAppVersion(bench, 'frappe', '15.44.2');
    const back = await site.init();
    assert.equal(back.code, 0, back.output);
    assert.equal(count(), '15000');
  });

  it('are refused with the line where they reach beyond the database', async () => {
    const store = aStore();
    const site = await full();
    const before = contentOf(site);
    const directory = backUp(servers, site, store);
    const dump = dumpOf(servers.database, databaseOf(site)).toString();
    let id = 0;
    for (const [statement, what] of [
      ["/* ' */ \\! id", 'a command of psql, \\\\!'],
      ['\\connect template1', 'a command of psql, \\\\connect'],
      [
        "COPY public.numbers FROM PROGRAM 'id';",
        "a statement that is not loaded, 'COPY public.numbers FROM PROGRAM'",
      ],
      ['CREATE ROLE intruder;', "a statement that is not loaded, 'CREATE ROLE intruder'"],
      [
        "CREATE TABLE public.one AS SELECT set_config('standard_conforming_strings', 'off', false);",
        'texts of another form',
      ],
      ["SET client_encoding = 'SJIS';", 'the encoding SJIS'],
      ['CREATE TABLE public.cut (a text);\nCOPY public.cut FROM stdin;\na', 'rows without an end'],
    ] as const) {
      putDump(directory, `${dump}${statement}\n`);
      id += 1;
      const request = `${String(id)}aaaaaaaaa`;
      const result = await site.with({ ...from(store, request), ...confirmed }).init();
      assert.match(
        result.lastLine,
        new RegExp(`RestoreFailed: .*: line \\d+ of the dump has ${what}`),
        statement,
      );
    }
    const back = await site.init();
    assert.equal(back.code, 0, back.output);
    assert.deepEqual(contentOf(site), before);
  });

  it('are split as the server splits them', () => {
    const seed = randomInt(2 ** 31);
    console.log(`seed ${String(seed)}`);
    const { port, adminUser, adminPassword } = servers.database;
    const quoted = adminPassword.replaceAll(/(['\\])/g, '\\$1');
    const address = `host=127.0.0.1 port=${String(port)} user=${adminUser} dbname=postgres password='${quoted}' options='-c client_min_messages=error'`;
    const script = join(ROOT, 'test/jobs/postgres/tokens.py');
    const compared = execFileSync(required('python3'), [script, address, '20000', String(seed)], {
      env: plainEnv({ PYTHONPATH: SCRIPTS }),
    });
    assert.ok(Number(compared) > 5000, compared.toString());
  });
});

describe('a server of PostgreSQL', needsStandIn('postgres', 'redis-server', 'python3'), () => {
  const servers = new TestServers('postgres');
  const login = (name: string): Env => ({ DB_ROOT_USER: name, DB_ROOT_PASSWORD: 'pw' });
  before(async () => {
    await servers.start();
    const { sql } = servers.database;
    for (const statement of [
      'CREATE ROLE provider',
      "CREATE ROLE member LOGIN PASSWORD 'pw' CREATEROLE CREATEDB IN ROLE provider",
      "CREATE ROLE outsider LOGIN PASSWORD 'pw' CREATEROLE CREATEDB",
      'ALTER DATABASE template0 ALLOW_CONNECTIONS true',
    ])
      sql(statement);
    sql(
      'ALTER SCHEMA public OWNER TO provider; REVOKE ALL ON SCHEMA public FROM PUBLIC',
      'template0',
    );
  });
  after(() => servers.stop());

  it('whose provider owns schema public is granted, or the role and the statement are named', async () => {
    const site = aSite(servers.bench, servers.database, login('member'));
    const created = await site.init();
    assert.equal(created.code, 0, created.output);
    assert.equal((await site.init()).code, 0);
    assert.match((await site.drop()).lastLine, /"databaseDropped": true/);
    const refused = await aSite(servers.bench, servers.database, login('outsider')).init();
    assert.match(
      refused.lastLine,
      /^app-operator: DatabaseRightsMissing: schema public of new databases on 127.0.0.1:\d+ belongs to provider, and outsider may not grant rights on it; run as a superuser: GRANT "provider" TO "outsider"; or prepare the database, and run there: GRANT ALL ON SCHEMA public TO "s\d+_shop"$/,
    );
  });

  it('with a prepared database without rights is refused before anything is created', async () => {
    const { sql } = servers.database;
    const site = aSite(servers.bench, servers.database, {
      DB_ROOT_PASSWORD: '',
      DB_PASSWORD: 'pw',
      WAIT_SECONDS: '5',
    });
    const [, , name = ''] = site.ownNames;
    sql(`CREATE ROLE ${name} LOGIN PASSWORD 'pw'`);
    sql(`CREATE DATABASE ${name} OWNER ${name} TEMPLATE template0`);
    const refused = await site.init();
    assert.match(
      refused.lastLine,
      /DatabaseRightsMissing: (s\d+_shop) may not create tables in schema public of \1 on 127.0.0.1:\d+; nothing was created; run there as the schema's owner: GRANT ALL ON SCHEMA public TO "\1"$/,
    );
    assert.equal(site.exists(), false);
    sql(`GRANT ALL ON SCHEMA public TO ${name}`, name);
    const created = await site.init();
    assert.equal(created.code, 0, created.output);
  });

  it('that is newer than the image’s pg_dump is refused with both versions', async () => {
    const older = temporaryDirectory();
    writeFileSync(
      join(older, 'pg_dump'),
      '#!/bin/sh\necho "pg_dump (PostgreSQL) 14.9 (Debian 14.9-1)"\n',
      { mode: 0o755 },
    );
    const path = { PATH: `${older}:${plainEnv({})['PATH'] ?? ''}` };
    const versions =
      /DatabaseUnsupported: 127.0.0.1:\d+ is PostgreSQL 1[5-9][.\d]+, and the image has pg_dump 14.9, which dumps no newer server: .*; use a server of version 14 or older, or an image with pg_dump 1[5-9]/;
    const site = aSite(servers.bench, servers.database, login('member'));
    const refused = await site.with(path).init();
    assert.match(refused.lastLine, versions);
    assert.equal(site.exists(), false);
    assert.equal(servers.hasDatabase(site.ownNames[2] ?? ''), false);
    const bench = aBench('15.44.2', servers.redis);
    const open = aSite(bench, servers.database, { ...login('member'), IMAGE: OLD });
    assert.equal((await open.init()).code, 0);
    setAppVersion(bench, 'frappe', '15.45.0');
    const kept = await open.with({ ...path, IMAGE: NEW }).init();
    assert.match(kept.lastLine, versions);
    assert.match(kept.lastLine, /is open as before$/);
    assert.doesNotMatch(kept.output, /closing/);
  });
});
