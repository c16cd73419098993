import type { Verdict } from '../kit/condition.js';
import { Waiting } from '../kit/errors.js';
import type { Observation, World } from '../kit/kind.js';
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
export function requireDatabaseOperator(provider: keyof typeof KINDS, world: World): void {
  const missing = KINDS[provider].find((kind) => !world.serves(kind));
  if (!missing) return;
  throw new Waiting(
    'DatabaseOperatorMissing',
    `spec.dbConfig.mode: the cluster does not serve ${missing.kind} of ${missing.apiVersion}: install ${INSTALL[provider]}`,
  );
}

interface Facts {
  readonly database: SiteDatabasePlan;
  readonly serverTrouble: string | undefined;
}

/** How far the database operator is with the site's database; nothing in other modes. */
export function databaseCondition<F extends Facts>({
  resource,
  facts: { database, serverTrouble },
  child,
}: Pick<Observation<AppSite, F>, 'resource' | 'facts' | 'child'>): readonly Verdict[] {
  if (database.mode !== 'operator') return [];
  const { database: name } = siteNames(resource.metadata.name);
  for (const { kind } of KINDS[database.server.provider]) {
    const health = child(kind, name)?.health;
    if (health?.state === 'Ready') continue;
    // Operators say nothing of what they make before the server is ready.
    if (serverTrouble !== undefined && (!health || health.unseen || health.reason)) {
      return [verdict('DatabaseServerNotReady', 'False', serverTrouble)];
    }
    const message = `${kind} ${name}: ${health?.message ?? 'not created yet'}`;
    return [verdict(health?.reason ?? 'Preparing', 'False', message)];
  }
  return [verdict('Prepared', 'True', `database ${database.name} and its user are there`)];
}

function verdict(reason: string, status: Verdict['status'], message: string): Verdict {
  return { type: 'DatabaseReady', status, reason, message };
}
