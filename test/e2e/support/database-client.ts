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
): Promise<readonly string[]> {
  // The name is an argument of the shell, not a part of its text.
  const script = `${CLIENTS[provider]} ${database === undefined ? '' : '"$1"'}`;
  const command = ['sh', '-c', script, 'sh', ...(database === undefined ? [] : [database])];
  const rows = await cluster.exec(namespace, pod, command, { input: statements });
  return rows.split('\n').filter((line) => line !== '');
}
