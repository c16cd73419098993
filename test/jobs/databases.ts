/** Real database servers for the tests of jobs: on loopback, with a data directory and an administrator `dbadmin`. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { freePort } from '../../testbed/controlplane/ports.js';
import {
  type Daemon,
  daemon,
  eventually,
  plainEnv,
  required,
  temporaryDirectory,
} from './servers.js';
import { preparedFolder } from '../support/prepared-folder.js';

export interface Database {
  readonly type: 'mariadb' | 'postgres';
  readonly port: number;
  readonly adminUser: string;
  readonly adminPassword: string;
  /** Runs one statement as the administrator; rows as lines, columns parted by tabs. */
  readonly sql: (statement: string, database?: string) => string;
  /** The rows of each statement. */
  readonly sqlAll: (
    statements: readonly string[],
    database: string,
  ) => readonly (readonly string[])[];
  /** Leaves a connection with an open transaction in that database. */
  readonly hold: (database: string, table: string) => Daemon;
  /** Makes a database and a user of its name as site_init.py does, and fills it from a dump. */
  readonly load: (name: string, password: string, dump: string) => void;
  readonly stop: Daemon['stop'];
  /** Replaces the files of a server that was started with TLS. */
  readonly useTls: (tls: ServerTls) => void;
}

const ADMIN = 'dbadmin';
const PASSWORD = 'r00t "quoted\' pw';

function account(name: string): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string): number => Number(spawnSync('id', [flag, name]).stdout.toString());
  return { uid: id('-u'), gid: id('-g') };
}

const MARK = "SELECT '=== the next statement'";

/** The rows between the marks. */
function parts(output: string): readonly (readonly string[])[] {
  const [, ...results] = `\n${output}`.split('\n=== the next statement');
  return results.map((rows) => rows.split('\n').filter((row) => row !== ''));
}

/** Gives a server a data directory of its own: a copy of one that was initialized once. */
function dataDirectory(
  name: string,
  inputs: readonly string[],
  initialize: (folder: string) => void,
): { directory: string; data: string } {
  const made = preparedFolder(name, inputs, (folder) => {
    // The server's user may not be able to enter the cache.
    const place = temporaryDirectory();
    initialize(place);
    execFileSync('cp', ['-a', join(place, 'data'), folder]);
  });
  const directory = temporaryDirectory();
  const data = join(directory, 'data');
  execFileSync('cp', ['-a', '--sparse=always', join(made, 'data'), data]);
  return { directory, data };
}

/** A small log: it is copied with the data directory. */
const SMALL_LOG = '--innodb-log-file-size=4M';

