/**
 * Restoring by site_init.py, against real MariaDB and PostgreSQL servers and their own programs. The framework is a
 * stand-in (testbed/stand-in, test code); the backups are made by hand (backup-fixture.ts).
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { parseOutcome } from '../../constructs/kit/job-result.js';
import {
  NAME,
  aStore,
  backUp,
  filesOf,
  PREFIX,
  putFile,
  rowsOf,
  type BackupChange,
  type StoreVolume,
  writeManifest,
} from './backup-fixture.js';
import { readySite } from './ready-site.js';
import { type Env, redisCli, ROOT, temporaryDirectory } from './servers.js';
import {
  aBench,
  aSite,
  databaseOf,
  describeOnServers,
  KEY,
  setAppVersion,
  type SiteConfig,
  type SiteJobs,
} from './site-fixture.js';

const LATER = '20250201T120000Z';
const OTHER_KEY = 'b3RoZXItb3RoZXItb3RoZXItb3RoZXItb3RoZXItb3Q=';
const IMAGE = { IMAGE: 'registry/erpnext:v15.44.2' };
const KILLER = join(ROOT, 'test/jobs/killer/sitecustomize.py');
const [A, B] = ['aaaaaaaaaa', 'bbbbbbbbbb'];

type Files = Record<string, string>;
interface Copy {
  readonly rows: Record<string, string[]>;
  readonly files: Files;
}

const settingsOf = (site: SiteJobs): unknown[] => {
  const config = site.json('site_config.json');
  return [config['maintenance_mode'], config['pause_scheduler'], config['bench_id']];
};
const markerOf = (site: SiteJobs): SiteConfig => site.json('.app-operator.json');
const isOpen = (site: SiteJobs): boolean =>
  existsSync(site.path('.app-operator.json')) &&
  markerOf(site)['state'] === 'complete' &&
  markerOf(site)['upgrade'] === undefined;
const restored = (line: string): SiteConfig => parseOutcome(line)['restored'] as SiteConfig;

describeOnServers('a restore', (servers) => {
  const insert = (site: SiteJobs, text: string): void => {
    const names = servers.type === 'mariadb' ? 'SET NAMES utf8mb4; ' : '';
    servers.sqlOf(site, `${names}INSERT INTO ${servers.quoted('tabProbe')} VALUES (${text})`);
  };
  /** The data of a backup, without rows that the framework writes and the Administrator's password. */
  const copyOf = (site: SiteJobs): Copy => {
    const { tabMigration, __Auth, tabSingles, ...data } = rowsOf(servers, site);
    const { ['tabInstalled Application']: installed, ...rows } = data;
    assert.ok(tabMigration && __Auth && tabSingles && installed);
    return { rows, files: filesOf(site) };
  };
  const made = (bench: string, change: Env = {}): Promise<SiteJobs> =>
    readySite(bench, servers.database, { ...IMAGE, ...change });
  let source: SiteJobs | undefined;
  /** A site with data that is not easy to copy. */
  const theSource = async (): Promise<SiteJobs> => {
    const site = await made(servers.bench, { ENCRYPTION_KEY: OTHER_KEY });
    const newline = servers.type === 'mariadb' ? "'a\\nb'" : "E'a\\nb\\\\\\t'";
    for (const text of ["'GRANT x'", "'COMMENT ON SCHEMA public x'", "'/*M!999999'", "'ü”日本 😀'", newline]) {
      insert(site, text);
    } // prettier-ignore
    putFile(site, 'public/files/logo ü.png', 'logo');
    putFile(site, 'private/files/deep/er/GRANT.txt', 'private\n'.repeat(1000));
    return site;
  };
  /** A backup of it. */
  const backedUp = async (
    store: StoreVolume,
    change: BackupChange = {},
  ): Promise<{ source: SiteJobs; copy: Copy; directory: string }> => {
    source ??= await theSource();
    const directory = backUp(servers, source, store, change);
    return { source, copy: copyOf(source), directory };
  };
  const from = (store: StoreVolume, id = A, change: Env = {}): Env => ({
    ...store.env,
    RESTORE_ID: id,
    ...change,
  });
  const confirmed = { RESTORE_CONFIRMED: '1' };
  /** An existing site with data and files of its own. */
  const existing = async (
    bench = servers.bench,
    change: Env = {},
  ): Promise<{ site: SiteJobs; old: Copy }> => {
    const site = await made(bench, {
      SITE_CONFIG: '{"bench_id":"team.b.own","maintenance_mode":0}',
      ...change,
    });
    insert(site, "'mine'");
    putFile(site, 'public/files/mine.txt', 'mine');
    return { site, old: copyOf(site) };
  };

  /** Gives a site that was restored a row, a file and a key that the backup does not have. */
  const dataOfItsOwn = (site: SiteJobs, number: number): Copy => {
    insert(site, `'mine ${String(number)}'`);
    putFile(site, 'public/files/mine.txt', `mine ${String(number)}`);
    const config = { ...site.json('site_config.json'), encryption_key: KEY };
    writeFileSync(site.path('site_config.json'), JSON.stringify(config));
    return copyOf(site);
  };

  it('creates a new site from the newest complete backup: each row, each file, the key', async () => {
    const store = aStore();
    const ours = { RESTORE_OWNER: 'team/nightly' };
    const { copy, source } = await backedUp(store, {
      config: { mail_server: 'smtp.x' },
      manifest: { owner: 'team/nightly' },
    });
    backUp(servers, source, store, {
      name: '20250203T120000Z',
      manifest: { owner: 'team/another' },
    });
    backUp(servers, source, store, { name: LATER, manifest: { complete: false } });
    // Of a node whose clock was ahead.
    backUp(servers, source, store, {
      name: '29990101T000000Z',
      manifest: { owner: 'team/nightly' },
    });
    mkdirSync(join(store.directory, PREFIX, '20250301T120000Z'));
    const site = aSite(servers.bench, servers.database, { ...IMAGE, ...from(store), ...ours });
    const result = await site.init();
    assert.equal(result.code, 0, result.output);
    assert.deepEqual(copyOf(site), copy);
    const config = site.json('site_config.json');
    assert.equal(config['encryption_key'], OTHER_KEY);
    assert.equal(config['db_name'], databaseOf(site));
    assert.notEqual(config['db_name'], databaseOf(source));
    assert.equal(config['mail_server'], 'smtp.x');
    assert.deepEqual(settingsOf(site), [undefined, undefined, undefined]);
    const { time, ...reported } = restored(result.lastLine);
    assert.match(String(time), /^\d{4}-\d\d-\d\dT/);
    assert.deepEqual(reported, {
      requests: [A],
      name: NAME,
      location: `pvc://backups/${PREFIX}/${NAME}`,
      encryptionKey: 'Backup',
    });
    assert.equal(existsSync(site.path('private/restores', A)), false);
    assert.doesNotMatch(result.output, /site "quoted/, 'no password in the log');
    assert.doesNotMatch(result.output, new RegExp(OTHER_KEY), 'no key in the log');
    assert.match(readFileSync(site.path('migrations.txt'), 'utf8'), /15.44.2/, 'it was migrated');
    assert.equal((await site.with({ ADMIN_PASSWORD: 'other pw 1' }).init()).code, 0);
  });

  it('replaces an existing site, keeps its previous data, and puts its jobs back', async () => {
    const redis = (...args: readonly string[]): string =>
      redisCli(servers.redis.port, servers.redis.password, ...args);
    const store = aStore();
    // As of earlier releases, which wrote the setting of the site.
    const { copy } = await backedUp(store, { manifest: { encrypted: true } });
    const { site, old } = await existing();
    const queue = 'rq:queue:team.b.own:short';
    redis('RPUSH', queue, `${site.name}::1`);
    const cached = `${databaseOf(site)}|session`;
    redis('SET', cached, 'a user');
    const result = await site
      .with({ ...from(store, A, { RESTORE_NAME: NAME }), ...confirmed })
      .init();
    assert.equal(result.code, 0, result.output);
    assert.deepEqual(copyOf(site), copy);
    assert.equal(redis('EXISTS', cached), '0', 'nothing is remembered of the data before');
    assert.equal(redis('LRANGE', queue, '0', '-1'), `${site.name}::1`);
    redis('DEL', queue);
    assert.deepEqual(settingsOf(site), [0, undefined, 'team.b.own']);
    const before = `${site.name}/private/restores/${A}/before`;
    assert.equal(restored(result.lastLine)['before'], before);
    assert.deepEqual(readdirSync(join(site.bench, 'sites', before)).sort(), [
      'code.json',
      'database.sql.gz',
      'private-files',
      'public-files',
      'site_config.json',
    ]);
    assert.equal(
      old.files['public/files/mine.txt']?.length,
      copy.files['public/files/logo ü.png']?.length,
    );
    assert.equal(existsSync(join(site.bench, 'sites', before, 'public-files/mine.txt')), true);
    assert.equal(existsSync(site.path('private/restores', A, 'new')), false);
    assert.equal((await site.with(from(store, B, confirmed)).init()).code, 0);
    assert.deepEqual(readdirSync(site.path('private/restores')), [B], 'the last one stays');
  });

  it('works on a prepared database, without the administrator', async () => {
    const store = aStore();
    const { copy } = await backedUp(store);
    const { site } = await existing();
    const bare = site.with({ ...from(store, A, confirmed), DB_ROOT_PASSWORD: '' });
    const result = await bare.init();
    assert.equal(result.code, 0, result.output);
    assert.deepEqual(copyOf(site), copy);
  });

  it('runs no command of a dump', { skip: servers.type === 'postgres' }, async () => {
    const store = aStore();
    const { directory } = await backedUp(store);
    const { site, old } = await existing();
    const file = join(directory, 'database.sql.gz');
    const mark = join(temporaryDirectory(), 'mark');
    const command = gzipSync(`\\! touch ${mark}\n`);
    writeFileSync(file, Buffer.concat([readFileSync(file), command]));
    const manifest = readFileSync(join(directory, 'manifest.json'), 'utf8');
    writeManifest(directory, JSON.parse(manifest) as SiteConfig);
    const refused = await site.with(from(store, A, confirmed)).init();
    assert.match(
      refused.lastLine,
      /RestoreFailed: .*the dump has a command of the database's client, in the statement in line \d+: it was not loaded; \d+ of \d+ bytes of the compressed dump were read/,
    );
    assert.equal(existsSync(mark), false);
    assert.equal((await site.init()).code, 0);
    assert.deepEqual(copyOf(site), old);
  });

  it('keeps the site closed after a failed migration; without restoreFrom it restores the previous data', async () => {
    const bench = aBench('15.44.2', servers.redis);
    const store = aStore();
    const { copy } = await backedUp(store);
    const { site, old } = await existing(bench);
    setAppVersion(bench, 'frappe', '15.44.2', 'half');
    const restoring = site.with(from(store, A, confirmed));
    const failed = await restoring.init();
    assert.match(
      failed.lastLine,
      new RegExp(`MigrationFailed: .* stays in maintenance, with the data of backup ${NAME}; its previous data is in sites/.*/restores/${A}/before: remove restoreFrom to return to it: `),
    ); // prettier-ignore
    assert.deepEqual(settingsOf(site).slice(0, 2), [1, 1]);
    assert.equal((await restoring.init()).code, 1, 'again');
    setAppVersion(bench, 'frappe', '15.44.2');
    const back = await site.init();
    assert.equal(back.code, 0, back.output);
    assert.deepEqual(copyOf(site), old);
    assert.equal(site.json('site_config.json')['encryption_key'], KEY);
    assert.deepEqual(settingsOf(site), [0, undefined, 'team.b.own']);
    assert.equal(existsSync(site.path('private/restores', A)), false);
    assert.equal((await restoring.init()).code, 0, 'it was not restored, so it may be');
    assert.deepEqual(copyOf(site), copy);
  });

  it('creates a new site without a backup if the backup is not wanted any more', async () => {
    const bench = aBench('15.44.2', servers.redis);
    const store = aStore();
    await backedUp(store);
    setAppVersion(bench, 'frappe', '15.44.2', 'half');
    const site = aSite(bench, servers.database, IMAGE);
    assert.match((await site.with(from(store)).init()).lastLine, /MigrationFailed/);
    setAppVersion(bench, 'frappe', '15.44.2');
    const elsewhere = await site.with({ DB_HOST: '127.1' }).init();
    assert.match(elsewhere.lastLine, /DatabaseExists: .* was not begun in it; nothing was touched/);
    assert.equal(markerOf(site)['dbHost'], '127.0.0.1');
    const result = await site.init();
    assert.equal(result.code, 0, result.output);
    assert.deepEqual(filesOf(site), {});
    assert.deepEqual(rowsOf(servers, site)['tabProbe'], []);
    assert.equal(site.json('site_config.json')['encryption_key'], KEY);
  });

  /** A new site whose backup could not be loaded, and its Jobs with another image. */
  const halfRestored = async (): Promise<{ site: SiteJobs; again: SiteJobs }> => {
    const bench = aBench('15.44.2', servers.redis);
    const store = aStore();
    await backedUp(store);
    setAppVersion(bench, 'frappe', '15.44.2', 'half');
    const site = aSite(bench, servers.database, { ...IMAGE, ...from(store) });
    assert.match((await site.init()).lastLine, /MigrationFailed/);
    servers.sqlOf(site, 'CREATE TABLE precious (id int)');
    setAppVersion(bench, 'frappe', '15.45.0');
    return { site, again: site.with({ IMAGE: 'registry/erpnext:v15.45.0' }) };
  };

  it('loads a new site’s backup into no database of that name on another server', async () => {
    const { site, again } = await halfRestored();
    for (const root of [{}, { DB_ROOT_PASSWORD: '' }]) {
      const result = await again.with({ DB_HOST: '127.1', ...root }).init();
      assert.match(result.lastLine, /DatabaseExists: .* was not begun in it; nothing was touched/);
      assert.equal(servers.sqlOf(site, 'SELECT COUNT(*) FROM precious'), '0');
    }
    assert.equal((await again.init()).code, 0);
  });

  it('loads no backup into the database of a complete site of that name on another server', async () => {
    const store = aStore();
    await backedUp(store);
    const { site, old } = await existing();
    servers.setPassword(databaseOf(site), 'of production');
    const result = await site.with({ ...from(store, A, confirmed), DB_HOST: '127.1' }).init();
    assert.match(result.lastLine, /^app-operator: DatabaseServerMismatch: /, result.output);
    assert.deepEqual(copyOf(site), old);
  });

  it('drops no database of that name on another server with a site whose backup was not loaded', async () => {
    const { site, again } = await halfRestored();
    const name = databaseOf(site);
    const dropped = await again.with({ DB_HOST: '127.1' }).drop();
    assert.match(dropped.lastLine, /"databaseDropped": false, "filesRemoved": true/);
    assert.ok(servers.hasDatabase(name));
  });

  // The Job is killed at each rename, and each start of a program. What differs on PostgreSQL is how a database
  // is emptied and filled: an existing site has both, and site-init.test.ts kills what makes a new one.
  const step = servers.type === 'mariadb' ? 3 : 5;
  for (const what of servers.type === 'mariadb' ? ['an existing', 'a new'] : ['an existing']) {
    it(`completes after a kill at any point, of ${what} site`, async () => {
      const bench = aBench('15.44.2', servers.redis);
      const store = aStore();
      const { copy } = await backedUp(store);
      const killer = temporaryDirectory();
      cpSync(KILLER, join(killer, 'sitecustomize.py'));
      const path = `${killer}:${join(bench, 'apps/frappe')}`;
      const used = what === 'an existing' ? (await existing(bench)).site : undefined;
      let killed = 0;
      for (let at = 1, ended = false; !ended; at += step) {
        const site = used ?? aSite(bench, servers.database, IMAGE);
        const old = used && dataOfItsOwn(used, at);
        const restoring = site.with(from(store, `${at}`.padStart(10, 'a'), confirmed));
        const result = await restoring.with({ KILL_AT: String(at), PYTHONPATH: path }).init();
        ended = result.code === 0;
        if (!ended) killed += 1;
        assert.ok(ended || result.code === null, `point ${String(at)}: ${result.output}`);
        if (isOpen(site)) {
          const now = copyOf(site);
          const expected = old && JSON.stringify(now) === JSON.stringify(old) ? old : copy;
          assert.deepEqual(now, expected, `open, and neither, at point ${String(at)}`);
        }
        const repaired = await restoring.init();
        assert.equal(repaired.code, 0, `point ${String(at)}: ${repaired.output}`);
        assert.deepEqual(copyOf(site), copy, `point ${String(at)}`);
        assert.equal(site.json('site_config.json')['encryption_key'], OTHER_KEY);
        assert.equal(markerOf(site)['restore'], undefined);
      }
      assert.ok(killed * step >= 25, `killed at ${String(killed)} points`);
    });
  }

  // What follows is the same on both kinds of servers.
  if (servers.type === 'postgres') return;

  it('continues after any kill while another backup with another key replaces a failed one', async () => {
    const bench = aBench('15.44.2', servers.redis);
    const store = aStore();
    const third = KEY.replace('c2', 'd3');
    const { copy } = await backedUp(store);
    await backedUp(store, { name: LATER, config: { encryption_key: third } });
    const { site } = await existing(bench);
    setAppVersion(bench, 'frappe', '15.44.2', 'half');
    const first = from(store, A, { ...confirmed, RESTORE_NAME: NAME });
    assert.match((await site.with(first).init()).lastLine, /MigrationFailed/);
    setAppVersion(bench, 'frappe', '15.44.2');
    const killer = temporaryDirectory();
    cpSync(KILLER, join(killer, 'sitecustomize.py'));
    const PYTHONPATH = `${killer}:${join(bench, 'apps/frappe')}`;
    const restoring = site.with({ ...from(store, B, confirmed), RESTORE_NAME: LATER, PYTHONPATH });
    let at = 0;
    for (let ended = false; !ended;) {
      at += 1;
      const result = await restoring.with({ KILL_AT: String(at) }).init();
      ended = result.code === 0;
      assert.ok(ended || result.code === null, `point ${String(at)}: ${result.output}`);
    }
    assert.ok(at >= 10, `killed at ${String(at)} points`);
    assert.deepEqual(copyOf(site), copy);
    assert.equal(site.json('site_config.json')['encryption_key'], third);
  });

  it('is done once for each request, whatever the spec requested since', async () => {
    const store = aStore();
    await backedUp(store);
    const { site, old } = await existing();
    const restoring = site.with({ ...from(store, A), ...confirmed });
    assert.equal((await restoring.init()).code, 0);
    insert(site, "'since then'");
    const since = copyOf(site);
    assert.deepEqual(restored((await restoring.init()).lastLine)['requests'], [A]);
    assert.equal((await site.init()).code, 0);
    assert.deepEqual(copyOf(site), since);
    assert.notDeepEqual(since, old);
    assert.equal((await site.with({ ...from(store, B), ...confirmed }).init()).code, 0);
    assert.equal(rowsOf(servers, site)['tabProbe']?.includes('since then'), false);
    insert(site, "'after b'");
    const again = await restoring.init();
    assert.deepEqual(restored(again.lastLine)['requests'], [A, B]);
    assert.equal(rowsOf(servers, site)['tabProbe']?.includes('after b'), true);
  });

  it('keeps the data of an existing site without a confirmation, and updates the rest', async () => {
    const store = aStore();
    await backedUp(store);
    const { site, old } = await existing();
    const result = await site.with({ ...from(store), ADMIN_PASSWORD: 'another pw' }).init();
    assert.equal(result.code, 0, result.output);
    assert.equal(parseOutcome(result.lastLine)['restore'], 'Unconfirmed');
    assert.match(result.output, /set the Administrator's password/);
    assert.deepEqual(copyOf(site), old);
    const unknown = await site.with({ RESTORE_ID: A, ...confirmed }).init();
    assert.equal(parseOutcome(unknown.lastLine)['restore'], 'Unknown');
    assert.deepEqual(copyOf(site), old);
  });

  it('reports a key that differs from the Secret’s, and a Secret that has it', async () => {
    const store = aStore();
    await backedUp(store);
    const { site } = await existing();
    const restoring = site.with(from(store, A, confirmed));
    assert.equal(restored((await restoring.init()).lastLine)['encryptionKey'], 'Backup');
    const same = await restoring.with({ ENCRYPTION_KEY: OTHER_KEY }).init();
    assert.equal(restored(same.lastLine)['encryptionKey'], 'Secret');
    const third = KEY.replace('c2', 'd3');
    const config = { ...site.json('site_config.json'), encryption_key: third };
    writeFileSync(site.path('site_config.json'), JSON.stringify(config));
    assert.match((await restoring.init()).lastLine, /EncryptionKeyMismatch/);
  });
  const broken: [string, RegExp, (directory: string) => BackupChange | undefined][] = [
    ['of newer code', /BackupNewer: .*frappe 15.45.0 \(image: 15.44.2\)/, () => ({ manifest: { apps: [{ name: 'frappe', version: '15.45.0' }] } })],
    ['of an app that the image does not hold', /AppNotInImage: .*crm/, () => ({ manifest: { apps: [{ name: 'frappe', version: '15.1.0' }, { name: 'crm', version: '1' }] } })],
    ['of another kind of server', /BackupUnsuitable/, () => ({ manifest: { dbType: 'oracle' } })],
    ['of some document types', /BackupIncomplete/, () => ({ manifest: { partial: true } })],
    ['that is not complete', /BackupIncomplete/, () => ({ manifest: { complete: false } })],
    ['that is encrypted', /BackupEncrypted: .*: files.tgz;/, () => ({ manifest: { encrypted: true }, files: { 'files.tgz': Buffer.from('8c0d04090302', 'hex') } })],
    ['without a key', /BackupIncomplete: .*no encryption key/, () => ({ config: { encryption_key: '' } })],
    ['of unknown apps', /BackupIncomplete: .*does not list its apps/, () => ({ manifest: { apps: 'frappe' } })],
  ]; // prettier-ignore
  let unchanged: { site: SiteJobs; old: Copy } | undefined;
  for (const [what, line, change] of broken) {
    it(`rejects a backup ${what}, and does not change the site`, async () => {
      const store = aStore();
      await backedUp(store, change(''));
      const { site, old } = (unchanged ??= await existing());
      const result = await site.with(from(store, A, { ...confirmed, RESTORE_NAME: NAME })).init();
      assert.match(result.lastLine, line, result.output);
      assert.equal(result.terminationMessage, result.lastLine);
      assert.deepEqual(copyOf(site), old);
      assert.deepEqual(settingsOf(site), [0, undefined, 'team.b.own']);
      assert.equal(markerOf(site)['upgrade'], undefined);
      assert.equal(existsSync(site.path('private/restores', A)), false);
    });
  }

  it('rejects files that differ from what was stored, before it changes the site', async () => {
    const store = aStore();
    const { directory } = await backedUp(store, { manifest: { owner: 'team/nightly' } });
    const { site, old } = await existing();
    const file = join(directory, 'private-files.tgz');
    const data = readFileSync(file);
    data[data.length >> 1] = (data[data.length >> 1] ?? 0) ^ 1;
    writeFileSync(file, data);
    const restoring = site.with(from(store, A, confirmed));
    const result = await restoring.init();
    assert.match(result.lastLine, /BackupCorrupt: .*private-files.tgz.* is unchanged$/);
    assert.deepEqual(copyOf(site), old);
    const missing = await restoring.with({ RESTORE_NAME: '20200101T000000Z' }).init();
    assert.match(missing.lastLine, /BackupMissing: .*has no backup 20200101T000000Z/);
    const others = await restoring.with({ RESTORE_NAME: NAME, RESTORE_OWNER: 'team/other' }).init();
    assert.match(
      others.lastLine,
      /BackupMissing: .* is a backup of team\/nightly, not of team\/other/,
    );
    const none = await restoring.with({ STORE_PREFIX: 'no/body' }).init();
    assert.match(none.lastLine, /BackupMissing: .*has no complete backup/);
    assert.deepEqual(settingsOf(site), [0, undefined, 'team.b.own']);
  });

  it('opens the site again if a Job was killed while it closed it, and the backup was deleted', async () => {
    const redis = (...args: readonly string[]): string =>
      redisCli(servers.redis.port, servers.redis.password, ...args);
    const store = aStore();
    const { directory } = await backedUp(store);
    const { site, old } = await existing();
    const lease = String(Math.floor(Date.now() / 1000) + 600);
    redis('ZADD', 'rq:wip:team.b.own:long', lease, `${site.name}::7`);
    const restoring = site.with(from(store, A, confirmed));
    const killed = await restoring.init(() => settingsOf(site)[0] === 1);
    redis('DEL', 'rq:wip:team.b.own:long');
    assert.deepEqual([killed.code, settingsOf(site)[0]], [null, 1], killed.output);
    rmSync(directory, { recursive: true });
    const refused = await restoring.init();
    assert.match(refused.lastLine, /^app-operator: BackupMissing: .* is open as before$/);
    assert.deepEqual(settingsOf(site), [0, undefined, 'team.b.own']);
    assert.equal(markerOf(site)['upgrade'], undefined);
    assert.deepEqual(copyOf(site), old);
  });

  it('extracts no file outside of the site’s files', async () => {
    const store = aStore();
    const { directory, source } = await backedUp(store);
    const { site, old } = await existing();
    const evil = temporaryDirectory();
    mkdirSync(join(evil, 'x/public/files'), { recursive: true });
    writeFileSync(join(evil, 'x/public/files/f'), 'f');
    execFileSync('ln', ['-s', '/etc', join(evil, 'x/public/files/link')]);
    writeFileSync(join(evil, 'x/site_config.json'), '{}');
    const pack = (...args: readonly string[]): void => {
      execFileSync('tar', ['-czPf', join(directory, 'files.tgz'), ...args], { cwd: evil });
      const manifest = JSON.parse(
        readFileSync(join(directory, 'manifest.json'), 'utf8'),
      ) as SiteConfig;
      writeManifest(directory, manifest);
    };
    pack('--transform=s,^x/public/files/f$,x/public/files/../../../../f,', 'x/public/files/f');
    const refused = await site.with(from(store, A, confirmed)).init();
    assert.match(refused.lastLine, /BackupCorrupt: .*outside of the site/, refused.output);
    assert.deepEqual(copyOf(site), old);
    pack('x');
    const result = await site.with(from(store, A, confirmed)).init();
    assert.equal(result.code, 0, result.output);
    assert.match(result.output, /skipped .*link.*: not a file/);
    assert.deepEqual(readdirSync(site.path('public/files')), ['f']);
    assert.equal(databaseOf(site) === databaseOf(source), false);
  });

  it('continues with another image after the migration of the backup failed', async () => {
    const bench = aBench('15.44.2', servers.redis);
    const store = aStore();
    const { copy } = await backedUp(store);
    const { site } = await existing(bench);
    setAppVersion(bench, 'frappe', '15.44.2', 'half');
    const restoring = site.with(from(store, A, confirmed));
    assert.equal((await restoring.init()).code, 1);
    setAppVersion(bench, 'frappe', '15.45.0');
    const result = await restoring.with({ IMAGE: 'registry/erpnext:v15.45.0' }).init();
    assert.equal(result.code, 0, result.output);
    assert.deepEqual(copyOf(site), copy);
    assert.deepEqual(restored(result.lastLine)['requests'], [A]);
  });

  it('keeps the previous data if another backup, then the first one again, cannot be fetched', async () => {
    const bench = aBench('15.44.2', servers.redis);
    const store = aStore();
    const { directory } = await backedUp(store, { config: { mail_server: 'smtp.x' } });
    const { site, old } = await existing(bench);
    setAppVersion(bench, 'frappe', '15.44.2', 'half');
    assert.match((await site.with(from(store, A, confirmed)).init()).lastLine, /MigrationFailed/);
    assert.match((await site.with(from(store, B, confirmed)).init()).lastLine, /MigrationFailed/);
    const file = join(directory, 'files.tgz');
    writeFileSync(file, Buffer.alloc(readFileSync(file).length));
    const refused = await site.with(from(store, A, confirmed)).init();
    assert.match(refused.lastLine, /BackupCorrupt/, refused.output);
    const before = ['before', 'new'].map((name) => site.path('private/restores', A, name));
    assert.deepEqual(before.map(existsSync), [true, false]);
    setAppVersion(bench, 'frappe', '15.44.2');
    const result = await site.init();
    assert.equal(result.code, 0, result.output);
    assert.deepEqual(copyOf(site), old);
    const { encryption_key: key, mail_server: server } = site.json('site_config.json');
    assert.deepEqual([key, server], [KEY, undefined]);
  });

  it('keeps the current data, not the data at the first request of that backup', async () => {
    const bench = aBench('15.44.2', servers.redis);
    const store = aStore();
    await backedUp(store);
    const { site } = await existing(bench);
    setAppVersion(bench, 'frappe', '15.44.2', 'half');
    assert.match((await site.with(from(store, A, confirmed)).init()).lastLine, /MigrationFailed/);
    setAppVersion(bench, 'frappe', '15.44.2');
    const other = await site.with(from(store, B, confirmed)).init();
    assert.equal(other.code, 0, other.output);
    assert.equal(restored(other.lastLine)['before'], `${site.name}/private/restores/${A}/before`);
    for (const version of ['15.44.2', '15.45.0']) {
      const now = site.with({ IMAGE: `registry/erpnext:v${version}` });
      insert(site, `'at ${version}'`);
      putFile(site, 'public/files/since.txt', version);
      const since = copyOf(site);
      setAppVersion(bench, 'frappe', version, 'half');
      // The second time its data is partly migrated, and the upgrade's backup is its previous data.
      if (version !== '15.44.2') assert.match((await now.init()).lastLine, /MigrationFailed/);
      const failed = await now.with(from(store, A, confirmed)).init();
      assert.match(failed.lastLine, /MigrationFailed: .* with the data of backup/, failed.output);
      setAppVersion(bench, 'frappe', version);
      const result = await now.init();
      assert.equal(result.code, 0, result.output);
      assert.deepEqual(copyOf(site), since);
    }
  });
});
