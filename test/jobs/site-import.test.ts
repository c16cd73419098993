/**
 * Importing a backup that the framework itself made, by site_init.py, on real MariaDB and PostgreSQL servers. The files
 * are as `bench backup --with-files` writes them: under its names, without a manifest, and encrypted by gpg.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { parseOutcome } from '../../constructs/kit/job-result.js';
import { freePort } from '../../testbed/controlplane/ports.js';
import { startS3Server } from '../../testbed/s3/server.js';
import { dumpOf, filesOf, putFile, rowsOf } from './backup-fixture.js';
import { newAuthority } from './certificates.js';
import { linkServer } from './link-server.js';
import { readySite } from './ready-site.js';
import { type Env, plainEnv, ROOT, temporaryDirectory } from './servers.js';
import { s3Env, signedEnv } from './store-fixture.js';
import {
  aBench,
  aSite,
  databaseOf,
  describeOnServers,
  KEY,
  type SiteConfig,
  type SiteJobs,
} from './site-fixture.js';

const OTHER_KEY = 'b3RoZXItb3RoZXItb3RoZXItb3RoZXItb3RoZXItb3Q=';
/** Encrypted with OTHER_KEY by Fernet. */
const TOKEN_TIME = Buffer.from([0x80, 0, 0, 0, 0, 0x65, 0, 0, 0]);
const BACKUP_KEY = '-begins with a hyphen';
const IMAGE = { IMAGE: 'registry/erpnext:v15.44.2' };
const START = '20250131_173000-old_example_com';
const DATABASE = `${START}-database.sql.gz`;
const PUBLIC = `${START}-files.tar`;
const PRIVATE = `${START}-private-files.tgz`;
const CONFIG = `${START}-site_config_backup.json`;
const ID = 'aaaaaaaaaa';
const KILLER = join(ROOT, 'test/jobs/killer/sitecustomize.py');
/** What the framework writes before the dump. */
const HEAD =
  '-- begin frappe metadata\n-- [frappe]\n-- version = 15.44.2\n-- branch = N/A\n-- end frappe metadata\n-- \n';

/** Files of an archive by their names; undefined is left out. */
type Files = Readonly<Record<string, Buffer | string | undefined>>;

function encrypted(data: Buffer, key = BACKUP_KEY): Buffer {
  const home = temporaryDirectory();
  const options = [
    '--homedir',
    home,
    '--batch',
    '--pinentry-mode',
    'loopback',
    '--passphrase-fd',
    '3',
  ];
  const file = join(home, 'key');
  writeFileSync(file, `${key}\n`);
  return execFileSync('sh', ['-c', `gpg ${options.join(' ')} --symmetric 3< ${file}`], {
    input: data,
    env: plainEnv({}),
    stdio: ['pipe', 'pipe', 'ignore'],
    maxBuffer: 1 << 28,
  });
}

/** The token of a secret as Fernet signs it; its content is not read. */
function token(key: string): string {
  const script =
    'import base64, hmac, sys\n' +
    'key = base64.urlsafe_b64decode(sys.argv[1])\n' +
    'data = bytes.fromhex(sys.argv[2]) + bytes(32)\n' +
    'print(base64.urlsafe_b64encode(data + hmac.new(key[:16], data, "sha256").digest()).decode())';
  const args = ['-c', script, key, TOKEN_TIME.toString('hex')];
  return execFileSync('python3', args).toString().trim();
}