/** Files of a server that takes encrypted connections only; they can be replaced while it runs. */
export interface ServerTls {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** Gives the files to the server's user. */
function tlsFolder(tls: ServerTls, user: { uid: number; gid: number } | undefined): string {
  const folder = temporaryDirectory();
  writeTls(folder, tls, user);
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  return folder;
}

function writeTls(
  folder: string,
  tls: ServerTls,
  user: { uid: number; gid: number } | undefined,
): void {
  for (const [name, text] of Object.entries(tls)) {
    const file = join(folder, name);
    writeFileSync(file, String(text), { mode: 0o600 });
    if (user !== undefined) chownSync(file, user.uid, user.gid);
  }
}

export async function startMariaDb(
  tls?: ServerTls,
  options: readonly string[] = [],
): Promise<Database> {
  const server = required('mariadbd');
  const user = account('mysql');
  const as = user === undefined ? [] : ['--user=mysql'];
  const install = [
    ...['--no-defaults', '--auth-root-authentication-method=normal', '--skip-test-db'],
    ...[SMALL_LOG, ...as],
  ];
  const version = execFileSync(server, ['--version']).toString();
  const { directory, data } = dataDirectory('mariadb', [version, ...install], (folder) => {
    if (user !== undefined) chownSync(folder, user.uid, user.gid);
    const folders = [`--datadir=${join(folder, 'data')}`, `--tmpdir=${folder}`];
    // The error contains the program's message.
    execFileSync('mariadb-install-db', [...install, ...folders], {
      env: plainEnv({}),
      stdio: 'pipe',
    });
  });
  // A starting server deletes all files `#sql*` in its temporary folder, also those of another server.
  const own = ['--no-defaults', `--datadir=${data}`, `--tmpdir=${directory}`, ...as];
  if (user !== undefined) chownSync(directory, user.uid, user.gid);
  const start = join(directory, 'start.sql');
  const quoted = PASSWORD.replaceAll("'", "''");
  writeFileSync(
    start,
    `CREATE USER IF NOT EXISTS '${ADMIN}'@'%' IDENTIFIED BY '${quoted}';\nGRANT ALL ON *.* TO '${ADMIN}'@'%' WITH GRANT OPTION;\n`,
  );
  const port = await freePort();
  const files = tls && tlsFolder(tls, user);
  const secure =
    files === undefined
      ? []
      : [
          ...['ca', 'cert', 'key'].map((name) => `--ssl-${name}=${join(files, name)}`),
          '--require-secure-transport=ON',
        ];
  const started = daemon(
    [
      server, ...own, `--socket=${join(directory, 's')}`, `--port=${String(port)}`, '--bind-address=127.0.0.1',
      `--pid-file=${join(directory, 'pid')}`, `--init-file=${start}`, '--skip-name-resolve',
      '--innodb-flush-log-at-trx-commit=0', '--innodb-buffer-pool-size=32M', '--innodb-doublewrite=0',
      '--performance-schema=OFF', SMALL_LOG, ...secure, ...options,
    ],
    {},
  ); // prettier-ignore
  const client = ['--no-defaults', '-h127.0.0.1', `-P${String(port)}`, `-u${ADMIN}`];
  const run = (statements: string, ...database: readonly string[]): string =>
    execFileSync('mariadb', [...client, '-NBe', statements, ...database], {
      env: plainEnv({ MYSQL_PWD: PASSWORD }),
      stdio: ['ignore', 'pipe', 'pipe'],
    }).toString();
  const sql = (statement: string, database?: string): string =>
    run(statement, ...(database === undefined ? [] : [database])).trim();
  const sqlAll: Database['sqlAll'] = (statements, database) =>
    parts(run(statements.flatMap((one) => [MARK, one]).join('; '), database));
  const hold = (name: string, table: string): Daemon =>
    daemon(
      [
        ...['mariadb', ...client, name, '-e'],
        `START TRANSACTION; SELECT * FROM ${table}; SELECT SLEEP(600)`,
      ],
      { MYSQL_PWD: PASSWORD },
    );
  const load: Database['load'] = (name, password, dump) => {
    const start = `CREATE DATABASE ${name} CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
      CREATE USER '${name}'@'%' IDENTIFIED BY '${password.replaceAll("'", "''")}';
      GRANT ALL PRIVILEGES ON \`${name.replaceAll('_', '\\_')}\`.* TO '${name}'@'%';
      USE ${name};\n`;
    execFileSync('mariadb', client, {
      ...{ env: plainEnv({ MYSQL_PWD: PASSWORD }), input: start + dump },
      stdio: ['pipe', 'ignore', 'pipe'],
    });
  };
  await eventually('MariaDB answers', () => sql('SELECT 1') === '1');
  return {
    type: 'mariadb',
    port,
    adminUser: ADMIN,
    adminPassword: PASSWORD,
    sql,
    sqlAll,
    hold,
    load,
    stop: started.stop,
    useTls: (changed) => {
      writeTls(files ?? '', changed, user);
      sql('FLUSH SSL');
    },
  };
}

export async function startPostgres(tls?: ServerTls, rules = ''): Promise<Database> {
  const bin = dirname(required('postgres'));
  const user = account('postgres');
  const version = execFileSync(join(bin, 'postgres'), ['--version']).toString();
  const install = ['-U', ADMIN, '-A', 'scram-sha-256', '--no-sync', '--wal-segsize=1'];
  const { directory, data } = dataDirectory('postgres', [version, ...install], (folder) => {
    const password = join(folder, 'password');
    writeFileSync(password, PASSWORD);
    mkdirSync(join(folder, 'data'));
    if (user !== undefined) execFileSync('chown', ['-R', 'postgres', folder]);
    const files = ['-D', join(folder, 'data'), `--pwfile=${password}`];
    execFileSync(join(bin, 'initdb'), [...install, ...files], {
      ...{ env: plainEnv({}), stdio: 'ignore', cwd: '/' },
      ...user,
    });
  });
  if (user !== undefined) chownSync(directory, user.uid, user.gid);
  const port = await freePort();
  const files = tls && tlsFolder(tls, user);
  const secure =
    files === undefined
      ? []
      : [
          'ssl=on',
          `ssl_ca_file=${join(files, 'ca')}`,
          `ssl_cert_file=${join(files, 'cert')}`,
          `ssl_key_file=${join(files, 'key')}`,
          `hba_file=${join(files, 'hba')}`,
        ];
  if (files !== undefined)
    writeFileSync(join(files, 'hba'), `${rules}hostssl all all all scram-sha-256\n`);
  const started = daemon(
    [
      join(bin, 'postgres'),
      '-D',
      data,
      '-p',
      String(port),
      '-k',
      directory,
      '-c',
      'listen_addresses=127.0.0.1',
      ...['fsync=off', 'full_page_writes=off', 'autovacuum=off', ...secure].flatMap((set) => [
        '-c',
        set,
      ]),
    ],
    {},
    user,
  );
  const login = ['-h', '127.0.0.1', '-p', String(port), '-U', ADMIN];
  const run = (statements: readonly string[], database: string): string => {
    const commands = statements.flatMap((statement) => ['-c', statement]);
    const args = [...login, '-d', database, '-AtF', '\t', ...commands];
    return execFileSync(join(bin, 'psql'), args, {
      env: plainEnv({ PGPASSWORD: PASSWORD }),
      stdio: ['ignore', 'pipe', 'pipe'],
    }).toString();
  };
  const sql = (statement: string, database = 'postgres'): string =>
    run([statement], database).trim();
  const sqlAll: Database['sqlAll'] = (statements, database) =>
    parts(
      run(
        statements.flatMap((one) => [MARK, one]),
        database,
      ),
    );
  const hold = (name: string, table: string): Daemon =>
    daemon(
      [
        ...[join(bin, 'psql'), ...login, '-d', name, '-c'],
        `SELECT count(*) FROM ${table}; SELECT pg_sleep(600)`,
      ],
      { PGPASSWORD: PASSWORD },
    );
  const load: Database['load'] = (name, password, dump) => {
    const start = `CREATE ROLE "${name}" LOGIN PASSWORD '${password.replaceAll("'", "''")}';
      CREATE DATABASE "${name}" OWNER "${name}" TEMPLATE template0 ENCODING 'UTF8';
      REVOKE ALL ON DATABASE "${name}" FROM PUBLIC;
      \\connect ${name}\n`;
    execFileSync(join(bin, 'psql'), [...login, '-d', 'postgres', '-v', 'ON_ERROR_STOP=1'], {
      ...{ env: plainEnv({ PGPASSWORD: PASSWORD }), input: start + dump },
      stdio: ['pipe', 'ignore', 'pipe'],
    });
  };
  await eventually('PostgreSQL answers', () => sql('SELECT 1') === '1');
  // A fast shutdown: SIGTERM would wait for the clients.
  return {
    type: 'postgres',
    port,
    adminUser: ADMIN,
    adminPassword: PASSWORD,
    sql,
    sqlAll,
    hold,
    load,
    stop: () => started.stop('SIGINT'),
    useTls: (changed) => {
      writeTls(files ?? '', changed, user);
      sql('SELECT pg_reload_conf()');
    },
  };
}
