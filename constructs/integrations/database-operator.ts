import type { DatabaseOperator } from '../kit/database-operator.js';
import type { Integration } from '../kit/integration.js';
import { INTEGRATIONS } from './index.js';

/** The database operator that makes databases on a kind of server. */
export function databaseOperator(
  provider: DatabaseOperator['provider'],
  integrations: readonly Integration[] = INTEGRATIONS,
): DatabaseOperator {
  const found = integrations.find(({ database }) => database?.provider === provider)?.database;
  if (!found) throw new Error(`no integration has a database operator for ${provider}`);
  return found;
}
