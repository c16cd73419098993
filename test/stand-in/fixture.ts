/**
 * A bench as the framework image holds it, on this host: the same files, in a temporary directory,
 * with real servers.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe } from 'node:test';
import { freePort } from '../../testbed/controlplane/ports.js';
import {
  benchPackages,
  copyPrograms,
  fillBench,
  fillEnvironment,
  packageFolders,
} from '../../testbed/stand-in/bench.js';
import { VERSIONS } from '../../testbed/stand-in/image.js';
import {
  PYTHON,
  pythonPackages,
  pythonVersion,
  realtimeModules,
} from '../../testbed/stand-in/packages.js';
import { sourcesHash } from '../../testbed/stand-in/sources.js';
import { preparedFolder } from '../support/prepared-folder.js';
import { type Database, startMariaDb, startPostgres } from '../jobs/databases.js';
import {
  type Daemon,
  type Env,
  type Redis,
  SCRIPTS,
  type ScriptResult,
  daemon,
  eventually,
  get,
  needs,
  plainEnv,
  runScript,
  startRedis,
  temporaryDirectory,
} from '../jobs/servers.js';

/**
 * `{}` when the image's packages can be had and the servers are installed; otherwise the reason for
 * a skip.
 */
export async function needsImage(...programs: readonly string[]): Promise<{ skip?: string }> {
  const missing = needs(...programs);
  const version = pythonVersion();
  if (missing.skip !== undefined || version === undefined) {
    return version === undefined ? notTested(`${PYTHON} is missing`) : missing;
  }
  try {
    const majors = [15, 16].filter((major) => realBench(String(major)) === undefined);
    for (const major of majors) await pythonPackages(major, version);
    if (majors.length > 0) await realtimeModules();
    return {};
  } catch (error) {
    return notTested(
      `pip or npm cannot fetch the image's packages: ${String(error).slice(0, 300)}`,
    );
  }
}

function notTested(reason: string): { skip: string } {
  const skip = `NOT TESTED: ${reason}`;
  console.error(skip);
  return { skip };
}

export interface CommandResult {
  readonly code: number | null;
  readonly output: string;
}

/** The bench that tests of a version use in place of the stand-in: `FRAPPE_BENCH_15`, `FRAPPE_BENCH_16`. */
export function realBench(version: string): string | undefined {
  return process.env[`FRAPPE_BENCH_${version.split('.')[0] ?? ''}`];
}

/** Copies a folder whose files do not change: by hard links where the file system can. */
function link(from: string, to: string): void {
  const script = 'cp -al "$0/." "$1" 2>/dev/null || cp -a "$0/." "$1"';
  execFileSync('sh', ['-c', `mkdir -p "$1"; ${script}`, from, to]);
}

/** The image's file system, as far as it works without a container. */
export class ImageBench {
  readonly path: string;
  private readonly programs: string;

  private constructor(readonly version: string) {
    const root = temporaryDirectory();
    this.path = join(root, 'frappe-bench');
    this.programs = join(root, 'bin');
  }

  static async make(
    version: string = VERSIONS.first,
    apps: Readonly<Record<string, string>> = { erpnext: '15.40.0', hrms: '15.30.0' },
  ): Promise<ImageBench> {
    const bench = new ImageBench(version);
    const real = realBench(version);
    if (real !== undefined) {
      bench.linkTo(real);
      return bench;
    }
    const python = { version: pythonVersion() ?? '', program: PYTHON };
    const content = { version, apps, python };
    const packages = await benchPackages(content);
    const inputs = [JSON.stringify(content), sourcesHash()];
    const prepared = preparedFolder('image-bench', inputs, (folder) => {
      fillBench(folder, folder, content);
    });
    execFileSync('cp', ['-a', prepared, bench.path]);
    for (const [from, to] of packageFolders(bench.path, content, packages)) link(from, to);
    fillEnvironment(bench.path, bench.path, content);
    copyPrograms(bench.programs);
    return bench;
  }

