/** Real database servers for the tests of jobs: on loopback, with a data directory and an administrator `dbadmin`. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
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

export interface Database {
  readonly type: 'mariadb' | 'postgres';
  readonly port: number;
  readonly adminUser: string;
  readonly adminPassword: string;
  /** Runs one statement as the administrator; rows as lines, columns parted by tabs. */
  readonly sql: (statement: string, database?: string) => string;
  /** Leaves a connection with an open transaction in that database. */
  readonly hold: (database: string, table: string) => Daemon;
  readonly stop: Daemon['stop'];
}

const ADMIN = 'dbadmin';
const PASSWORD = 'r00t "quoted\' pw';

function account(name: string): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string): number => Number(spawnSync('id', [flag, name]).stdout.toString());
  return { uid: id('-u'), gid: id('-g') };
}

export async function startMariaDb(): Promise<Database> {
  const server = required('mariadbd');
  const directory = temporaryDirectory();
  const data = join(directory, 'data');
  const user = account('mysql');
  const as = user === undefined ? [] : ['--user=mysql'];
  // A starting server deletes all files `#sql*` in its temporary folder, also those of another server.
  const own = ['--no-defaults', `--datadir=${data}`, `--tmpdir=${directory}`, ...as];
  if (user !== undefined) execFileSync('chown', ['mysql', directory]);
  execFileSync(
    'mariadb-install-db',
    [...own, '--auth-root-authentication-method=normal', '--skip-test-db'],
    {
      env: plainEnv({}),
      // So the error contains its message.
      stdio: 'pipe',
    },
  );
  const start = join(directory, 'start.sql');
  const quoted = PASSWORD.replaceAll("'", "''");
  writeFileSync(
    start,
    `CREATE USER IF NOT EXISTS '${ADMIN}'@'%' IDENTIFIED BY '${quoted}';\nGRANT ALL ON *.* TO '${ADMIN}'@'%' WITH GRANT OPTION;\n`,
  );
  const port = await freePort();
  const started = daemon(
    [
      server, ...own, `--socket=${join(directory, 's')}`, `--port=${String(port)}`, '--bind-address=127.0.0.1',
      `--pid-file=${join(directory, 'pid')}`, `--init-file=${start}`, '--skip-name-resolve',
      '--innodb-flush-log-at-trx-commit=0', '--innodb-buffer-pool-size=32M',
    ],
    {},
  ); // prettier-ignore
  const sql = (statement: string, database?: string): string =>
    execFileSync(
      'mariadb',
      [
        '--no-defaults',
        '-h127.0.0.1',
        `-P${String(port)}`,
        `-u${ADMIN}`,
        '-NBe',
        statement,
        ...(database === undefined ? [] : [database]),
      ],
      { env: plainEnv({ MYSQL_PWD: PASSWORD }), stdio: ['ignore', 'pipe', 'pipe'] },
    )
      .toString()
      .trim();
  const hold = (name: string, table: string): Daemon =>
    daemon(
      [
        ...[
          'mariadb',
          '--no-defaults',
          '-h127.0.0.1',
          `-P${String(port)}`,
          `-u${ADMIN}`,
          name,
          '-e',
        ],
        `START TRANSACTION; SELECT * FROM ${table}; SELECT SLEEP(600)`,
      ],
      { MYSQL_PWD: PASSWORD },
    );
  await eventually('MariaDB answers', () => sql('SELECT 1') === '1');
  return {
    type: 'mariadb',
    port,
    adminUser: ADMIN,
    adminPassword: PASSWORD,
    sql,
    hold,
    stop: started.stop,
  };
}

export async function startPostgres(): Promise<Database> {
  const bin = dirname(required('postgres'));
  const directory = temporaryDirectory();
  const data = join(directory, 'data');
  const user = account('postgres');
  mkdirSync(data);
  writeFileSync(join(directory, 'password'), PASSWORD);
  if (user !== undefined) execFileSync('chown', ['-R', 'postgres', directory]);
  execFileSync(
    join(bin, 'initdb'),
    ['-D', data, '-U', ADMIN, '-A', 'scram-sha-256', `--pwfile=${join(directory, 'password')}`],
    { env: plainEnv({}), stdio: 'ignore', cwd: '/', ...user },
  );
  const port = await freePort();
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
      '-c',
      'fsync=off',
    ],
    {},
    user,
  );
  const login = ['-h', '127.0.0.1', '-p', String(port), '-U', ADMIN];
  const sql = (statement: string, database = 'postgres'): string =>
    execFileSync(join(bin, 'psql'), [...login, '-d', database, '-AtF', '\t', '-c', statement], {
      env: plainEnv({ PGPASSWORD: PASSWORD }),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
      .toString()
      .trim();
  const hold = (name: string, table: string): Daemon =>
    daemon(
      [
        ...[join(bin, 'psql'), ...login, '-d', name, '-c'],
        `SELECT count(*) FROM ${table}; SELECT pg_sleep(600)`,
      ],
      { PGPASSWORD: PASSWORD },
    );
  await eventually('PostgreSQL answers', () => sql('SELECT 1') === '1');
  // A fast shutdown: SIGTERM would wait for the clients.
  return {
    type: 'postgres',
    port,
    adminUser: ADMIN,
    adminPassword: PASSWORD,
    sql,
    hold,
    stop: () => started.stop('SIGINT'),
  };
}
