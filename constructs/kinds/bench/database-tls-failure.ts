import { sitesOfBench } from '../../frappe/indexes.js';
import type { BenchModel } from '../../frappe/bench-model.js';
import type { ConditionResult } from '../../kit/condition.js';
import type { ClusterReader } from '../../kit/kind.js';
import { keyOf } from '../../kit/object.js';
import type { AppSite } from '../../api/site.js';

/** The reason of a Job that makes no encrypted connection, with its message. */
const TLS_FAILED = /\bDatabaseTlsFailed: (.+?)(?: \(and \d+ more\))?$/s;

/** A site that makes no encrypted connection to the bench's server. */
export interface TlsFailure {
  readonly site: string;
  /** The server's address, and what is wrong: as in the status of the site. */
  readonly message: string;
}

/**
 * The first site, by name, that makes no encrypted connection to the bench's server. Only the Jobs
 * of sites log in there: the bench's own processes have no login.
 */
export function resolveTlsFailure(
  { name, namespace, database }: BenchModel,
  reader: ClusterReader,
): TlsFailure | undefined {
  if (!database.tls) return undefined;
  const failures = reader
    .list(sitesOfBench, keyOf(namespace, name), tlsFailureOf)
    .filter((failure) => failure !== undefined);
  return failures.sort((a, b) => (a.site < b.site ? -1 : 1))[0];
}

/** A constant function: see `ClusterReader.get`. */
function tlsFailureOf({ metadata, spec, status }: AppSite): TlsFailure | undefined {
  const { mode } = spec.dbConfig;
  if (mode === 'external' || mode === 'dedicated') return undefined;
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const [, message] = TLS_FAILED.exec(ready?.message ?? '') ?? [];
  return message === undefined ? undefined : { site: metadata.name, message };
}

/** The bench stays as it is: its sites keep the connections that they have. */
export function databaseCondition(failure: TlsFailure | undefined): readonly ConditionResult[] {
  if (!failure) return [];
  const message = `AppSite ${failure.site}: ${failure.message}`;
  return [{ type: 'DatabaseReady', status: 'False', reason: 'DatabaseTlsFailed', message }];
}
