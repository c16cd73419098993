/** Real programs for the tests of jobs: found, started on loopback in temporary directories, and stopped. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { scripts } from '../../constructs/frappe/scripts.generated.js';
import { SCRIPTS_DIR } from '../../constructs/kit/constants.generated.js';
import { freePort } from '../../testbed/controlplane/ports.js';
import { compile, pythonVersion } from '../../testbed/stand-in/packages.js';
import { deadline } from '../../testbed/timeouts.js';
import { preparedFolder } from '../support/prepared-folder.js';

export const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
/** Stopped and removed at the end of the process: servers first, because they write to the folders. */
const children = new Set<ChildProcess>();
const folders = new Set<string>();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  nginx: ['nginx-light'],
  'redis-server': ['redis-server'],
  gunicorn: ['gunicorn'],
  mariadbd: ['mariadb-server'],
  postgres: ['postgresql'],
  prometheus: ['prometheus'],
  promtool: ['prometheus'],
  python3: ['python3-pymysql', 'python3-mysqldb', 'python3-psycopg2', 'python3-redis'],
  PyYAML: ['python3-yaml'],
};

/** Path of a program; with CI or INSTALL_TEST_SERVERS set, root installs Debian's package of a missing one. */
export function program(name: string): string | undefined {
  const found = locate(name);
  if (found !== undefined || !mayInstall()) return found;
  const install = 'apt-get update -q; apt-get install -y -q --no-install-recommends "$@"';
  spawnSync(
    'flock',
    ['/tmp/app-operator-apt.lock', 'sh', '-c', install, 'sh', ...(PACKAGES[name] ?? [])],
    {
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      stdio: 'ignore',
    },
  );
  return locate(name);
}

function mayInstall(): boolean {
  const wanted = process.env['CI'] ?? process.env['INSTALL_TEST_SERVERS'];
  return Boolean(wanted) && process.getuid?.() === 0 && existsSync('/usr/bin/apt-get');
}

function locate(name: string): string | undefined {
  if (name === 'python3') return pythonWith('pymysql, psycopg2, redis');
  if (name === 'PyYAML') return pythonWith('yaml');
  const versions = '/usr/lib/postgresql';
  const postgres = existsSync(versions)
    ? readdirSync(versions).map((v) => join(versions, v, 'bin'))
    : [];
  return [...(process.env['PATH'] ?? '').split(':'), '/usr/sbin', ...postgres]
    .filter(
      (folder) =>
        name !== 'postgres' || ['initdb', 'psql'].every((tool) => existsSync(join(folder, tool))),
    )
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));
}

const pythons = new Map<string, string>();

/** A python that has some modules, such as the drivers of the framework's own environment. */
function pythonWith(modules: string): string | undefined {
  const found =
    pythons.get(modules) ??
    ['/usr/bin/python3', 'python3'].find(
      (name) => spawnSync(name, ['-c', `import ${modules}`]).status === 0,
    );
  if (found !== undefined) pythons.set(modules, found);
  return found;
}

/** `{}` if all programs are installed; otherwise the reason why a suite is skipped, which is also printed. */
export function needs(...names: readonly string[]): { skip?: string } {
  const missing = names.filter((name) => program(name) === undefined);
  if (missing.length === 0) return {};
  const packages = missing.flatMap((name) => PACKAGES[name] ?? [name]).join(' ');
  const skip = `NOT TESTED: ${missing.join(', ')} missing (apt-get install ${packages}, or set CI=1 as root)`;
  console.error(skip);
  return { skip };
}

export function required(name: string): string {
  const path = program(name);
  if (path === undefined) throw new Error(`${name} is not installed`);
  return path;
}

/** A directory that any user may enter, removed at the end of the process. */
export function temporaryDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), 'app-operator-'));
  chmodSync(path, 0o755);
  folders.add(path);
  return path;
}

