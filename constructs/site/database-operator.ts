import type { ConditionResult } from '../kit/condition.js';
import { Waiting } from '../kit/errors.js';
import type { Observation, ClusterReader } from '../kit/kind.js';
import { siteNames } from '../kit/names.js';
import {
  MariaDbDatabase,
  MariaDbGrant,
  MariaDbUser,
  PostgresDatabase,
  PostgresRole,
  type ObjectKind,
} from '../kit/object-kind.js';
import type { AppSite } from './api.js';
import type { SiteDatabasePlan } from './database.js';

/** What a database operator makes a site's database of, in the order in which it can. */
const KINDS: Readonly<Record<'mariadb' | 'postgres', readonly ObjectKind[]>> = {
  mariadb: [MariaDbDatabase, MariaDbUser, MariaDbGrant],
  postgres: [PostgresRole, PostgresDatabase],
};

const INSTALL = {
  mariadb: 'the MariaDB operator',
  postgres: 'CloudNativePG 1.30 or newer',
};

/** @throws Waiting where the cluster does not serve what a site's database is made of */
export function requireDatabaseOperator(provider: keyof typeof KINDS, reader: ClusterReader): void {
  const missing = KINDS[provider].find((kind) => !reader.serves(kind));
  if (!missing) return;
  throw new Waiting(
    'DatabaseOperatorMissing',
    `spec.dbConfig.mode: the cluster does not serve ${missing.kind} of ${missing.apiVersion}: install ${INSTALL[provider]}`,
  );
}

interface Inputs {
  readonly database: SiteDatabasePlan;
  readonly serverTrouble: string | undefined;
}

/** How far the database operator is with the site's database; nothing in other modes. */
export function databaseCondition<F extends Inputs>({
  resource,
  inputs: { database, serverTrouble },
  child,
}: Pick<Observation<AppSite, F>, 'resource' | 'inputs' | 'child'>): readonly ConditionResult[] {
  if (database.mode !== 'operator') return [];
  const { database: name } = siteNames(resource.metadata.name);
  for (const { kind } of KINDS[database.server.provider]) {
    const health = child(kind, name)?.health;
    if (health?.state === 'Ready') continue;
    // Operators say nothing of what they make before the server is ready.
    if (serverTrouble !== undefined && (!health || health.unobserved || health.reason)) {
      return [conditionResult('DatabaseServerNotReady', 'False', serverTrouble)];
    }
    const message = `${kind} ${name}: ${health?.message ?? 'not created yet'}`;
    return [conditionResult(health?.reason ?? 'Preparing', 'False', message)];
  }
  return [conditionResult('Prepared', 'True', `database ${database.name} and its user are there`)];
}

function conditionResult(
  reason: string,
  status: ConditionResult['status'],
  message: string,
): ConditionResult {
  return { type: 'DatabaseReady', status, reason, message };
}
