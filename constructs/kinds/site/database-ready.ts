import { databaseOperator } from '../../integrations/index.js';
import { conditionResult, type ConditionResult } from '../../kit/condition.js';
import { Waiting } from '../../kit/errors.js';
import type { Health } from '../../kit/health.js';
import type { Observation, ClusterReader } from '../../kit/kind.js';
import { siteNames } from '../../kit/names.js';
import type { AppSite } from '../../api/site.js';
import type { SiteDatabasePlan } from './database.js';

/** @throws Waiting where the cluster does not serve the kinds of a site's database */
export function requireDatabaseOperator(
  provider: 'mariadb' | 'postgres',
  reader: ClusterReader,
): void {
  const { databaseKinds, install } = databaseOperator(provider);
  const missing = databaseKinds.find((kind) => !reader.serves(kind));
  if (!missing) return;
  throw new Waiting(
    'DatabaseOperatorMissing',
    `spec.dbConfig.mode: the cluster does not serve ${missing.kind} of ${missing.apiVersion}: install ${install}`,
  );
}

interface Inputs {
  readonly data: { readonly database: SiteDatabasePlan };
  /** Why the server of a database operator is not ready, in that operator's words. */
  readonly serverNotReady: string | undefined;
}

/** The progress of the database operator with the site's database; none in other modes. */
export function databaseCondition({
  resource,
  inputs,
  child,
}: Pick<
  Observation<AppSite, Inputs>,
  'resource' | 'inputs' | 'child'
>): readonly ConditionResult[] {
  const { serverNotReady } = inputs;
  const { database } = inputs.data;
  if (database.mode !== 'operator') return [];
  const { database: name } = siteNames(resource.metadata.name);
  const { databaseKinds } = databaseOperator(database.server.provider);
  const pending = databaseKinds
    .map(({ kind }) => ({ kind, health: child(kind, name)?.health }))
    .find(({ health }) => health?.state !== 'Ready');
  if (!pending) {
    return [
      conditionResult(
        'DatabaseReady',
        'True',
        'Prepared',
        `database ${database.name} and its user exist`,
      ),
    ];
  }
  const { kind, health } = pending;
  if (serverNotReady !== undefined && !reportsProgress(health)) {
    return [conditionResult('DatabaseReady', 'False', 'DatabaseServerNotReady', serverNotReady)];
  }
  const message = `${kind} ${name}: ${health?.message ?? 'not created yet'}`;
  return [conditionResult('DatabaseReady', 'False', health?.reason ?? 'Preparing', message)];
}

/** Operators report nothing of a database before its server is ready. */
function reportsProgress(health: Health | undefined): boolean {
  return health !== undefined && !health.unobserved && !health.reason;
}
