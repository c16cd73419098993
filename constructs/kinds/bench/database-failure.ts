import { sitesOfBench } from '../../frappe/indexes.js';
import type { BenchModel } from '../../frappe/bench-model.js';
import type { ConditionResult } from '../../kit/condition.js';
import type { ClusterReader } from '../../kit/kind.js';
import { keyOf } from '../../kit/object.js';
import type { AppSite } from '../../api/site.js';

/** The reasons of a Job that cannot use the bench's server, with its message. */
const FAILURES = [
  { reason: 'DatabaseTlsFailed', pattern: /\bDatabaseTlsFailed: (.+?)(?: \(and \d+ more\))?$/s },
  {
    reason: 'DatabaseUnsupported',
    pattern: /\bDatabaseUnsupported: (.+?)(?: \(and \d+ more\))?$/s,
  },
];

/** A site that cannot use the bench's server as it is. */
export interface DatabaseFailure {
  readonly site: string;
  readonly reason: string;
  /** The server's address, and what is wrong: as in the status of the site. */
  readonly message: string;
}

/**
 * The first site, by name, that cannot use the bench's server: its certificate is not trusted, or its
 * version does not fit the image. Only the Jobs of sites log in there: the bench's own processes
 * have no login.
 */
export function resolveDatabaseFailure(
  { name, namespace }: BenchModel,
  reader: ClusterReader,
): DatabaseFailure | undefined {
  const failures = reader
    .list(sitesOfBench, keyOf(namespace, name), failureOf)
    .filter((failure) => failure !== undefined);
  return failures.sort((a, b) => (a.site < b.site ? -1 : 1))[0];
}

/** A constant function: see `ClusterReader.get`. */
function failureOf({ metadata, spec, status }: AppSite): DatabaseFailure | undefined {
  const { mode } = spec.dbConfig;
  if (mode === 'external' || mode === 'dedicated') return undefined;
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const site = metadata.name;
  const [failure] = FAILURES.flatMap(({ reason, pattern }) => {
    const [, message] = pattern.exec(ready?.message ?? '') ?? [];
    return message === undefined ? [] : [{ site, reason, message }];
  });
  return failure;
}

/** The bench stays as it is: its sites keep the connections that they have. */
export function databaseCondition(
  failure: DatabaseFailure | undefined,
): readonly ConditionResult[] {
  if (!failure) return [];
  const { site, reason, message } = failure;
  return [
    { type: 'DatabaseReady', status: 'False', reason, message: `AppSite ${site}: ${message}` },
  ];
}
