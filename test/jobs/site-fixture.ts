/** A bench directory with the stand-in framework, and sites on it, for the tests of site_init.py and site_drop.py. */
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe } from 'node:test';
import { fillApps } from '../../testbed/stand-in/bench.js';
import { compile, pythonVersion, standInPackages } from '../../testbed/stand-in/packages.js';
import { filesBelow, SOURCES } from '../../testbed/stand-in/sources.js';
import { preparedFolder } from '../support/prepared-folder.js';
import { type Database, startMariaDb, startPostgres } from './databases.js';
import {
  type Env,
  type Kill,
  type Redis,
  ROOT,
  type ScriptResult,
  daemon,
  jobCommand,
  needs,
  runScript,
  startRedis,
  temporaryDirectory,
} from './servers.js';

export const KEY = 'c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3I=';

export interface SiteConfig {
  readonly [key: string]: unknown;
}

interface Administrator {
  readonly socket: string;
  readonly stop: () => Promise<unknown>;
}

/** Containers with the administrator's login that run, by their environment; the oldest is first. */
const administrators = new Map<string, Administrator>();
/** More would only take memory: a test has one or two sites. */
const KEPT_ADMINISTRATORS = 4;

/** The container database-admin for Jobs with this environment: it serves one after the other. */
function administrator(env: Env): Administrator {
  const key = JSON.stringify(env);
  const running = administrators.get(key);
  if (running !== undefined) return running;
  const socket = join(temporaryDirectory(), 'socket');
  const server = daemon(jobCommand('database_admin.py', {}), { ...env, DB_ADMIN_SOCKET: socket });
  const stop = (): Promise<unknown> => {
    administrators.delete(key);
    return server.stop('SIGKILL');
  };
  administrators.set(key, { socket, stop });
  const [oldest] = administrators.values();
  if (administrators.size > KEPT_ADMINISTRATORS) void oldest?.stop();
  return { socket, stop };
}

/** One site's Jobs, with the environment that the operator sets. */
export class SiteJobs {
  constructor(
    readonly bench: string,
    private readonly env: Env,
  ) {}

  /** The same site with other settings; an empty text removes one. */
  with(change: Env): SiteJobs {
    return new SiteJobs(this.bench, { ...this.env, ...change });
  }

  init(kill?: Kill): Promise<ScriptResult> {
    return this.run('site_init.py', kill);
  }

  drop(): Promise<ScriptResult> {
    return this.run('site_drop.py');
  }

  reopen(): Promise<ScriptResult> {
    return this.run('site_reopen.py');
  }

  /** Runs a Job as its pod does: the administrator's login is in another container. */
  private async run(script: string, kill?: Kill): Promise<ScriptResult> {
    const { DB_ROOT_USER = '', DB_ROOT_PASSWORD = '', ...env } = this.env;
    if (DB_ROOT_PASSWORD === '' || script === 'site_reopen.py')
      return runScript(jobCommand(script, env), env, kill);
    const names = ['SITE_NAME', 'SITE_OWNER', 'BENCH_DIR', 'PYTHONPATH', 'ENV_SOURCES'];
    const own = Object.entries(env).filter(
      ([name]) => name.startsWith('DB_') || names.includes(name),
    );
    const admin = administrator({ ...Object.fromEntries(own), DB_ROOT_USER, DB_ROOT_PASSWORD });
    const result = await runScript(
      jobCommand(script, env),
      { ...env, DB_ADMIN_SOCKET: admin.socket },
      kill,
    );
    // The pod of a Job that is killed ends, and its other container with it.
    if (result.code === null) await admin.stop();
    return result;
  }

  get name(): string {
    return this.env['SITE_NAME'] ?? '';
  }

  /** What its files and its database have of its own. */
  get ownNames(): readonly string[] {
    return ['SITE_NAME', 'SITE_OWNER', 'DB_NAME'].map((name) => this.env[name] ?? '');
  }

  path(...parts: readonly string[]): string {
    return join(this.bench, 'sites', this.name, ...parts);
  }

  exists(): boolean {
    return existsSync(this.path());
  }

  json(file: string): SiteConfig {
    return JSON.parse(readFileSync(this.path(file), 'utf8')) as SiteConfig;
  }
}

