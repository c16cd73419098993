/** site_backup.py and site_backup_delete.py on real servers, with the stand-in for the framework. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { readFailure, readReport } from '../../constructs/kinds/backup/result.js';
import { freePort } from '../../testbed/controlplane/ports.js';
import { startS3Server } from '../../testbed/s3/server.js';
import { putFile } from './backup-fixture.js';
import { readySite } from './ready-site.js';
import {
  type Env,
  eventually,
  mounts,
  jobCommand,
  required,
  ROOT,
  runScript,
  type ScriptResult,
  SCRIPTS,
  temporaryDirectory,
} from './servers.js';
import { AT_ONCE, describeOnServers, KEY, type SiteJobs } from './site-fixture.js';
import { PREFIX, s3Env, volumeEnv } from './store-fixture.js';
import { type Rules, strictStore } from './strict-store.js';

interface Manifest {
  readonly name: string;
  readonly complete: boolean;
  readonly partial: boolean;
  readonly dbType: string;
  readonly files: readonly { readonly name: string }[];
}

const DAY = 86_400_000;
const KILLER = join(ROOT, 'test/jobs/killer');
const MEETING = join(ROOT, 'test/jobs/meeting');
const nameAt = (time: number): string => new Date(time).toISOString().replace(/[-:]|[.]\d+/g, '');

describeOnServers('backups of a site', (servers) => {
  let site: SiteJobs;
  before(async () => {
    site = await readySite(servers.bench, servers.database);
    putFile(site, 'public/files/logo ä.png', 'logo');
    putFile(site, 'private/files/contract.pdf', 'contract');
    putFile(site, 'private/backups/20200101_000000-x-database.sql.gz', 'old');
  });

  const envOf = (store: Env): Env => ({
    BENCH_DIR: servers.bench,
    PYTHONPATH: join(servers.bench, 'apps/frappe'),
    SITE_NAME: site.name,
    SITE_OWNER: String(site.json('.app-operator.json')['owner']),
    BACKUP_OWNER: 'team/nightly',
    IMAGE: 'image:1',
    JOB_NAME: 'job-1',
    WAIT_SECONDS: '60',
    ...store,
  });
  const run = (store: Env, change: Env = {}) =>
    runScript(jobCommand('site_backup.py', change), {
      ...envOf(store),
      ...change,
    });
  const remove = (store: Env, change: Env = {}) =>
    runScript(jobCommand('site_backup_delete.py', change), {
      ...envOf(store),
      ...change,
    });
  const killedAt = (at: number): Env => ({
    PYTHONPATH: `${KILLER}:${join(servers.bench, 'apps/frappe')}`,
    KILL_AT: String(at),
  });
  const folderOf = (store: Env): string => join(store['STORE_DIR'] ?? '', PREFIX);
  const foldersIn = (store: Env): readonly string[] =>
    existsSync(folderOf(store)) ? readdirSync(folderOf(store)).sort() : [];
  const manifestIn = (store: Env, name: string): Manifest =>
    JSON.parse(readFileSync(join(folderOf(store), name, 'manifest.json'), 'utf8')) as Manifest;
  const whole = (store: Env): readonly string[] =>
    foldersIn(store).filter((name) => existsSync(join(folderOf(store), name, 'manifest.json')));
  const begun = (store: Env): Promise<void> =>
    eventually('it has begun', () => foldersIn(store).some((name) => !name.startsWith('.')));
  /** A backup that was stored before. */
  const put = (store: Env, name: string, change: object = {}): void => {
    const directory = join(folderOf(store), name);
    mkdirSync(directory, { recursive: true });
    const { SITE_OWNER = '' } = envOf(store);
    const [namespace, owner] = SITE_OWNER.split('/');
    const manifest = {
      ...{ version: 1, name, owner: 'team/nightly', namespace, site: owner, siteName: site.name },
      ...{ completionTime: '2025-01-01T00:00:00Z', frameworkVersion: '15.44.2' },
      ...{ complete: true, partial: false, apps: [{ name: 'frappe', version: '15.44.2' }] },
      files: [{ name: 'database.sql.gz', size: 3, sha256: '' }],
      ...change,
    };
    writeFileSync(join(directory, 'database.sql.gz'), 'abc');
    writeFileSync(join(directory, 'manifest.json'), JSON.stringify(manifest));
  };
  const failed = (result: { terminationMessage: string }) =>
    readFailure({ message: result.terminationMessage } as never);

  test('contain database, files and encryption key, and are listed in the result', async () => {
    const store = volumeEnv();
    const result = await run(store);
    assert.equal(result.code, 0, result.output);
    const [name = ''] = foldersIn(store);
    const directory = join(folderOf(store), name);
    const dump = gunzipSync(readFileSync(join(directory, 'database.sql.gz'))).toString();
    assert.match(dump, /tabDefaultValue/);
    const tar = (file: string): string =>
      execFileSync('tar', ['-xzOf', join(directory, file), '--wildcards', '*/files/*']).toString();
    assert.deepEqual([tar('files.tgz'), tar('private-files.tgz')], ['logo', 'contract']);
    const config = readFileSync(join(directory, 'site_config_backup.json'), 'utf8');
    assert.equal((JSON.parse(config) as Record<string, unknown>)['encryption_key'], KEY);
    const { complete, partial, dbType, files } = manifestIn(store, name);
    assert.deepEqual([complete, partial, dbType], [true, false, servers.type]);
    assert.deepEqual(
      files.map((file) => file.name),
      ['database.sql.gz', 'files.tgz', 'private-files.tgz', 'site_config_backup.json'],
    );
    const report = readReport(result.terminationMessage);
    assert.equal(report?.count, 1);
    const [backup] = report.backups;
    assert.equal(backup?.location, `pvc://backups/${PREFIX}/${name}`);
    assert.deepEqual(backup.apps, [{ name: 'frappe', version: '15.44.2' }]);
    assert.ok(backup.complete && backup.size > 100);
    assert.ok(existsSync(site.path('private/backups/20200101_000000-x-database.sql.gz')));
    assert.ok(!result.output.includes(KEY) && !result.output.includes('site "quoted'));
  });

  test('contain only the wanted parts, and are marked as incomplete', async () => {
    const store = volumeEnv();
    await run(store, { WITH_FILES: '0' });
    await sleep(1100);
    await run(store, { INCLUDE: '["DefaultValue"]', COMPRESS: '0' });
    const [first = '', second = ''] = foldersIn(store);
    assert.equal(manifestIn(store, first).complete, false);
    const { complete, partial, files } = manifestIn(store, second);
    assert.deepEqual([complete, partial], [false, true]);
    assert.ok(files.some((file) => file.name === 'files.tar'));
    const path = join(folderOf(store), second, 'database.sql.gz');
    assert.doesNotMatch(gunzipSync(readFileSync(path)).toString(), /CREATE TABLE .*tabSingles/);
  });

  // The Job is killed at each rename, each removal, and each start of a program.
  test('that are killed leave no complete backup, and the next attempt removes the rest', async () => {
    const store = volumeEnv();
    const { SITE_OWNER = '' } = envOf(store);
    const old = join(folderOf(store), '20250101T000000Z');
    put(store, '20250101T000000Z');
    const started = { owner: 'team/nightly', site: SITE_OWNER, job: 'job-0' };
    writeFileSync(join(old, 'started.json'), JSON.stringify(started));
    let at = 0;
    let removing = 0;
    let result: ScriptResult;
    do {
      at += 1;
      result = await run(store, { ...killedAt(at), KEEP_LAST: '1' });
      for (const name of whole(store)) assert.equal(manifestIn(store, name).complete, true);
      if (!existsSync(old) || existsSync(join(old, 'manifest.json'))) continue;
      removing += 1;
      assert.deepEqual(
        readdirSync(old),
        ['started.json'],
        'the file with the owner is deleted last',
      );
    } while (result.code === null);
    assert.equal(result.code, 0, result.output);
    assert.ok(at > 6 && removing > 0, `killed at ${String(at)} points`);
    assert.deepEqual(foldersIn(store), whole(store));
    assert.equal(foldersIn(store).length, 1);
  });

  test('report an unreachable database', async () => {
    const store = volumeEnv();
    const path = site.path('site_config.json');
    const text = readFileSync(path, 'utf8');
    const config = JSON.parse(text) as object;
    writeFileSync(path, JSON.stringify({ ...config, db_port: await freePort() }));
    const result = await run(store);
    writeFileSync(path, text);
    assert.equal(failed(result).reason, 'DatabaseUnreachable', result.output);
    assert.ok(!result.output.includes('site "quoted'));
    assert.deepEqual(foldersIn(store), []);
  });

  test('report a full scratch volume', async (context) => {
    const mount = temporaryDirectory();
    if (!mounts(context, mount, '64k')) return;
    try {
      const store = volumeEnv();
      const noise = Buffer.from(Array.from({ length: 200_000 }, () => Math.random() * 256));
      writeFileSync(site.path('public/files/noise'), noise);
      const { reason } = failed(await run(store, { TMPDIR: mount }));
      assert.equal(reason, 'ScratchFull');
      assert.deepEqual(foldersIn(store), []);
    } finally {
      rmSync(site.path('public/files/noise'), { force: true });
    }
  });

  // What follows is the same on both kinds of servers.
  if (servers.type === 'postgres') return;

  test('are the same in S3', async () => {
    const server = await startS3Server({ port: await freePort() });
    const store = s3Env(server);
    const result = await run(store);
    assert.equal(result.code, 0, result.output);
    const [backup] = readReport(result.terminationMessage)?.backups ?? [];
    assert.match(backup?.location ?? '', /^s3:\/\/backups\/team\/shop\/\d{8}T\d{6}Z$/);
    assert.match((await remove(store)).lastLine, /"removed": 1/);
    await server.stop();
    const unreachable = failed(await run(store));
    assert.equal(unreachable.reason, 'StoreUnreachable');
  });

  test('fail for document types that the site does not have', async () => {
    const store = volumeEnv();
    const { reason, message } = failed(await run(store, { INCLUDE: '["DefaultValue","No Such"]' }));
    assert.deepEqual([reason, message], ['DocTypeMissing', 'the site has no table for: No Such']);
    assert.deepEqual(foldersIn(store), []);
  });

  test('of another killed Job are removed when no process can write to them any more', async () => {
    const store = volumeEnv();
    const { SITE_OWNER = '' } = envOf(store);
    const begin = (name: string, change: object = {}): void => {
      mkdirSync(join(folderOf(store), name), { recursive: true });
      const started = { owner: 'team/nightly', site: SITE_OWNER, job: 'job-0', ...change };
      writeFileSync(join(folderOf(store), name, 'started.json'), JSON.stringify(started));
    };
    const [old, young] = [nameAt(Date.now() - 7 * 3_600_000), nameAt(Date.now() - 3_600_000)];
    begin(old);
    begin(young);
    begin('20200101T000000Z', { owner: 'team/other' });
    mkdirSync(join(folderOf(store), '20200102T000000Z'));
    assert.equal((await run(store)).code, 0);
    const left = foldersIn(store).filter((name) => !whole(store).includes(name));
    assert.deepEqual(left, ['20200101T000000Z', '20200102T000000Z', young]);
  });

  for (const [what, file, env] of [
    ['that are stopped', 'database.sql.gz', {}],
    ['that are stopped while the framework still writes', '9', { RESTLESS_BACKUP: '5' }],
  ] as const) {
    test(`${what} remove the stored files`, async () => {
      const store = volumeEnv();
      const script = join(SCRIPTS, 'site_backup.py');
      const isAtWork = `ls "$TMPDIR"/*/${file} >/dev/null 2>&1`;
      const stop = `"$0" "$1" & pid=$!; until ${isAtWork}; do sleep 0.1; done; kill -TERM $pid; wait $pid`;
      const result = await runScript(['bash', '-c', stop, required('python3'), script], {
        ...envOf(store),
        SLOW_BACKUP: '10',
        TMPDIR: temporaryDirectory(),
        ...env,
      });
      assert.equal(result.code, 143, result.output);
      assert.equal(failed(result).reason, 'BackupInterrupted');
      assert.deepEqual(foldersIn(store), []);
    });
  }

  test('never run at once', async () => {
    const [one, two, three] = [volumeEnv(), volumeEnv(), volumeEnv()];
    const first = run(one, { SLOW_BACKUP: '8' });
    await begun(one);
    const [refused, waits] = await Promise.all([run(two, AT_ONCE), run(three)]);
    assert.equal(failed(refused).reason, 'BackupRunning');
    assert.equal((await first).code, 0);
    assert.equal(waits.code, 0, waits.output);
    assert.match(waits.output, /waiting: another backup/);
  });

  for (const kind of ['volume', 'S3']) {
    test(`of two sites that begin in the same second get separate folders, ${kind}`, async () => {
      const server = kind === 'S3' ? await startS3Server({ port: await freePort() }) : undefined;
      const store = server ? s3Env(server) : volumeEnv();
      const folder = server ? join(server.folder, 'backups', PREFIX) : folderOf(store);
      const other = await readySite(servers.bench, servers.database);
      const config = other.path('site_config.json');
      const text = readFileSync(config, 'utf8');
      const both = (meeting = temporaryDirectory()) =>
        Promise.all(
          [site, other].map((one) =>
            run(store, {
              MEETING: meeting,
              PYTHONPATH: `${MEETING}:${join(servers.bench, 'apps/frappe')}`,
              SITE_NAME: one.name,
              SITE_OWNER: String(one.json('.app-operator.json')['owner']),
              BACKUP_OWNER: `team/${one.name}`,
            }),
          ),
        );
      const ownersIn = (): readonly string[] =>
        readdirSync(folder)
          .map((name) => join(folder, name, 'manifest.json'))
          .filter((file) => existsSync(file))
          .map((file) => (JSON.parse(readFileSync(file, 'utf8')) as { owner: string }).owner)
          .sort();
      const owners = [site, other].map(({ name }) => `team/${name}`).sort();
      for (const { code, output } of await both()) assert.equal(code, 0, output);
      assert.deepEqual(ownersIn(), owners);
      rmSync(folder, { recursive: true });
      const broken = { ...(JSON.parse(text) as object), db_port: await freePort() };
      writeFileSync(config, JSON.stringify(broken));
      const codes = (await both()).map(({ code }) => code);
      writeFileSync(config, text);
      assert.deepEqual(codes, [0, 1]);
      assert.deepEqual(ownersIn(), [`team/${site.name}`]);
      await server?.stop();
    });
  }

  test('are not created while another Job changes the site', async () => {
    const store = volumeEnv();
    const marker = site.path('.app-operator.json');
    const text = readFileSync(marker, 'utf8');
    const state = JSON.parse(text) as { code: object };
    for (const change of [
      { upgrade: { from: 'a', to: 'b' } },
      { restore: { id: 'x' } },
      { state: 'creating' },
    ]) {
      writeFileSync(marker, JSON.stringify({ ...state, ...change }));
      assert.equal(failed(await run(store, AT_ONCE)).reason, 'SiteBusy');
    }
    writeFileSync(marker, text);
    const upgraded = (): void => {
      const code = { ...state.code, image: 'image:2' };
      writeFileSync(marker, JSON.stringify({ ...state, code }));
    };
    // It has the same code as before, and is open again.
    const restored = (): void => {
      const upgrade = { from: 'a', to: 'a', settings: {}, restoring: true };
      const changes = JSON.stringify({ upgrade, restore: { id: 'x' } });
      const program = `from site_upgrade import Upgrade; import json, sys
from pathlib import Path; from types import SimpleNamespace
upgrade = Upgrade(SimpleNamespace(site=Path(sys.argv[1])))
changes = json.loads(sys.argv[2])
upgrade.record(changes["upgrade"], restore=changes["restore"])`;
      execFileSync(required('python3'), ['-c', program, site.path(), changes], { cwd: SCRIPTS });
      const { upgrade: _, restore: __, ...open } = site.json('.app-operator.json');
      writeFileSync(marker, JSON.stringify(open));
    };
    for (const change of [upgraded, restored]) {
      const slow = run(store, { SLOW_BACKUP: '6' });
      await begun(store);
      change();
      const { reason, message } = failed(await slow);
      writeFileSync(marker, text);
      assert.deepEqual([reason, message.includes('changed by another Job')], ['SiteBusy', true]);
    }
    assert.deepEqual(foldersIn(store), []);
  });

  test('are not created by a Job whose image differs from the data’s', async () => {
    const store = volumeEnv();
    const marker = site.path('.app-operator.json');
    const text = readFileSync(marker, 'utf8');
    const state = JSON.parse(text) as { code: object };
    writeFileSync(marker, JSON.stringify({ ...state, code: { ...state.code, image: 'image:2' } }));
    const old = failed(await run(store));
    const right = await run(store, { IMAGE: 'image:2' });
    writeFileSync(marker, text);
    assert.deepEqual(
      [old.reason, old.message.includes('has data of image image:2')],
      ['SiteBusy', true],
    );
    assert.equal(right.code, 0, right.output);
    assert.equal(foldersIn(store).length, 1);
  });

  test('of another owner’s site are refused', async () => {
    const store = volumeEnv();
    assert.equal(failed(await run(store, { SITE_OWNER: 'x/y' })).reason, 'SiteOwnedByOther');
    assert.equal(failed(await run(store, { SITE_NAME: 'unknown' })).reason, 'SiteMissing');
  });

  test('are retained by number and age; only complete ones count, and other owners’ are kept', async () => {
    const store = volumeEnv();
    const now = Date.now();
    const ago = (days: number): string => nameAt(now - days * DAY);
    for (const days of [1, 2, 3, 40]) put(store, ago(days));
    put(store, ago(5), { complete: false });
    put(store, ago(6), { complete: false });
    put(store, ago(7), { complete: false });
    put(store, ago(50), { owner: 'team/other' });
    put(store, ago(51), { site: 'other' });
    const result = await run(store, { KEEP_LAST: '2', KEEP_DAYS: '2' });
    const report = readReport(result.terminationMessage);
    const stays = (days: number): boolean => foldersIn(store).includes(ago(days));
    assert.deepEqual([1, 2, 3, 40, 5, 6, 7, 50, 51].map(stays), [
      true,
      false,
      false,
      false,
      true,
      true,
      false,
      true,
      true,
    ]);
    assert.equal(report?.count, 4);
    assert.deepEqual(
      report.backups.map(({ complete }) => complete),
      [true, true, false, false],
    );
  });

  const refusals = [
    { status: 403, code: 'AccessDenied' },
    { status: 409, code: 'ObjectLocked' },
    { status: 405, code: 'MethodNotAllowed' },
  ];
  for (const noDelete of refusals) {
    test(`are stored once where the store forbids to remove: ${noDelete.code}`, async (t) => {
      const server = await startS3Server({ port: await freePort() });
      t.after(() => server.stop());
      let rules: Rules = {};
      const strict = await strictStore(server.port, () => rules);
      t.after(strict.close);
      const store = { ...s3Env(server), S3_ENDPOINT: strict.endpoint };
      const first = await run(store, { KEEP_LAST: '1' });
      assert.equal(first.code, 0, first.output);
      rules = { checksums: true, noDelete };
      const second = await run(store, { KEEP_LAST: '1' });
      assert.equal(second.code, 0, second.output);
      const report = readReport(second.terminationMessage);
      const names = report?.backups.map(({ name }) => name) ?? [];
      assert.equal(names.length, 2, 'what cannot be removed is listed');
      assert.ok(report?.notRemoved?.startsWith(`${names[1] ?? '-'}: Store`), report?.notRemoved);
      assert.match(report?.notRemoved ?? '', new RegExp(noDelete.code));
      const removed = await remove(store);
      assert.equal(removed.code, 1);
      assert.match(removed.terminationMessage, /2 stored backups are not removed, 0 are: s3:/);
      rules = {};
      const third = await run(store, { KEEP_LAST: '1' });
      const last = readReport(third.terminationMessage);
      assert.deepEqual([last?.count, last?.notRemoved], [1, undefined]);
    });
  }

  test('are listed as far as they fit into the message', async () => {
    const store = volumeEnv();
    const apps = Array.from({ length: 12 }, (_, at) => ({
      name: `app_number_${String(at)}`,
      version: `15.${String(at)}.0`,
    }));
    for (let day = 1; day <= 70; day += 1) put(store, nameAt(Date.now() - day * DAY), { apps });
    const result = await run(store);
    const report = readReport(result.terminationMessage);
    assert.ok(Buffer.byteLength(result.terminationMessage) <= 4096);
    assert.equal(report?.count, 71);
    assert.equal(report.backups.length, 50);
    assert.deepEqual(report.backups[1]?.apps, apps);
  });

  test('are deleted with their object, and no others', async () => {
    const store = volumeEnv();
    put(store, '20250101T000000Z');
    put(store, '20250102T000000Z', { owner: 'team/other' });
    put(store, '20250103T000000Z', { namespace: 'elsewhere' });
    mkdirSync(join(folderOf(store), 'notes'));
    mkdirSync(join(folderOf(store), '20250104T000000Z'));
    assert.equal((await run(store, killedAt(1))).code, null);
    assert.match(foldersIn(store)[0] ?? '', /^\.begun-/);
    assert.match((await remove(store)).lastLine, /"removed": 1/);
    assert.deepEqual(foldersIn(store), [
      '20250102T000000Z',
      '20250103T000000Z',
      '20250104T000000Z',
      'notes',
    ]);
    assert.match((await remove(store)).lastLine, /"removed": 0/);
  });
});
