/**
 * Attacks on Jobs by who can write to the sites volume or to the store of backups: real database servers, their own
 * programs, and the stand-in framework. In each, nothing of another site, of the administrator or of the store is run
 * or read, and nothing outside of the site is changed.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { before, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { aStore, backUp, putFile, type StoreVolume, writeManifest } from './backup-fixture.js';
import { readySite } from './ready-site.js';
import {
  type Env,
  jobCommand,
  required,
  runScript,
  type ScriptResult,
  temporaryDirectory,
} from './servers.js';
import { aSite, databaseOf, describeOnServers, type SiteJobs } from './site-fixture.js';

const RESTORE: Env = { RESTORE_ID: 'aaaaaaaaaa', RESTORE_CONFIRMED: '1' };
const S3_SECRET = 'key-of-the-store';
const ROOT_SECRET = 'r00t "quoted\' pw';

/** Appends what it can read of secrets to a file: its own environment, and that of its parents. */
const spy = (log: string): string => `
import os
def seen(pid):
    try:
        return open(f"/proc/{pid}/environ", "rb").read().replace(b"\\0", b"\\n")
    except OSError as error:
        return repr(error).encode()
with open(${JSON.stringify(log)}, "ab") as file:
    file.write(b"RAN\\n" + repr(dict(os.environ)).encode() + seen(os.getpid()) + seen(os.getppid()) + b"\\n")
`;

/** Appends its own environment to a file. */
const environmentSpy = (log: string): string => `
import json, os
with open(${JSON.stringify(log)}, "a") as file:
    file.write(json.dumps(dict(os.environ)) + "\\n")
`;