describeOnServers('an import', (servers) => {
  const insert = (site: SiteJobs, table: string, values: string): void => {
    const names = servers.type === 'mariadb' ? 'SET NAMES utf8mb4; ' : '';
    servers.sqlOf(site, `${names}INSERT INTO ${servers.quoted(table)} VALUES (${values})`);
  };
  let source: Promise<SiteJobs> | undefined;
  const theSource = async (): Promise<SiteJobs> => {
    const site = await readySite(servers.bench, servers.database, {
      ...IMAGE,
      ENCRYPTION_KEY: OTHER_KEY,
    });
    for (const text of ["'first'", "'ü”日本 😀'"]) insert(site, 'tabProbe', text);
    insert(site, '__Auth', `'Email Account', 'Sales ü', 'password', '${token(OTHER_KEY)}', 1`);
    putFile(site, 'public/files/logo ü.png', 'logo');
    putFile(site, 'private/files/deep/er/contract.txt', 'private\n'.repeat(1000));
    return site;
  };
  /** The files that the framework would write of a site. */
  const filesOfBackup = (site: SiteJobs): Record<string, Buffer> => {
    const tar = (folder: string, ...options: readonly string[]): Buffer =>
      execFileSync('tar', ['-c', ...options, `./${site.name}/${folder}`], {
        cwd: join(site.bench, 'sites'),
        maxBuffer: 1 << 28,
      });
    const config = { ...site.json('site_config.json'), mail_server: 'smtp.x', db_host: 'old-db' };
    return {
      [DATABASE]: gzipSync(
        Buffer.concat([Buffer.from(HEAD), dumpOf(servers.database, databaseOf(site))]),
      ),
      [PUBLIC]: tar('public/files'),
      [PRIVATE]: tar('private/files', '-z'),
      [CONFIG]: Buffer.from(JSON.stringify({ ...config, backup_encryption_key: BACKUP_KEY })),
    };
  };
  interface Backup {
    readonly files: Record<string, Buffer>;
    readonly copy: ReturnType<typeof copyOf>;
  }
  let backup: Promise<Backup> | undefined;
  const theBackup = (): Promise<Backup> => {
    backup ??= (async () => {
      const site = await (source ??= theSource());
      return { files: filesOfBackup(site), copy: copyOf(site) };
    })();
    return backup;
  };
  const copyOf = (site: SiteJobs) => {
    const { tabMigration, __Auth, tabSingles, ...data } = rowsOf(servers, site);
    const { ['tabInstalled Application']: installed, ...rows } = data;
    assert.ok(tabMigration && __Auth && tabSingles && installed);
    return { rows, files: filesOf(site) };
  };
  /** The environment of a Job that imports a folder with these files. */
  const onVolume = (files: Files): Env => {
    const directory = temporaryDirectory();
    mkdirSync(join(directory, 'old/backups'), { recursive: true });
    for (const [name, data] of Object.entries(files)) {
      if (data !== undefined) writeFileSync(join(directory, 'old/backups', name), data);
    }
    const store = { STORE_PREFIX: 'old/backups', STORE_DIR: directory, STORE_CLAIM: 'uploads' };
    return { RESTORE_ID: ID, RESTORE_ARCHIVE: 'Store', STORE_ACCESS: 'Read', ...store };
  };
  /** A new site that is imported from the backup with these changes, and further settings. */
  const imported = async (change: Files = {}, env: Env = {}) => {
    const { files, copy } = await theBackup();
    const place = onVolume({ ...files, ...change });
    const site = aSite(servers.bench, servers.database, { ...IMAGE, ...place, ...env });
    return { site, copy, result: await site.init() };
  };
  const restored = (line: string): SiteConfig => parseOutcome(line)['restored'] as SiteConfig;

  it('creates a site of the four files: each row, each file, the key, and the listed keys', async () => {
    const { site, copy, result } = await imported({}, { RESTORE_CONFIG_KEYS: '["mail_server"]' });
    assert.equal(result.code, 0, result.output);
    assert.deepEqual(copyOf(site), copy);
    const config = site.json('site_config.json');
    assert.equal(config['encryption_key'], OTHER_KEY);
    assert.equal(config['mail_server'], 'smtp.x');
    assert.equal(config['backup_encryption_key'], undefined);
    assert.equal(config['db_name'], databaseOf(site));
    assert.equal(config['db_host'], '127.0.0.1');
    const { time, ...reported } = restored(result.lastLine);
    assert.match(String(time), /^\d{4}-/);
    assert.deepEqual(reported, {
      requests: [ID],
      name: DATABASE,
      location: `pvc://uploads/old/backups/${DATABASE}`,
      encryptionKey: 'Backup',
    });
    assert.doesNotMatch(result.output, new RegExp(OTHER_KEY), 'no key in the log');
    assert.equal(existsSync(site.path('private/restores', ID)), false);
    assert.equal((await site.init()).code, 0, 'again');
  });

  it('decrypts what is encrypted, whatever its name, with the key of the configuration', async () => {
    const { files } = await theBackup();
    const { site, copy, result } = await imported({
      [DATABASE]: undefined,
      [`${START}-database-enc.sql.gz`]: encrypted(files[DATABASE] ?? Buffer.of()),
      [PUBLIC]: undefined,
      // Clear, as the framework leaves it where gpg fails.
      [`${START}-files-enc.tar`]: files[PUBLIC],
      [PRIVATE]: encrypted(files[PRIVATE] ?? Buffer.of()),
    });
    assert.equal(result.code, 0, result.output);
    assert.deepEqual(copyOf(site), copy);
    assert.doesNotMatch(result.output, new RegExp(BACKUP_KEY), 'no key in the log');
  });

  it('says what is missing, and what that means', async () => {
    const { site, copy, result } = await imported(
      { [CONFIG]: undefined, [PUBLIC]: undefined },
      { RESTORE_CONFIG_KEYS: '["mail_server"]' },
    );
    assert.equal(result.code, 0, result.output);
    assert.deepEqual(copyOf(site).rows, copy.rows);
    assert.equal(site.json('site_config.json')['encryption_key'], KEY);
    assert.equal(restored(result.lastLine)['encryptionKey'], 'Secret');
    assert.deepEqual(restored(result.lastLine)['missing'], [
      'publicFiles: not in the archive; public files of the site are missing, their links answer 404',
      'siteConfig: not in the archive; the site has an encryption key of its own',
      'stored passwords: 1 are lost, no encryption_key; set them again: password of Email Account Sales ü',
      'siteConfigKeys: siteConfig has no mail_server',
    ]);
  });

  it('takes files that are named one by one, and a plain dump', async () => {
    const { files } = await theBackup();
    const chosen = { database: 'a dump.txt', privateFiles: 'up/p.bin' };
    const directory = { 'a dump.txt': gunzipSync(files[DATABASE] ?? Buffer.of()) };
    const { result } = await imported(directory, { RESTORE_FILES: JSON.stringify(chosen) });
    assert.match(
      result.lastLine,
      /BackupMissing: .*privateFiles: there is no pvc:\/\/uploads\/old\/backups\/up\/p\.bin; nothing was loaded/,
    );
    const rest = { database: 'a dump.txt', privateFiles: PRIVATE, publicFiles: PUBLIC };
    const {
      site,
      copy,
      result: second,
    } = await imported(directory, {
      RESTORE_FILES: JSON.stringify(rest),
    });
    assert.equal(second.code, 0, second.output);
    assert.deepEqual(copyOf(site), copy);
  });

  it('takes the newest backup of a folder', async () => {
    const { files } = await theBackup();
    const older = Object.fromEntries(
      Object.keys(files).map((name) => [name.replace('20250131', '20240131'), Buffer.from('x')]),
    );
    const { site, copy, result } = await imported({ ...older, 'notes.txt': 'mine' });
    assert.equal(result.code, 0, result.output);
    assert.deepEqual(copyOf(site), copy);
  });

  const dumpWith = (files: Record<string, Buffer>, change: (text: string) => string): Buffer =>
    gzipSync(
      Buffer.from(change(gunzipSync(files[DATABASE] ?? Buffer.of()).toString('latin1')), 'latin1'),
    );

  it('names all that is wrong at once, and loads nothing', async () => {
    const { files } = await theBackup();
    const { site, result } = await imported({
      [DATABASE]: dumpWith(files, (text) =>
        text
          .replace(/15\.44\.2/g, '17.1.0')
          .replace(/^-- (Dump completed|PostgreSQL database dump complete).*$/m, ''),
      ),
      [PUBLIC]: files[PRIVATE],
      [CONFIG]: '[]',
    });
    assert.equal(result.code, 1, result.output);
    for (const expected of [
      /siteConfig: .*: it is not a JSON object/,
      /publicFiles: .*has private files, not public ones/,
      /the dump has no last line `-- Dump completed`: it is cut/,
      /BackupNewer: database: the archive is of newer code: frappe 17\.1\.0 \(image: 15\.44\.2\)/,
      /nothing was loaded$/,
    ]) {
      assert.match(result.lastLine, expected);
    }
    assert.equal(existsSync(site.path('private/restores', ID)), false);
    const { site: again, copy, result: second } = await imported();
    assert.equal(second.code, 0, second.output);
    assert.deepEqual(copyOf(again), copy);
  });

  it('names apps that the image lacks, and definitions that the server does not take', async () => {
    const { files } = await theBackup();
    const { result } = await imported({
      [DATABASE]: dumpWith(files, (text) => {
        const quote = servers.type === 'mariadb' ? '\\"' : '"';
        const apps = text.replace(
          `${quote}frappe${quote}]`,
          `${quote}frappe${quote}, ${quote}crm${quote}]`,
        );
        const end = /^-- (?:Dump completed|PostgreSQL database dump complete)/m;
        const bad =
          servers.type === 'mariadb'
            ? 'CREATE TABLE `a` (`x` int) COLLATE=utf8mb4_0900_ai_ci;\nCREATE TABLE `b` (`x` int) ENGINE=SPIDER;\n'
            : 'CREATE TABLE public.a (x no_such_type);\n';
        return apps.replace(end, (line) => `\n${bad}${line}`);
      }),
    });
    assert.equal(result.code, 1, result.output);
    assert.match(
      result.lastLine,
      /AppNotInImage: .*a site with crm, which the image does not hold/,
    );
    const unsuitable =
      servers.type === 'mariadb'
        ? [/CREATE TABLE `a`.*utf8mb4_0900_ai_ci/, /CREATE TABLE `b`.*rows are on another server/]
        : [/CREATE TABLE public\.a.*no_such_type/];
    for (const expected of unsuitable) assert.match(result.lastLine, expected);
  });

  // What follows is the same on both kinds of servers.
  if (servers.type === 'postgres') return;

  it('refuses what is no backup, in words that say what to do', async () => {
    const { files } = await theBackup();
    const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');
    const none = { [DATABASE]: undefined };
    const cases: readonly (readonly [Files, RegExp, Env?])[] = [
      [{ [DATABASE]: '<!DOCTYPE html>' }, /BackupUnsuitable: .*it is no dump, but a page or a message of a server/],
      [{ [DATABASE]: bytes('PK\x03\x04rest') }, /it is no dump, but a zip archive/],
      [{ [DATABASE]: gzipSync('PGDMP') }, /a dump of pg_dump's own format: make one with --format=plain/],
      [{ [DATABASE]: gzipSync('-- PostgreSQL database dump\n') }, /it is a dump of postgres, and the database of the site is mariadb/],
      [{ [DATABASE]: gzipSync('-- Partial Backup of Frappe Site x\n') }, /BackupIncomplete: .*only some document types/],
      [{ [DATABASE]: '' }, /BackupCorrupt: .*it is empty/],
      [{ [DATABASE]: (files[DATABASE] ?? Buffer.of()).subarray(0, 3000) }, /BackupCorrupt: .*(ended before|damaged)/],
      [{ [DATABASE]: gzipSync('-- MariaDB dump 1\nSELECT 1;\n-- Dump completed') }, /line 2 of the dump, SELECT 1: this is no statement that a dump of a site has/],
      [{ [DATABASE]: gzipSync('-- MariaDB dump 1\n-- Dump completed') }, /it is no dump of a site: its table `tabDefaultValue` has no list/],
      [{ ...none, [CONFIG]: undefined, [PUBLIC]: undefined, [PRIVATE]: undefined }, /BackupMissing: .*has no file whose name ends with -database\.sql\.gz, it is empty/],
      [none, /BackupMissing: .*has no file whose name ends with -database\.sql\.gz: 20250131/],
      [{ [DATABASE.replace('old', 'another')]: 'x' }, /BackupAmbiguous: .*backups of 2 sites, another_example_com, old_example_com: name the files/],
      [{ [`${START}-files.tgz`]: 'x' }, /BackupAmbiguous: .*two files of one kind/],
      [{ [CONFIG]: undefined, [DATABASE]: encrypted(files[DATABASE] ?? Buffer.of()) }, /BackupEncrypted: .*no key is known: set spec\.restoreFrom\.archive\.encryptionKeySecretRef/],
      [{ [DATABASE]: encrypted(files[DATABASE] ?? Buffer.of()) }, /BackupEncrypted: .*the key does not decrypt it: decryption failed: Bad session key/, { RESTORE_ENCRYPTION_KEY: 'wrong key' }],
      [{ [PUBLIC]: gzipSync('<html>expired') }, /publicFiles: .*it is no tar archive, but a page/],
      [{ [PUBLIC]: 'no archive at all' }, /BackupCorrupt: .*publicFiles: .*-files\.tar: it is no tar archive, or it is damaged/],
      [{ [CONFIG]: '{"encryption_key": 7}' }, /siteConfig: .*encryption_key is not a text/],
      [{}, /InvalidInput: .*'\.\.\/x' is not a path in the folder/, { RESTORE_FILES: '{"database": "../x"}' }],
    ]; // prettier-ignore
    for (const [change, expected, env = {}] of cases) {
      const { site, result } = await imported(change, env);
      assert.equal(result.code, 1, String(expected));
      assert.match(result.lastLine, expected);
      assert.doesNotMatch(result.output, /Traceback|InternalError/);
      rmSync(site.path(), { recursive: true, force: true });
    }
  });

  it('runs no command of a dump, and unpacks nothing outside of the site', async () => {
    const { files } = await theBackup();
    const mark = join(temporaryDirectory(), 'mark');
    const command = await imported({
      [DATABASE]: Buffer.concat([files[DATABASE] ?? Buffer.of(), gzipSync(`\\! touch ${mark}\n`)]),
    });
    assert.match(command.result.lastLine, /BackupUnsuitable: .*a command of the database's client/);
    const outside = temporaryDirectory();
    writeFileSync(join(outside, 'x'), 'x');
    const tar = execFileSync('tar', ['-cP', '--transform=s,^,a/public/files/../../../../,', 'x'], {
      cwd: outside,
    });
    const escaped = await imported({ [PUBLIC]: tar });
    assert.match(escaped.result.lastLine, /has a file outside of the site/);
    assert.equal(existsSync(mark), false);
  });

  it('completes after a kill at any point', async () => {
    const { files, copy } = await theBackup();
    const bench = aBench('15.44.2', servers.redis);
    const killer = temporaryDirectory();
    cpSync(KILLER, join(killer, 'sitecustomize.py'));
    const PYTHONPATH = `${killer}:${join(bench, 'apps/frappe')}`;
    const env = onVolume({ ...files, [DATABASE]: encrypted(files[DATABASE] ?? Buffer.of()) });
    let killed = 0;
    for (let at = 1, ended = false; !ended; at += 7) {
      const site = aSite(bench, servers.database, { ...IMAGE, ...env });
      const result = await site.with({ KILL_AT: String(at), PYTHONPATH }).init();
      ended = result.code === 0;
      if (!ended) killed += 1;
      assert.ok(ended || result.code === null, `point ${String(at)}: ${result.output}`);
      const repaired = await site.init();
      assert.equal(repaired.code, 0, `point ${String(at)}: ${repaired.output}`);
      assert.deepEqual(copyOf(site), copy, `point ${String(at)}`);
      assert.equal(site.json('site_config.json')['encryption_key'], OTHER_KEY);
    }
    assert.ok(killed * 7 >= 20, `killed at ${String(killed)} points`);
  });

  it('leaves a site that exists as it is', async () => {
    const site = await readySite(servers.bench, servers.database, IMAGE);
    insert(site, 'tabProbe', "'mine'");
    const old = copyOf(site);
    const { files } = await theBackup();
    const result = await site.with(onVolume(files)).init();
    assert.equal(result.code, 0, result.output);
    assert.deepEqual(parseOutcome(result.lastLine)['restore'], 'Unconfirmed');
    assert.deepEqual(copyOf(site), old);
  });

  it('takes the newest backup of a bucket, with a key that another process has', async (t) => {
    const { files, copy } = await theBackup();
    const server = await startS3Server({ port: await freePort() });
    t.after(() => server.stop());
    for (const [folder, change] of [['', {}], ['old/site', {}], ['other', { [DATABASE]: Buffer.from('x') }]] as const) {
      mkdirSync(join(server.folder, 'backups', folder), { recursive: true });
      for (const [name, data] of Object.entries({ ...files, ...change }))
        writeFileSync(join(server.folder, 'backups', folder, name), data);
    } // prettier-ignore
    for (const [prefix, env] of [
      ['/', {}],
      ['old/site', {}],
      ['old', { RESTORE_FILES: JSON.stringify({ database: `site/${DATABASE}`, publicFiles: `site/${PUBLIC}`, privateFiles: `site/${PRIVATE}`, siteConfig: `site/${CONFIG}` }) }],
    ] as const) {
      const place = { STORE_PREFIX: prefix, STORE_ACCESS: 'Read', RESTORE_ARCHIVE: 'Store', RESTORE_ID: ID, ...env };
      const signed = await signedEnv(s3Env(server, place), 'Read');
      const site = aSite(servers.bench, servers.database, { ...IMAGE, ...signed.env });
      const result = await site.init();
      await signed.stop();
      assert.equal(result.code, 0, result.output);
      assert.deepEqual(copyOf(site), copy);
      const path = [...(prefix === '/' ? [] : [prefix]), ...(prefix === 'old' ? ['site'] : []), DATABASE].join('/');
      assert.equal(restored(result.lastLine)['location'], `s3://backups/${path}`);
    } // prettier-ignore
    const place = {
      STORE_PREFIX: '/',
      STORE_ACCESS: 'Read',
      RESTORE_ARCHIVE: 'Store',
      RESTORE_ID: ID,
    };
    const missing = { RESTORE_FILES: '{"database": "none.sql"}' };
    const wrong = aSite(servers.bench, servers.database, { ...s3Env(server, place), ...missing });
    assert.match(
      (await wrong.init()).lastLine,
      /BackupMissing: .*database: there is no s3:\/\/backups\/none\.sql/,
    );
  });

  it('downloads links, which are secrets, through redirections and lost connections', async (t) => {
    const { files, copy } = await theBackup();
    const ca = newAuthority('downloads');
    const fileOf = (url: string): Buffer | undefined => files[url.replace(/^\/|\?.*/g, '')];
    const store = await linkServer(ca, fileOf, { cutAt: 1000 });
    const maker = await linkServer(ca, fileOf, { cutAt: 1000, isChunked: true });
    const placeOf = (url: string): string => (url.includes(DATABASE) ? maker.url : store.url);
    const site = await linkServer(ca, (url) =>
      url.startsWith('/get/')
        ? { to: `${placeOf(url)}/${url.slice('/get/'.length)}?signature=of-the-store` }
        : 403,
    );
    t.after(() => {
      store.close();
      maker.close();
      site.close();
    });
    const linkOf = (name: string): string => `${site.url}/get/${name}?token=of-the-link`;
    const env = {
      RESTORE_ARCHIVE: 'URLs',
      RESTORE_ID: ID,
      RESTORE_CA_FILE: site.caFile,
      RESTORE_AUTHORIZATION: 'Bearer of-the-header',
      RESTORE_URL_DATABASE: `${linkOf(DATABASE)}\n`,
      RESTORE_URL_PUBLIC_FILES: linkOf(PUBLIC),
      RESTORE_URL_PRIVATE_FILES: linkOf(PRIVATE),
      RESTORE_URL_SITE_CONFIG: linkOf(CONFIG),
    };
    const imports = (change: Env): SiteJobs =>
      aSite(servers.bench, servers.database, { ...IMAGE, ...env, ...change });
    const made = imports({});
    const result = await made.init();
    assert.equal(result.code, 0, result.output);
    assert.deepEqual(copyOf(made), copy);
    assert.equal(restored(result.lastLine)['location'], site.url);
    assert.ok(site.authorizations.every((value) => value === 'Bearer of-the-header'));
    const others = [...store.authorizations, ...maker.authorizations];
    assert.ok(
      others.every((value) => value === undefined),
      'the stores get no login',
    );
    assert.equal(store.authorizations.length, 4, 'a connection was lost');
    assert.equal(maker.authorizations.length, 2, 'a connection was lost');
    const refusals: readonly (readonly [Env, RegExp])[] = [
      [{ RESTORE_URL_DATABASE: `${site.url}/expired?token=of-the-link` }, /StoreAccessDenied: .*database: https:\/\/localhost:\d+ answers HTTP 403 Forbidden: the link has expired/],
      [{ RESTORE_URL_PUBLIC_FILES: linkOf('none') }, /BackupMissing: .*publicFiles: https:\/\/localhost:\d+ answers HTTP 404 Not Found: the link is wrong or has expired/],
      [{ RESTORE_URL_DATABASE: 'http://localhost/of-the-link' }, /InvalidInput: database: the URL is not of the form https:\/\/HOST\/PATH/],
      [{ RESTORE_URL_DATABASE: 'https://user:of-the-link@localhost/x' }, /InvalidInput: database: the URL is not of the form/],
      [{ RESTORE_CA_FILE: '' }, /StoreCertificateInvalid: .*database: https:\/\/localhost:\d+: .*certificate/],
    ]; // prettier-ignore
    for (const [change, expected] of refusals) {
      const refused = await imports(change).init();
      assert.match(refused.lastLine, expected);
      assert.doesNotMatch(refused.output, /of-the-(link|header|store)/);
    }
    assert.doesNotMatch(result.output, /of-the-(link|header|store)/);
    assert.doesNotMatch(readFileSync(made.path('.app-operator.json'), 'utf8'), /of-the-/);
  });
});
