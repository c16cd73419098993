/** Backups in the format of site_backup.py, made by the servers' own programs and tar, for the restore tests. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Database } from './databases.js';
import { type Env, plainEnv, required, temporaryDirectory } from './servers.js';
import { databaseOf, type SiteConfig, type SiteJobs, type TestServers } from './site-fixture.js';

export const PREFIX = 'team/shop';

/** A volume for backups, and the environment of a Job that uses it. */
export interface StoreVolume {
  readonly directory: string;
  readonly env: Env;
}

export function aStore(): StoreVolume {
  const directory = temporaryDirectory();
  return {
    directory,
    env: { STORE_PREFIX: PREFIX, STORE_DIR: directory, STORE_CLAIM: 'backups' },
  };
}

/** Name of a backup, by default. */
export const NAME = '20250131T120000Z';

export interface BackupChange {
  /** @default NAME */
  readonly name?: string;
  /** Changes of the manifest. */
  readonly manifest?: SiteConfig;
  /** Changes of the site's configuration in the backup. */
  readonly config?: SiteConfig;
  /** Files in place of those of the site. */
  readonly files?: Readonly<Record<string, Buffer>>;
}

/** Backs a site up by hand: all four files, and the manifest. */
export function backUp(
  servers: TestServers,
  site: SiteJobs,
  store: StoreVolume,
  { name = NAME, manifest = {}, config = {}, files = {} }: BackupChange = {},
): string {
  const directory = join(store.directory, PREFIX, name);
  mkdirSync(directory, { recursive: true });
  const at = (file: string): string => join(directory, file);
  writeFileSync(at('database.sql.gz'), gzipSync(dumpOf(servers.database, databaseOf(site))));
  for (const [file, folder] of [
    ['files.tgz', 'public/files'],
    ['private-files.tgz', 'private/files'],
  ] as const) {
    // As the framework does it: from `sites/`, with a path that begins with `./<site>`.
    const path = `./${site.name}/${folder}`;
    execFileSync('tar', ['-czf', at(file), path], { cwd: join(site.bench, 'sites') });
  }
  writeFileSync(
    at('site_config_backup.json'),
    JSON.stringify({ ...site.json('site_config.json'), ...config }),
  );
  for (const [file, content] of Object.entries(files)) writeFileSync(at(file), content);
  writeManifest(directory, {
    version: 1,
    name,
    siteName: site.name,
    startTime: '2025-01-31T12:00:00Z',
    completionTime: '2025-01-31T12:01:00Z',
    dbType: servers.type,
    apps: [{ name: 'frappe', version: '15.44.2' }],
    complete: true,
    partial: false,
    encrypted: false,
    ...manifest,
  });
  return directory;
}

/** Writes the manifest again, for the current files. */
export function writeManifest(directory: string, manifest: SiteConfig): void {
  const files = readdirSync(directory)
    .filter((name) => name !== 'manifest.json')
    .map((name) => {
      const data = readFileSync(join(directory, name));
      return { name, size: data.length, sha256: createHash('sha256').update(data).digest('hex') };
    });
  writeFileSync(join(directory, 'manifest.json'), JSON.stringify({ ...manifest, files }));
}

/** As the framework dumps it: a dump of PostgreSQL contains owners and rights. */
export function dumpOf(database: Database, name: string, further: readonly string[] = []): Buffer {
  const login = ['--host=127.0.0.1', `--port=${String(database.port)}`];
  const password = { MYSQL_PWD: database.adminPassword, PGPASSWORD: database.adminPassword };
  const options = { env: plainEnv(password), maxBuffer: 1 << 30 };
  if (database.type === 'postgres') {
    const pgDump = join(dirname(required('postgres')), 'pg_dump');
    return execFileSync(
      pgDump,
      [...login, `--username=${database.adminUser}`, ...further, name],
      options,
    );
  }
  const args = ['--no-defaults', ...login, `--user=${database.adminUser}`, '--single-transaction'];
  return execFileSync('mariadb-dump', [...args, '--quick', '--lock-tables=false', name], options);
}

/** Every row of every table of a site, by table. */
export function rowsOf(servers: TestServers, site: SiteJobs): Record<string, string[]> {
  const tables = servers
    .sqlOf(
      site,
      `SELECT table_name FROM information_schema.tables WHERE table_schema ${servers.type === 'mariadb' ? '= DATABASE()' : "= 'public'"}`,
    )
    .split('\n');
  const names = servers.type === 'mariadb' ? 'SET NAMES utf8mb4; ' : '';
  tables.sort();
  const rows = servers.database.sqlAll(
    tables.map((table) => `${names}SELECT * FROM ${servers.quoted(table)}`),
    databaseOf(site),
  );
  return Object.fromEntries(tables.map((table, index) => [table, [...(rows[index] ?? [])].sort()]));
}

/** Checksum and time of every file of a site, by its path. */
export function filesOf(site: SiteJobs): Record<string, string> {
  return Object.fromEntries(
    ['public/files', 'private/files'].flatMap((folder) => walk(site.path(), folder)),
  );
}

function walk(root: string, folder: string): [string, string][] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder)).flatMap((name) => {
    const path = join(folder, name);
    const stat = statSync(join(root, path));
    if (stat.isDirectory()) return walk(root, path);
    const digest = createHash('sha256')
      .update(readFileSync(join(root, path)))
      .digest('hex');
    return [[path, `${digest} ${String(Math.floor(stat.mtimeMs / 1000))}`] as [string, string]];
  });
}

/** Writes a file of a site. */
export function putFile(site: SiteJobs, path: string, content: string): void {
  const file = site.path(path);
  mkdirSync(dirname(file), { recursive: true });
  rmSync(file, { force: true });
  writeFileSync(file, content);
}
