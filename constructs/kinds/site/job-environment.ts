import type * as k8s from '../../kit/k8s.js';
import type { DatabaseServer } from '../../frappe/database.js';
import { secretEnv } from '../../frappe/pod.js';
import { siteEnv } from '../../frappe/site-model.js';
import type { AppSite } from '../../api/site.js';
import type { SiteDatabasePlan } from './database.js';

/** What every Job of a site reads: the site and its database. */
export function identity(
  { metadata: { name, namespace = 'default' }, spec }: AppSite,
  { server, name: database }: SiteDatabasePlan,
): k8s.EnvVar[] {
  return [
    ...siteEnv({ name, namespace, siteName: spec.siteName }),
    { name: 'DB_TYPE', value: server.provider },
    { name: 'DB_HOST', value: server.host },
    { name: 'DB_PORT', value: String(server.port) },
    { name: 'DB_NAME', value: database },
    { name: 'DB_USER', value: database },
  ];
}

/** The administrator's login of a database server, where the operator has one. */
export function rootEnv({ root }: DatabaseServer): k8s.EnvVar[] {
  if (!root) return [];
  return [
    typeof root.user === 'string'
      ? { name: 'DB_ROOT_USER', value: root.user }
      : secretEnv('DB_ROOT_USER', root.user, true),
    secretEnv('DB_ROOT_PASSWORD', root.password),
  ];
}