  /** Apps and environment of a bench of the framework, with sites of its own. Nothing is built. */
  private linkTo(real: string): void {
    for (const folder of ['sites', 'logs', 'config/pids', 'assets']) {
      mkdirSync(join(this.path, folder), { recursive: true });
    }
    for (const folder of ['apps', 'env']) {
      symlinkSync(join(real, folder), join(this.path, folder));
    }
    for (const name of ['assets.json', 'assets-rtl.json']) {
      writeFileSync(join(this.path, 'assets', name), '{}');
    }
    writeFileSync(join(this.sites, 'common_site_config.json'), '{}');
    copyPrograms(this.programs);
  }

  get python(): string {
    return join(this.path, 'env/bin/python');
  }

  get sites(): string {
    return join(this.path, 'sites');
  }

  /** What the pods of the operator set. */
  get env(): Env {
    return {
      PATH: `${this.programs}:${process.env['PATH'] ?? ''}:/usr/sbin:/usr/bin:/bin`,
      USER: 'frappe',
      HOME: '/tmp',
      PYTHONDONTWRITEBYTECODE: '1',
      BENCH_DIR: this.path,
    };
  }

  /** A second image on the same sites, as after a change of the bench's image. */
  async other(version: string): Promise<ImageBench> {
    const other = await ImageBench.make(version);
    execFileSync('rm', ['-rf', other.sites]);
    execFileSync('ln', ['-s', this.sites, other.sites]);
    return other;
  }

  /** `bench ARGUMENT...`, in the bench's directory. */
  bench(...args: readonly string[]): CommandResult {
    return this.run([join(this.programs, 'bench'), ...args]);
  }

  run(command: readonly string[], env: Env = {}, cwd = this.path): CommandResult {
    const [file = '', ...args] = command;
    const options = { cwd, env: plainEnv({ ...this.env, ...env }), encoding: 'utf8' } as const;
    const { status, stdout, stderr } = spawnSync(file, args, {
      ...options,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 120_000,
    });
    return { code: status, output: stdout + stderr };
  }

  daemon(command: readonly string[], env: Env = {}): Daemon {
    return daemon(['env', '-C', this.path, ...command], { ...this.env, ...env });
  }

  /** One of the operator's scripts, as its Job runs it. */
  script(name: string, env: Env): Promise<ScriptResult> {
    const command = [this.python, join(SCRIPTS, name)];
    const limit = realBench(this.version) === undefined ? 120_000 : 900_000;
    return runScript(command, { ...this.env, ...env }, limit);
  }

  /** The real gunicorn with the operator's wrapper; ended with the tests. */
  async gunicorn(env: Env = {}, application = 'app_operator_wsgi:application'): Promise<Web> {
    const port = await freePort();
    const server = this.daemon(
      [
        ...[join(this.path, 'env/bin/gunicorn'), `--chdir=${this.sites}`],
        ...[`--bind=127.0.0.1:${String(port)}`, '--workers=1', '--threads=4'],
        ...['--worker-class=gunicorn_worker.Worker', '--preload', application],
      ],
      { PYTHONPATH: SCRIPTS, ...env },
    );
    await eventually('gunicorn answers', async () => {
      await get(port, '/api/method/ping', { Host: 'unknown.example' });
      return true;
    });
    return { port, server };
  }

  exists(...parts: readonly string[]): boolean {
    return existsSync(join(this.sites, ...parts));
  }

  json(...parts: readonly string[]): Readonly<Record<string, unknown>> {
    const text = readFileSync(join(this.sites, ...parts), 'utf8');
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  }
}

export interface Web {
  readonly port: number;
  readonly server: Daemon;
}

/**
 * A database server, both Redis servers and a bench on them, initialized by the operator's own
 * script.
 */
export class Stack {
  constructor(
    readonly database: Database,
    readonly cache: Redis,
    readonly queue: Redis,
    readonly bench: ImageBench,
  ) {}

