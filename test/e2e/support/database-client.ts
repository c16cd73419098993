import type { E2e } from '../harness.js';

/**
 * The client of each provider, in the server's pod, as its administrator. The password is in the
 * container's environment.
 */
const CLIENTS = {
  mariadb:
    'MYSQL_PWD=$MARIADB_ROOT_PASSWORD exec mariadb --no-defaults --socket=/run/mysqld/mysqld.sock --user=root --batch --skip-column-names',
  postgres:
    'PGPASSWORD=$POSTGRES_PASSWORD exec psql --host=127.0.0.1 --username=postgres --no-psqlrc --quiet --tuples-only --no-align --set=ON_ERROR_STOP=1',
} as const;

/** A database server that runs in a pod. */
export interface ServerPod {
  readonly namespace: string;
  readonly pod: string;
  readonly provider: keyof typeof CLIENTS;
}

/**
 * Runs statements as the server's administrator, on one of its databases where one is named;
 * returns the rows as lines.
 */
export async function sql(
  cluster: E2e,
  { namespace, pod, provider }: ServerPod,
  statements: string,
  database?: string,
): Promise<string[]> {
  // The name is an argument of the shell, not a part of its text.
  const script = `${CLIENTS[provider]} ${database === undefined ? '' : '"$1"'}`;
  const command = ['sh', '-c', script, 'sh', ...(database === undefined ? [] : [database])];
  const rows = await cluster.exec(namespace, pod, command, { input: statements });
  return rows.split('\n').filter((line) => line !== '');
}

/** A login over the network, from a pod that has the server's client. */
export interface Login {
  readonly provider: keyof typeof CLIENTS;
  readonly host: string;
  readonly password: string;
  readonly encrypted: boolean;
}

/** Each gets the host and the option. The password is on standard input, in no argument. */
const LOGINS = {
  mariadb: {
    script:
      'exec mariadb --defaults-file=/dev/stdin "$2" --host="$1" --user=root --skip-column-names --execute="SELECT 1"',
    input: (password: string) => `[client]\npassword=${password}\n`,
    encrypted: '--ssl',
    clear: '--skip-ssl',
  },
  postgres: {
    script:
      'read -r PGPASSWORD; export PGPASSWORD; exec psql "host=$1 user=postgres dbname=postgres $2" --tuples-only --no-align --command="SELECT 1"',
    input: (password: string) => `${password}\n`,
    encrypted: 'sslmode=require',
    clear: 'sslmode=disable',
  },
} as const;

/** How a server that takes encrypted connections only refuses the others. This MariaDB names no other reason. */
export const REFUSED_IN_CLEAR_TEXT = {
  mariadb: /Access denied for user 'root'/,
  postgres: /no encryption/,
} as const;

/** Logs in as the server's administrator from a pod of gunicorn. @returns the answer to `SELECT 1` */
export function logIn(
  cluster: E2e,
  namespace: string,
  pod: string,
  { provider, host, password, encrypted }: Login,
): Promise<string> {
  const { script, input, ...options } = LOGINS[provider];
  const option = encrypted ? options.encrypted : options.clear;
  return cluster.exec(namespace, pod, ['sh', '-c', script, 'sh', host, option], {
    container: 'gunicorn',
    input: input(password),
  });
}