describeOnServers('an attack', (servers) => {
  let site: SiteJobs;
  let log: string;
  let owner: string;
  before(async () => {
    site = await readySite(servers.bench, servers.database);
    owner = String(site.json('.app-operator.json')['owner']);
  });

  const sites = (...parts: readonly string[]): string => join(servers.bench, 'sites', ...parts);
  const newLog = (): string => (log = join(temporaryDirectory(), 'log'));
  const logged = (): string => (existsSync(log) ? readFileSync(log, 'utf8') : '');
  /** Runs something, and removes what it planted on the volume. */
  const planted = async (
    files: Readonly<Record<string, string>>,
    work: () => Promise<void>,
  ): Promise<void> => {
    const tops = new Set(Object.keys(files).map((name) => name.split('/')[0] ?? ''));
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(join(sites(name), '..'), { recursive: true });
      writeFileSync(sites(name), content);
    }
    try {
      await work();
    } finally {
      for (const top of tops) rmSync(sites(top), { recursive: true });
    }
  };
  const backupEnv = (store: StoreVolume): Env => ({
    BENCH_DIR: servers.bench,
    PYTHONPATH: join(servers.bench, 'apps/frappe'),
    SITE_NAME: site.name,
    SITE_OWNER: owner,
    BACKUP_OWNER: 'team/nightly',
    WAIT_SECONDS: '20',
    ...store.env,
  });
  const backup = (store: StoreVolume, change: Env = {}): Promise<ScriptResult> =>
    runScript(jobCommand('site_backup.py', {}), { ...backupEnv(store), ...change });
  const siteJob = (command: readonly string[]): Promise<ScriptResult> =>
    runScript(jobCommand('site_job.py', {}), {
      BENCH_DIR: servers.bench,
      PYTHONPATH: join(servers.bench, 'apps/frappe'),
      SITE_NAME: site.name,
      JOB_COMMAND: JSON.stringify(command),
    });
  /** A backup of the site, which `change` has changed before the manifest was written. */
  const hostileBackup = (change: (directory: string) => void): StoreVolume => {
    const store = aStore();
    const directory = backUp(servers, site, store);
    const manifest = JSON.parse(readFileSync(join(directory, 'manifest.json'), 'utf8')) as object;
    change(directory);
    writeManifest(directory, { ...manifest });
    return store;
  };
  const restore = (store: StoreVolume): Promise<ScriptResult> =>
    aSite(servers.bench, servers.database, { ...store.env, ...RESTORE }).init();

  it('by modules on the volume: no Job imports them', async () => {
    const code = spy(newLog());
    const modules = ['frappe/__init__.py', 'frappe/utils/bench_helper.py', 'redis.py', 'json.py'];
    const names = [...modules, 'sitecustomize.py', 'usercustomize.py', 'click.py', 'MySQLdb.py'];
    await planted(Object.fromEntries(names.map((name) => [name, code])), async () => {
      for (const result of [
        await site.with({ SITE_APPS: '["frappe","erpnext"]', ADMIN_PASSWORD: 'new one' }).init(),
        await backup(aStore(), { S3_SECRET_ACCESS_KEY: S3_SECRET }),
        await siteJob(['list-apps']),
        await aSite(servers.bench, servers.database, { PYTHONPATH: `:${sites()}:${join(servers.bench, 'apps/frappe')}`, PATH: `${sites()}:.:${process.env['PATH'] ?? ''}` }).init(),
      ]) assert.equal(result.code, 0, result.output); // prettier-ignore
    });
    assert.equal(logged(), '');
  });

  it('by code of an app: a program of the framework sees no secret that is not its own', async () => {
    const hook = join(servers.bench, 'apps/hrms/hrms/install.py');
    const text = readFileSync(hook, 'utf8');
    writeFileSync(hook, `${text}\n${spy(newLog())}`);
    try {
      const store = hostileBackup(() => undefined);
      const victim = aSite(servers.bench, servers.database, {
        ...store.env,
        S3_SECRET_ACCESS_KEY: S3_SECRET,
        SITE_APPS: '["frappe","hrms"]',
        ADMIN_PASSWORD: 'of the administrator',
      });
      const result = await victim.init();
      assert.equal(result.code, 0, result.output);
      assert.match(logged(), /RAN/);
      for (const secret of [ROOT_SECRET, 'r00t', S3_SECRET, 'of the administrator', 'DB_ROOT'])
        assert.ok(!ownPart(logged()).includes(secret), secret);
    } finally {
      writeFileSync(hook, text);
    }
  });

  it('by a site_config.json of another server or database: the operator’s values are used', async () => {
    const config = site.json('site_config.json');
    const write = (change: object): void => {
      writeFileSync(site.path('site_config.json'), JSON.stringify({ ...config, ...change }));
    };
    write({ db_host: '203.0.113.1', db_port: 1, db_user: databaseOf(site) });
    const result = await site.init();
    assert.equal(result.code, 0, result.output);
    assert.equal(site.json('site_config.json')['db_host'], '127.0.0.1');
    write({ db_name: 'mysql' });
    assert.match((await site.init()).lastLine, /DatabaseNameMismatch/);
    assert.match((await site.drop()).lastLine, /DatabaseNameMismatch/);
    write({});
  });

  /** What a client program of the database, or the server, would run for an attacker. */
  const commands = (file: string): readonly string[] => [
    `\\! touch ${file}`,
    `SELECT 1 \\! touch ${file}`,
    ...(servers.type === 'mariadb'
      ? [
          `\\e\n${'-- x\n'.repeat(20_000)}:!touch ${file}\r:qa!`,
          `system touch ${file};`,
          `INSERT INTO z VALUES (1 /* ' */ ); \\! touch ${file} # ');`,
          `SET \`sql_mode\`='NO_BACKSLASH_ESCAPES';\nSELECT SETVAL(1, 1);INSERT INTO z VALUES ('a\\'); \\! touch ${file} # ');`,
          `--x '\n\\! touch ${file}`,
          `\\r mysql 203.0.113.1`,
          'USE mysql;',
          `SELECT 1 INTO OUTFILE '${file}';`,
          `LOAD DATA LOCAL INFILE '/proc/self/environ' INTO TABLE z;`,
          'CREATE DEFINER=`root`@`localhost` PROCEDURE mysql.p() SELECT 1;',
          'SET NAMES gbk;',
          'GRANT ALL ON *.* TO CURRENT_USER;',
        ]
      : [`\\o ${file}`, `COPY (SELECT 1) TO STDOUT; SELECT 1 FROM stdin;\n\\! touch ${file}`, `-- x\r\\! touch ${file}`]),
  ]; // prettier-ignore
  it('by commands of the database’s client in a dump: they are not run', async () => {
    const file = join(temporaryDirectory(), 'ran');
    for (const command of commands(file)) {
      const store = hostileBackup((directory) => {
        writeFileSync(join(directory, 'database.sql.gz'), gzipSync(`${command}\n`));
      });
      const victim = aSite(servers.bench, servers.database, { ...store.env, ...RESTORE });
      const result = await victim.init();
      assert.match(
        result.lastLine,
        /app-operator: RestoreFailed: /,
        `${command.slice(0, 100)}: ${result.output}`,
      );
      assert.ok(!existsSync(file), command);
    }
  });

  it('by client programs that would run anything: none reads a dump', { skip: servers.type !== 'mariadb' }, async () => {
    const folder = temporaryDirectory();
    const file = join(folder, 'ran');
    for (const name of ['mariadb', 'mysql', 'psql'])
      writeFileSync(join(folder, name), `#!/bin/sh\ntouch ${file}\nexec cat\n`, { mode: 0o755 });
    const store = hostileBackup(() => undefined);
    const PATH = `${folder}:${process.env['PATH'] ?? ''}`;
    const result = await aSite(servers.bench, servers.database, { ...store.env, ...RESTORE, PATH }).init();
    assert.equal(result.code, 0, result.output);
    assert.ok(!existsSync(file));
  }); // prettier-ignore

  // What follows is the same on both kinds of servers.
  if (servers.type === 'postgres') return;

  it('by code of the framework: no process of it has the Administrator’s password', async () => {
    const code = join(servers.bench, 'apps/frappe/frappe/__init__.py');
    const text = readFileSync(code, 'utf8');
    writeFileSync(code, `${text}\n${environmentSpy(newLog())}`);
    try {
      const password = 'of the administrator';
      const own = aSite(servers.bench, servers.database, { ADMIN_PASSWORD: password });
      const result = await own.init();
      assert.equal(result.code, 0, result.output);
      assert.ok(logged().trimEnd().split('\n').length > 3, 'several programs ran');
      assert.ok(!logged().includes(password));
      const again = await own.init();
      assert.equal(again.code, 0, again.output);
      assert.doesNotMatch(again.output, /set the Administrator's password/, 'it is the right one');
    } finally {
      writeFileSync(code, text);
    }
  });

  it('by links, FIFOs and types: no Job follows one or waits for it', async () => {
    const other = temporaryDirectory();
    writeFileSync(join(other, 'site_config.json'), JSON.stringify({ db_password: 'of-another' }));
    for (const name of ['site_config.json', '.app-operator.json']) {
      const path = site.path(name);
      const content = readFileSync(path);
      const shapes: readonly (() => void)[] = [
        () => { symlinkSync(join(other, 'site_config.json'), path); },
        () => { symlinkSync('/dev/zero', path); },
        () => execFileSync('mkfifo', [path]),
        () => { writeFileSync(path, '['.repeat(200_000)); },
        () => { writeFileSync(path, '{"db_name": {}, "code": [], "owner": 3}'); },
      ]; // prettier-ignore
      for (const plant of shapes) {
        rmSync(path);
        plant();
        const results = [await site.init(), await backup(aStore()), await siteJob(['list-apps'])];
        for (const result of [...results, await site.drop()]) {
          assert.equal(result.code, 1, result.output);
          assert.match(result.output, /app-operator: (UnsafeFile|SiteIncomplete|SiteMissing): /);
          assert.ok(!result.output.includes('of-another'));
        }
        rmSync(path);
        writeFileSync(path, content);
      }
    }
    assert.equal((await siteJob(['list-apps'])).code, 0);
  });

  it('by a marker with paths of another site: it is refused', async () => {
    const other = await readySite(servers.bench, servers.database);
    const marker = readFileSync(site.path('.app-operator.json'), 'utf8');
    putFile(other, 'private/files/secret.txt', 'of another site');
    for (const path of [`${other.name}/private`, `${site.name}/../${other.name}/private/upgrades/x`]) {
      const upgrade = { from: 'a', to: '', settings: {}, code: {}, backup: path, restoring: true };
      const restores = { id: 'aaaaaaaaaa', name: 'x', location: 'x', new: path, keys: [], digest: '' };
      for (const change of [{ upgrade }, { upgrade, restore: restores }]) {
        writeFileSync(site.path('.app-operator.json'), JSON.stringify({ ...JSON.parse(marker), ...change }));
        const result = await site.with({ RESTORE_ID: 'aaaaaaaaaa' }).init();
        assert.match(result.lastLine, /app-operator: UnsafeFile: /, result.output);
      }
    } // prettier-ignore
    writeFileSync(site.path('.app-operator.json'), marker);
    assert.ok(existsSync(other.path('private/files/secret.txt')));
  });

  it('by apps.txt: only names of apps are read', async () => {
    const path = sites('apps.txt');
    const text = readFileSync(path);
    const shapes = ['frappe\n../evil\n', 'frappe\n--pre\n', 'frappe\nos;evil\n'];
    for (const content of shapes) {
      writeFileSync(path, content);
      assert.match((await siteJob(['list-apps'])).output, /UnsafeFile: .*apps\.txt/);
      assert.match((await backup(aStore())).lastLine, /UnsafeFile: .*apps\.txt/);
    }
    rmSync(path);
    execFileSync('mkfifo', [path]);
    assert.match((await siteJob(['list-apps'])).output, /UnsafeFile: .*apps\.txt/);
    rmSync(path);
    writeFileSync(path, text);
  });

  /** A tar archive of one member, made by Python. */
  const archive = (directory: string, program: string): void => {
    const path = join(directory, 'files.tgz');
    const name = `./${site.name}/public/files`;
    const code = `import io, sys, tarfile\ntar = tarfile.open(${JSON.stringify(path)}, "w:gz", format=tarfile.GNU_FORMAT)\nname = ${JSON.stringify(name)}\n${program}\ntar.close()`;
    execFileSync(required('python3'), ['-c', code]);
  };

  it('by an archive: it is refused before it fills the volume', async () => {
    // Larger than any volume: others fill and empty this one meanwhile.
    const bomb = 'i = tarfile.TarInfo(name + "/x"); i.size = 1 << 50; tar.fileobj.write(i.tobuf())';
    const programs: readonly (readonly [RegExp, string])[] = [
      [/VolumeFull/, bomb],
      [/BackupCorrupt/, 'i = tarfile.TarInfo(name + "/x"); i.type = tarfile.LNKTYPE; i.linkname = name + "/missing"; tar.addfile(i)'],
      [/BackupCorrupt/, 'i = tarfile.TarInfo(name + "/x"); i.type = tarfile.LNKTYPE; i.linkname = "/etc/passwd"; tar.addfile(i)'],
      [/BackupCorrupt/, 'i = tarfile.TarInfo(name + "/../../../x"); i.size = 1; tar.addfile(i, io.BytesIO(b"x"))'],
      [/BackupCorrupt/, 'i = tarfile.TarInfo(name + "/x"); i.type = tarfile.XHDTYPE; i.size = 1 << 30; tar.fileobj.write(i.tobuf())'],
    ]; // prettier-ignore
    for (const [reason, program] of programs) {
      const victim = aSite(servers.bench, servers.database);
      const store = hostileBackup((directory) => { archive(directory, program); }); // prettier-ignore
      const result = await victim.with({ ...store.env, ...RESTORE }).init();
      assert.match(result.lastLine, reason, `${program}: ${result.output}`);
      assert.deepEqual(
        existsSync(victim.path('private/restores')) ? readdirSync(victim.path('private/restores')) : [],
        [],
      ); // prettier-ignore
    }
  });

  it('by a sparse file: it is refused', async () => {
    const folder = temporaryDirectory();
    const files = join(folder, site.name, 'public/files');
    mkdirSync(files, { recursive: true });
    execFileSync('truncate', ['-s', '10G', join(files, 'holes')]);
    const store = hostileBackup((directory) => {
      execFileSync('tar', ['-Sczf', join(directory, 'files.tgz'), `./${site.name}`], { cwd: folder });
    }); // prettier-ignore
    assert.match((await restore(store)).lastLine, /BackupCorrupt: .*sparse/);
  });

  it('by devices, links and hard links in an archive: files are copied, the others left out', async () => {
    const store = hostileBackup((directory) => {
      archive(directory, [
        'i = tarfile.TarInfo(name + "/a"); i.size = 1; tar.addfile(i, io.BytesIO(b"x"))',
        'i = tarfile.TarInfo(name + "/b"); i.type = tarfile.LNKTYPE; i.linkname = name + "/a"; tar.addfile(i)',
        'i = tarfile.TarInfo(name + "/c"); i.type = tarfile.SYMTYPE; i.linkname = "/etc"; tar.addfile(i)',
        'i = tarfile.TarInfo(name + "/d"); i.type = tarfile.CHRTYPE; tar.addfile(i)',
        'i = tarfile.TarInfo(name + "/e"); i.type = tarfile.FIFOTYPE; tar.addfile(i)',
      ].join('\n'));
    }); // prettier-ignore
    const victim = aSite(servers.bench, servers.database, { ...store.env, ...RESTORE });
    const result = await victim.init();
    assert.equal(result.code, 0, result.output);
    assert.deepEqual(readdirSync(victim.path('public/files')).sort(), ['a', 'b']);
    assert.equal(readFileSync(victim.path('public/files/b'), 'utf8'), 'x');
  });

  it('by a store that has links in place of files: they are not followed', async () => {
    const store = hostileBackup(() => undefined);
    const directory = join(store.directory, 'team/shop', '20250131T120000Z');
    const dump = join(directory, 'database.sql.gz');
    const target = join(temporaryDirectory(), 'dump');
    writeFileSync(target, readFileSync(dump));
    rmSync(dump);
    symlinkSync(target, dump);
    assert.match((await restore(store)).lastLine, /BackupMissing|UnsafeFile/);
  });

  it('by links in the place of folders: a drop removes nothing outside of the site', async () => {
    const outside = temporaryDirectory();
    writeFileSync(join(outside, 'kept'), '');
    const victim = await readySite(servers.bench, servers.database);
    rmSync(victim.path('public'), { recursive: true });
    symlinkSync(outside, victim.path('public'));
    let deep = victim.path('private/files');
    for (let level = 0; level < 300; level += 1) deep = join(deep, 'd');
    mkdirSync(deep, { recursive: true });
    const result = await victim.drop();
    assert.equal(result.code, 0, result.output);
    assert.ok(existsSync(join(outside, 'kept')));
    assert.ok(!victim.exists());
  });
});

/** Without the environment of a parent that a test as root may read, and a Job may not. */
function ownPart(text: string): string {
  return process.getuid?.() === 0 ? text.split('}').slice(0, 1).join('') : text;
}
