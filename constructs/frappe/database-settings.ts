import type { DatabaseSettings, Resources } from '../kit/api.js';
import type { Problem } from '../kit/errors.js';
import { bytesOf } from '../kit/quantity.js';

type Provider = 'mariadb' | 'postgres';

const MIB = 2 ** 20;

/**
 * The keys that may be set. They change how fast, how much or how long: none that names a file,
 * a port, a program, a plugin, a user or a way to log in, and none that the framework relies on.
 */
const ALLOWED: Readonly<Record<Provider, readonly string[]>> = {
  // prettier-ignore
  mariadb: [
    'back_log', 'connect_timeout', 'group_concat_max_len', 'idle_transaction_timeout',
    'innodb_buffer_pool_size', 'innodb_flush_log_at_trx_commit', 'innodb_flush_neighbors',
    'innodb_ft_min_token_size', 'innodb_io_capacity', 'innodb_io_capacity_max',
    'innodb_lock_wait_timeout', 'innodb_log_buffer_size', 'innodb_log_file_size',
    'innodb_print_all_deadlocks', 'innodb_purge_threads', 'innodb_read_io_threads',
    'innodb_write_io_threads', 'interactive_timeout', 'join_buffer_size', 'key_buffer_size',
    'lock_wait_timeout', 'log_queries_not_using_indexes', 'log_slow_verbosity',
    'long_query_time', 'max_allowed_packet', 'max_connections', 'max_heap_table_size',
    'max_statement_time', 'min_examined_row_limit', 'net_buffer_length', 'net_read_timeout',
    'net_write_timeout', 'open_files_limit', 'optimizer_search_depth', 'performance_schema',
    'query_cache_limit', 'query_cache_size', 'query_cache_type', 'read_buffer_size',
    'read_rnd_buffer_size', 'slow_query_log', 'sort_buffer_size', 'table_definition_cache',
    'table_open_cache', 'thread_cache_size', 'thread_pool_size', 'tmp_table_size',
    'wait_timeout',
  ],
  // prettier-ignore
  postgres: [
    'autovacuum_analyze_scale_factor', 'autovacuum_max_workers', 'autovacuum_naptime',
    'autovacuum_vacuum_cost_delay', 'autovacuum_vacuum_cost_limit',
    'autovacuum_vacuum_scale_factor', 'autovacuum_work_mem', 'checkpoint_completion_target',
    'checkpoint_timeout', 'deadlock_timeout', 'default_statistics_target',
    'effective_cache_size', 'effective_io_concurrency', 'idle_in_transaction_session_timeout',
    'idle_session_timeout', 'jit', 'lock_timeout', 'log_autovacuum_min_duration',
    'log_checkpoints', 'log_lock_waits', 'log_min_duration_statement', 'log_temp_files',
    'maintenance_io_concurrency', 'maintenance_work_mem', 'max_connections',
    'max_locks_per_transaction', 'max_parallel_maintenance_workers', 'max_parallel_workers',
    'max_wal_size', 'max_worker_processes', 'min_wal_size',
    'random_page_cost', 'seq_page_cost', 'shared_buffers', 'statement_timeout',
    'synchronous_commit', 'tcp_keepalives_count', 'tcp_keepalives_idle',
    'tcp_keepalives_interval', 'temp_buffers', 'temp_file_limit', 'track_io_timing',
    'wal_buffers', 'wal_compression', 'work_mem',
  ],
};

/** The memory of the server's own cache: its key, its part of the memory limit, and its unit. */
const CACHE: Readonly<
  Record<Provider, { readonly key: string; readonly part: number; readonly unit: string }>
> = {
  mariadb: { key: 'innodb_buffer_pool_size', part: 0.5, unit: 'M' },
  postgres: { key: 'shared_buffers', part: 0.25, unit: 'MB' },
};

/** The settings of a server that the operator runs: what the user sets, and the cache by the memory limit. */
export function databaseSettings(
  provider: Provider,
  settings: DatabaseSettings | undefined,
  resources: Resources | undefined,
): Readonly<Record<string, string>> {
  const { key, part, unit } = CACHE[provider];
  const limit = resources?.limits?.['memory'];
  const cache = limit === undefined ? 0 : Math.floor((bytesOf(limit) * part) / MIB);
  const all = { ...(cache > 0 ? { [key]: `${cache}${unit}` } : {}), ...settings };
  return Object.fromEntries(Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Settings as arguments of the server. */
export function settingArguments(
  provider: Provider,
  settings: Readonly<Record<string, string>>,
): readonly string[] {
  return Object.entries(settings).flatMap(([key, value]) =>
    provider === 'mariadb' ? [`--${key}=${value}`] : ['-c', `${key}=${value}`],
  );
}

/** The keys that may not be set. */
export function settingProblems(
  provider: Provider,
  settings: DatabaseSettings | undefined,
): readonly Problem[] {
  const server = provider === 'mariadb' ? 'MariaDB' : 'PostgreSQL';
  return Object.keys(settings ?? {})
    .filter((key) => !ALLOWED[provider].includes(key))
    .sort()
    .map((key) => ({
      path: `spec.dbConfig.settings[${key}]`,
      message: `Unsupported value: "${key}": ${other(provider, key) ?? `this setting of ${server} cannot be set`}; ${near(provider, key)}`,
    }));
}

function other(provider: Provider, key: string): string | undefined {
  if (ALLOWED[provider].includes(key.replaceAll('-', '_').toLowerCase())) {
    return `write it as ${key.replaceAll('-', '_').toLowerCase()}`;
  }
  const [name, keys] =
    provider === 'mariadb' ? ['PostgreSQL', ALLOWED.postgres] : ['MariaDB', ALLOWED.mariadb];
  return keys.includes(key) ? `it is a setting of ${name}` : undefined;
}

/** The allowed keys with the same first word. */
function near(provider: Provider, key: string): string {
  const [word = ''] = key.split(/[_-]/);
  const similar = ALLOWED[provider].filter((name) => name.startsWith(`${word}_`));
  return similar.length > 0
    ? `allowed are: ${similar.join(', ')}`
    : 'allowed are those in "Settings of a managed server" of docs/databases.md';
}