  static async start(type: Database['type'], version?: string): Promise<Stack> {
    // First, not in parallel: it copies and compiles for seconds, and blocks the event loop.
    const bench = await ImageBench.make(version);
    const [database, cache, queue] = await Promise.all([
      type === 'mariadb' ? startMariaDb() : startPostgres(),
      startRedis('cache'),
      startRedis('queue'),
    ]);
    const stack = new Stack(database, cache, queue, bench);
    const done = await stack.initBench();
    if (done.code !== 0) throw new Error(done.output);
    return stack;
  }

  /** The real bench_init.py, of another image if one is given, with further keys of the configuration. */
  initBench(bench: ImageBench = this.bench, further: object = {}): Promise<ScriptResult> {
    const url = ({ port, password }: Redis): string =>
      `redis://:${encodeURIComponent(password)}@127.0.0.1:${String(port)}`;
    return bench.script('bench_init.py', {
      REDIS_CACHE_URL: url(this.cache),
      REDIS_QUEUE_URL: url(this.queue),
      DB_HOST: '127.0.0.1',
      DB_PORT: String(this.database.port),
      DB_TYPE: this.database.type,
      COMMON_CONFIG: JSON.stringify({ bench_id: 'test-bench', ...further }),
    });
  }

  async stop(): Promise<void> {
    await Promise.all([this.database.stop(), this.cache.stop(), this.queue.stop()]);
  }

  private counter = 0;

  /** A new site's Jobs, with the administrator's login. */
  site(change: Env = {}): Site {
    this.counter += 1;
    const name = `site${String(this.counter)}_data`;
    return new Site(this, {
      SITE_NAME: `site${String(this.counter)}.example.com`,
      SITE_OWNER: `team/site${String(this.counter)}`,
      SITE_APPS: '["frappe"]',
      DB_TYPE: this.database.type,
      DB_HOST: '127.0.0.1',
      DB_PORT: String(this.database.port),
      DB_NAME: name,
      DB_USER: name,
      DB_PASSWORD: 'site "quoted\' pw',
      DB_ROOT_USER: this.database.adminUser,
      DB_ROOT_PASSWORD: this.database.adminPassword,
      ADMIN_PASSWORD: '--admin "pw" $1',
      ENCRYPTION_KEY: 'c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3I=',
      WAIT_SECONDS: '60',
      MAINTENANCE_SETTLE_SECONDS: '0',
      ...change,
    });
  }
}

/** One site, by the operator's own Jobs. */
export class Site {
  constructor(
    private readonly stack: Stack,
    readonly env: Env,
  ) {}

  get name(): string {
    return this.env['SITE_NAME'] ?? '';
  }

  with(change: Env): Site {
    return new Site(this.stack, { ...this.env, ...change });
  }

  init(bench: ImageBench = this.stack.bench): Promise<ScriptResult> {
    return bench.script('site_init.py', this.env);
  }

  drop(): Promise<ScriptResult> {
    return this.stack.bench.script('site_drop.py', this.env);
  }

  /** `bench --site NAME ARGUMENT...` */
  bench(...args: readonly string[]): CommandResult {
    return this.stack.bench.bench('--site', this.name, ...args);
  }

  /** One statement in the site's database. */
  sql(statement: string): string {
    return this.stack.database.sql(
      this.stack.database.type === 'postgres' ? statement.replaceAll('`', '"') : statement,
      this.env['DB_NAME'],
    );
  }
}

/** The same suite on a real MariaDB and on a real PostgreSQL. */
export async function describeOnServers(
  title: string,
  tests: (stack: () => Stack) => void,
): Promise<void> {
  for (const type of ['mariadb', 'postgres'] as const) {
    const server = type === 'mariadb' ? 'mariadbd' : 'postgres';
    const possible = await needsImage(server, 'redis-server', 'python3');
    describe(`${title} on ${type}`, possible, () => {
      let stack: Stack | undefined;
      before(async () => {
        stack = await Stack.start(type);
      });
      after(() => stack?.stop());
      tests(() => {
        if (stack === undefined) throw new Error('not started');
        return stack;
      });
    });
  }
}
