import { DEFAULT_PORTS } from '../../frappe/bench-model.js';
import type { Observation } from '../../kit/kind.js';
import { siteNames } from '../../kit/names.js';
import type { AppSite, SiteDatabaseStatus } from '../../api/site.js';
import type { SiteDatabasePlan } from './database.js';

/**
 * The database in the status of a site. A site that was Ready keeps the server of its last init Job
 * that succeeded: after a change of the bench's server, its data may still be on the previous one.
 */
export function databaseStatus({
  resource: { metadata, status },
  inputs,
  child,
}: Pick<
  Observation<AppSite, { readonly data: { readonly database: SiteDatabasePlan } }>,
  'resource' | 'inputs' | 'child'
>): SiteDatabaseStatus {
  const { database } = inputs.data;
  const recorded = status?.appliedHash === undefined ? undefined : status.database;
  const init = child('Job', siteNames(metadata.name).init)?.health.state;
  if (recorded && init !== 'Ready') return recorded;
  const { provider, host, port, tls } = database.server;
  return { provider, host, port, name: database.name, ...(tls ? { tls: tls.mode } : {}) };
}

/**
 * The server that the status of a site names, if a Job would use another one. A site that was never
 * Ready has no database that its status proves, and earlier releases recorded no port.
 */
export function otherServer(
  { status }: AppSite,
  { server }: SiteDatabasePlan,
): { readonly host: string; readonly port: number } | undefined {
  if (status?.appliedHash === undefined || !status.database) return undefined;
  const { provider, host, port: recorded } = status.database;
  const unknown = provider === server.provider ? server.port : DEFAULT_PORTS[provider];
  const port = recorded ?? unknown;
  return host === server.host && port === server.port ? undefined : { host, port };
}