/** Doctypes that creating and migrating a site needs; the others would only take time. */
const DOCTYPES =
  /\/doctype\/(country|currency|doctype|has_role|language|role|scheduled_job_type|user|user_type)\//;
const isNeeded = (file: string): boolean =>
  !/\/(doctype|workspace)\/.*\.json$/.test(file) || DOCTYPES.test(file);

const ADDED = join(ROOT, 'test/jobs/app');
/** Python packages of the stand-in. */
export const packages = await standInPackages();

/** A bench as the image and bench_init.py leave it: apps `frappe`, `erpnext` and `hrms`, our Redis in the common config. */
export function aBench(version: string, redis: Redis): string {
  const bench = temporaryDirectory();
  execFileSync('cp', ['-a', join(preparedApps(version), 'apps'), bench]);
  for (const name of ['sites', 'config']) mkdirSync(join(bench, name));
  const url = `redis://:${encodeURIComponent(redis.password)}@127.0.0.1:${String(redis.port)}`;
  writeFileSync(
    join(bench, 'sites/common_site_config.json'),
    JSON.stringify({ redis_cache: url, redis_queue: url }),
  );
  writeFileSync(join(bench, 'sites/apps.txt'), 'frappe\nerpnext\nhrms\n');
  return bench;
}

/** Of what a bench is made. */
const sources = [...filesBelow(SOURCES), ...filesBelow(ADDED)].flatMap((file) => [
  file,
  readFileSync(file, 'base64'),
]);

/** A folder with `apps/` of a bench, and its bytecode. */
function preparedApps(version: string): string {
  const inputs = [version, packages.path, pythonVersion() ?? '', ...sources];
  return preparedFolder('job-bench', inputs, (folder) => {
    fillJobBench(folder, version);
  });
}

function fillJobBench(bench: string, version: string): void {
  const root = join(bench, 'apps/frappe');
  const apps = ['erpnext', 'hrms'];
  fillApps(
    bench,
    { version, apps: Object.fromEntries(apps.map((app) => [app, '15.1.0'])) },
    isNeeded,
  );
  // PYTHONPATH is apps/frappe: the packages of the image's environment and the other apps are linked there.
  for (const name of readdirSync(packages.path))
    symlinkSync(join(packages.path, name), join(root, name));
  for (const app of apps) {
    symlinkSync(join('..', app, app), join(root, app));
    cpSync(join(ADDED, 'install.py'), join(root, app, 'install.py'));
    appendFileSync(join(root, app, 'hooks.py'), `after_install = "${app}.install.after_install"\n`);
  }
  cpSync(join(ADDED, 'job_tests.py'), join(root, 'frappe/job_tests.py'));
  cpSync(join(ADDED, 'patches'), join(root, 'frappe/patches/job_tests'), { recursive: true });
  appendFileSync(join(root, 'frappe/hooks.py'), readFileSync(join(ADDED, 'hooks.py')));
  setAppVersion(bench, 'frappe', version);
  compile(join(bench, 'apps'), join(bench, 'apps'), pythonVersion() ?? '', 'checked');
}

/** Gives an app of the bench another version, and one patch of test/jobs/app/patches or none. */
export function setAppVersion(
  bench: string,
  app: string,
  version: string,
  patch?: 'half' | 'fail',
): void {
  const module = join(bench, 'apps', app, app);
  const file = join(module, '__init__.py');
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replace(/^__version__ = ".*"$/m, `__version__ = "${version}"`));
  const patches = patch === undefined ? '' : `frappe.patches.job_tests.${patch}\n`;
  writeFileSync(join(module, 'patches.txt'), patches);
}

/** For a site whose Job must fail: it does not wait for a server. */
export const AT_ONCE: Env = { WAIT_SECONDS: '0' };

let counter = 0;