/** Mounts a small file system on a directory until the test ends. If that is not possible, skips the test with a message. */
export function mounts(context: TestContext, directory: string, size: string): boolean {
  const options = ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', directory];
  if (spawnSync('mount', options).status !== 0) {
    context.skip('NOT TESTED: a file system cannot be mounted here');
    return false;
  }
  context.after(() => execFileSync('umount', [directory]));
  return true;
}

/** Directory with the files that pods mount. */
export const SCRIPTS = temporaryDirectory();
cpSync(preparedScripts(), SCRIPTS, { recursive: true, preserveTimestamps: true });

/** The files with their bytecode: hundreds of processes import the same modules. */
function preparedScripts(): string {
  const version = pythonVersion() ?? '';
  return preparedFolder('scripts', [version, JSON.stringify(scripts)], (folder) => {
    for (const [name, text] of Object.entries(scripts)) writeFileSync(join(folder, name), text);
    if (version !== '') compile(folder, SCRIPTS_DIR, version);
  });
}

export type Env = Readonly<Record<string, string>>;

/** The given variables and PATH: a test does not depend on its caller's environment. */
export function plainEnv(env: Env): Record<string, string> {
  return { PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/usr/bin:/bin`, LANG: 'C.UTF-8', ...env };
}

export interface Daemon {
  readonly process: ChildProcess;
  readonly log: () => string;
  /** Signals and waits; returns the exit code and how long it took. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<{ code: number | null; ms: number }>;
}

/** Starts a program with its output in a file, as any user when we are root. It ends with the tests at the latest. */
export function daemon(
  command: readonly string[],
  env: Env,
  user?: { uid: number; gid: number },
): Daemon {
  const [file = '', ...args] = command;
  const path = join(temporaryDirectory(), 'log');
  const output = openSync(path, 'a');
  const as = process.getuid?.() === 0 ? user : undefined;
  if (as !== undefined) chownSync(path, as.uid, as.gid);
  const child = spawn(file, args, { env: plainEnv(env), stdio: ['ignore', output, output], ...as });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  children.add(child);
  child.unref();
  return {
    process: child,
    log: () => readFileSync(path, 'utf8'),
    stop: async (signal = 'SIGTERM') => {
      const start = performance.now();
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      return { code: await ended, ms: performance.now() - start };
    },
  };
}

/** Tries until the condition holds; throws with what it saw last. */
export async function eventually(
  what: string,
  holds: () => boolean | Promise<boolean>,
): Promise<void> {
  const isOver = deadline(120_000);
  for (;;) {
    let last: unknown = 'false';
    try {
      if (await holds()) return;
    } catch (error) {
      last = error;
    }
    if (isOver()) throw new Error(`not within two minutes: ${what} (${String(last)})`);
    await sleep(50);
  }
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** One request on a connection of its own; `headers` may set Host, which fetch would drop. */
export function get(
  port: number,
  path: string,
  headers: Env = {},
  { method = 'GET', body = '' }: { readonly method?: string; readonly body?: string } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = request(
      { host: '127.0.0.1', port, path, method, agent: false, headers },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const { statusCode = 0, headers: answered } = response;
          resolve({
            status: statusCode,
            headers: answered,
            body: Buffer.concat(chunks).toString(),
          });
        });
      },
    );
    call.on('error', reject);
    call.setTimeout(120_000, () => call.destroy(new Error(`timeout: ${path}`)));
    call.end(body);
  });
}

export interface ScriptResult {
  readonly code: number | null;
  readonly output: string;
  readonly lastLine: string;
  readonly terminationMessage: string;
}

/** When a process is killed: after so many milliseconds, or when the condition holds. A throw means that it does not. */
export type Kill = number | (() => boolean);

/** Calls `end` then, after two minutes at the latest. Returns a function that cancels it. */
export function watch(kill: Kill, end: () => void): () => void {
  if (typeof kill === 'number') {
    const timer = setTimeout(end, kill);
    return () => {
      clearTimeout(timer);
    };
  }
  const deadline = performance.now() + 120_000;
  const holds = (): boolean => {
    try {
      return kill();
    } catch {
      return false;
    }
  };
  const poll = setInterval(() => {
    if (performance.now() < deadline && !holds()) return;
    clearInterval(poll);
    end();
  }, 50);
  return () => {
    clearInterval(poll);
  };
}

/** Runs a script to its end as a Job's container would. */
export async function runScript(
  command: readonly string[],
  env: Env,
  kill: Kill = 120_000,
): Promise<ScriptResult> {
  const log = join(temporaryDirectory(), 'termination-log');
  const [file = '', ...args] = command;
  const child = spawn(file, args, {
    env: plainEnv({ ...env, TERMINATION_LOG: log, PYTHONDONTWRITEBYTECODE: '1' }),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
  const callOff = watch(kill, () => {
    try {
      process.kill(-(child.pid ?? NaN), 'SIGKILL');
    } catch {
      // The process has just ended.
    }
  });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  callOff();
  return scriptResult(code, Buffer.concat(chunks).toString(), log);
}

/** The result of a script that has ended; `log` is its `TERMINATION_LOG`. */
export function scriptResult(code: number | null, output: string, log: string): ScriptResult {
  const terminationMessage = existsSync(log) ? readFileSync(log, 'utf8') : '';
  return { code, output, lastLine: output.trimEnd().split('\n').at(-1) ?? '', terminationMessage };
}

/** The command of a Job, as in its pod. A test that replaces functions of Python does it by `sitecustomize.py`. */
export function jobCommand(script: string, env: Env): readonly string[] {
  const replaces = 'KILL_AT' in env || 'MEETING' in env;
  const isolated = replaces ? [] : ['-I'];
  const runner = join(SCRIPTS, 'run_isolated.py');
  return [required('python3'), ...isolated, '-u', runner, join(SCRIPTS, script)];
}

export interface Redis extends Daemon {
  readonly port: number;
  readonly password: string;
}

/** The real redis.sh. Equal directories keep the queue's data. */
export async function startRedis(role: 'cache' | 'queue', env: Env = {}): Promise<Redis> {
  const directory = temporaryDirectory();
  const port = Number(env['LISTEN_PORT'] ?? (await freePort()));
  const password = env['REDIS_PASSWORD'] ?? 'a "quoted\\ p@ss/word';
  const settings = {
    REDIS_RUN_DIR: directory,
    REDIS_DATA_DIR: directory,
    REDIS_PASSWORD: password,
    ...env,
  };
  const script = ['sh', join(SCRIPTS, 'redis.sh'), role];
  const started = daemon(script, { ...settings, LISTEN_PORT: String(port) });
  await eventually(`redis ${role} answers`, () => redisCli(port, password, 'PING') === 'PONG');
  return { ...started, port, password };
}

/** A Redis that takes encrypted connections only, without a password. */
export async function startTlsRedis(tls: {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}): Promise<Daemon & { readonly port: number }> {
  const directory = temporaryDirectory();
  const port = await freePort();
  const file = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };
  const started = daemon(
    [
      ...['redis-server', '--port', '0', '--save', '', '--tls-auth-clients', 'no'],
      ...['--tls-port', String(port), '--tls-cert-file', file('tls.crt', tls.cert)],
      ...['--tls-key-file', file('tls.key', tls.key), '--tls-ca-cert-file', file('ca.crt', tls.ca)],
    ],
    {},
  );
  await eventually(`redis answers: ${started.log()}`, () =>
    started.log().includes('Ready to accept connections'),
  );
  return { ...started, port };
}

export function redisCli(port: number, password: string, ...args: readonly string[]): string {
  return execFileSync(
    'redis-cli',
    ['--no-auth-warning', '-h', '127.0.0.1', '-p', String(port), ...args],
    {
      env: plainEnv({ REDISCLI_AUTH: password }),
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
    .toString()
    .trim();
}
