import type { E2e } from '../harness.js';
import { type ServerPod, sql } from './database-client.js';

/** As an administrator, in the server's pod; the name of the database is `$1`. */
const DUMPS = {
  mariadb: `export MYSQL_PWD=$MARIADB_ROOT_PASSWORD; database=$1; shift
    exec mariadb-dump --no-defaults --socket=/run/mysqld/mysqld.sock --user=root --routines --events --triggers \
      --skip-comments --skip-extended-insert --hex-blob --order-by-primary "$database" "$@"`,
  postgres: `PGPASSWORD=$POSTGRES_PASSWORD exec pg_dump --host=127.0.0.1 --username=postgres \
    --exclude-table='public.tab*' --exclude-table='public.__*' "$1"`,
} as const;

/** What runs as the site's user, whose password is the first line of the input. */
const CLIENTS = {
  mariadb: `read -r MYSQL_PWD; export MYSQL_PWD
    exec mariadb --no-defaults --host=127.0.0.1 --skip-ssl --user="$1" --default-character-set=utf8mb4 "$1"`,
  postgres: `read -r PGPASSWORD; export PGPASSWORD
    exec psql --host=127.0.0.1 --username="$1" --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --output=/dev/null "$1"`,
} as const;

/** Runs statements as the user of a site, whose name is that of the database. */
export async function asSite(
  cluster: E2e,
  { namespace, pod, provider }: ServerPod,
  { database, password }: { readonly database: string; readonly password: string },
  statements: string,
): Promise<void> {
  const command = ['sh', '-c', CLIENTS[provider], 'sh', database];
  await cluster.exec(namespace, pod, command, { input: `${password}\n${statements}` });
}

/**
 * All definitions and rows of a database without the framework's tables, in which each Job writes; with
 * the name of the database, and of its user, as `DATABASE`.
 */
export async function contentOf(
  cluster: E2e,
  server: ServerPod,
  database: string,
): Promise<readonly string[]> {
  const { namespace, pod, provider } = server;
  const tables = provider === 'mariadb' ? await ownTables(cluster, server, database) : [];
  const command = ['sh', '-c', DUMPS[provider], 'sh', database, ...tables];
  const dump = await cluster.exec(namespace, pod, command);
  return dump
    .replaceAll(database, 'DATABASE')
    .replaceAll(/ AUTO_INCREMENT=\d+/g, '')
    .replaceAll(/^\\(?:un)?restrict .*\n|^-- .*\n/gm, '')
    .split('\n')
    .filter((line) => !['', '--'].includes(line));
}

/** Tables and views that are not the framework's. */
function ownTables(cluster: E2e, server: ServerPod, database: string): Promise<string[]> {
  const own = String.raw`table_name NOT LIKE 'tab%' AND table_name NOT LIKE '\_\_%'`;
  const all = `SELECT table_name FROM information_schema.tables WHERE table_schema = '${database}'`;
  return sql(cluster, server, `${all} AND ${own} ORDER BY 1`);
}

/** Names and checksums of the tables of a MariaDB database, without sessions and passwords. */
export async function checksumsOf(
  cluster: E2e,
  server: ServerPod,
  database: string,
): Promise<string[]> {
  const tables = await sql(
    cluster,
    server,
    `SELECT table_name FROM information_schema.tables WHERE table_schema = '${database}' AND table_name NOT IN ('tabSessions', '__Auth') ORDER BY 1`,
  );
  const names = tables.map((table) => `\`${table}\``).join(', ');
  const rows = await sql(cluster, server, `USE \`${database}\`; CHECKSUM TABLE ${names}`);
  return rows.map((row) => row.replace(`${database}.`, ''));
}