/** A new site's Jobs on that bench and server, with the administrator's login. */
export function aSite(bench: string, database: Database, change: Env = {}): SiteJobs {
  counter += 1;
  const name = `s${String(counter)}_shop`;
  return new SiteJobs(bench, {
    BENCH_DIR: bench,
    PYTHONPATH: join(bench, 'apps/frappe'),
    SITE_NAME: `shop${String(counter)}.example.com`,
    SITE_OWNER: `team/shop${String(counter)}`,
    SITE_APPS: '["frappe"]',
    SITE_REVISION: 'r1',
    DB_TYPE: database.type,
    DB_HOST: '127.0.0.1',
    DB_PORT: String(database.port),
    DB_NAME: name,
    DB_USER: name,
    DB_PASSWORD: 'site "quoted\' pw',
    DB_ROOT_USER: database.adminUser,
    DB_ROOT_PASSWORD: database.adminPassword,
    ADMIN_PASSWORD: '--admin "pw" $1',
    ENCRYPTION_KEY: KEY,
    WAIT_SECONDS: '60',
    MAINTENANCE_SETTLE_SECONDS: '0',
    ...change,
  });
}

/** A database server, a Redis and a bench of version-15, which run during a suite's tests. */
export class TestServers {
  private started: { database: Database; redis: Redis; bench: string } | undefined;

  constructor(readonly type: Database['type']) {}

  async start(): Promise<void> {
    const server = this.type === 'mariadb' ? startMariaDb() : startPostgres();
    const [database, redis] = await Promise.all([server, startRedis('cache')]);
    this.started = { database, redis, bench: aBench('15.44.2', redis) };
  }

  async stop(): Promise<void> {
    await Promise.all([this.started?.database.stop(), this.started?.redis.stop()]);
  }

  private get running(): { database: Database; redis: Redis; bench: string } {
    if (this.started === undefined) throw new Error('not started');
    return this.started;
  }

  get database(): Database {
    return this.running.database;
  }

  get redis(): Redis {
    return this.running.redis;
  }

  get bench(): string {
    return this.running.bench;
  }

  /** A name with capitals or blanks, quoted for this server's SQL. */
  quoted(name: string): string {
    return this.type === 'mariadb' ? `\`${name.replaceAll('`', '``')}\`` : `"${name}"`;
  }

  /** Runs one statement in the site's database. */
  sqlOf(site: SiteJobs, statement: string): string {
    return this.database.sql(statement, databaseOf(site));
  }

  /** Gives a user another password, such as the one that it has on another server. */
  setPassword(user: string, password: string): void {
    const set = this.type === 'mariadb' ? 'IDENTIFIED BY' : 'PASSWORD';
    this.database.sql(`ALTER USER ${user} ${set} '${password}'`);
  }

  /** Who may do what in a database, and its settings, in this server's words. */
  rightsOf(name: string): string {
    return this.type === 'mariadb'
      ? this.database.sql(`SHOW CREATE DATABASE ${name}; SHOW GRANTS FOR '${name}'@'%'`)
      : this.database.sql(
          `SELECT datname, datacl, encoding, pg_get_userbyid(datdba), array(SELECT tablename || ' ' || tableowner FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename) FROM pg_database WHERE datname = '${name}'`,
          name,
        );
  }

  hasDatabase(name: string): boolean {
    const count =
      this.type === 'mariadb'
        ? `SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '${name}'`
        : `SELECT COUNT(*) FROM pg_database WHERE datname = '${name}'`;
    return this.database.sql(count) === '1';
  }
}

/** The database that the site's own configuration names. */
export function databaseOf(site: SiteJobs): string {
  return String(site.json('site_config.json')['db_name']);
}

/** Changes keys of the site's marker; undefined removes one. */
export function updateMarker(site: SiteJobs, change: SiteConfig): void {
  const marker = { ...site.json('.app-operator.json'), ...change };
  writeFileSync(site.path('.app-operator.json'), JSON.stringify(marker));
}

/** As `needs`, and the Python packages of the stand-in. */
export function needsStandIn(...programs: readonly string[]): { skip?: string } {
  return packages.skip === undefined ? needs(...programs) : { skip: packages.skip };
}

/**
 * The same suite on a real MariaDB and on a real PostgreSQL. Tests of what does not depend on the server come
 * last, and run on MariaDB only.
 */
export function describeOnServers(title: string, tests: (servers: TestServers) => void): void {
  for (const type of ['mariadb', 'postgres'] as const) {
    const server = type === 'mariadb' ? 'mariadbd' : 'postgres';
    describe(`${title} on ${type}`, needsStandIn(server, 'redis-server', 'python3'), () => {
      const servers = new TestServers(type);
      before(() => servers.start());
      after(() => servers.stop());
      tests(servers);
    });
  }
}
