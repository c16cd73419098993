import type * as k8s from '../../kit/k8s.js';
import { tlsPod } from '../../frappe/database-tls.js';
import {
  type FrappeContainerProps,
  jobCommand,
  secretEnv,
  SECRETS_SIDECAR,
} from '../../frappe/pod.js';
import { DATABASE_ADMIN_DIR } from '../../kit/constants.generated.js';
import type { AppSite } from '../../api/site.js';
import type { SiteDatabasePlan } from './database.js';
import { identity, rootEnv } from './job-environment.js';

const VOLUME = 'database-admin';
const SOCKET: k8s.EnvVar = { name: 'DB_ADMIN_SOCKET', value: `${DATABASE_ADMIN_DIR}/socket` };
const MOUNT: k8s.VolumeMount = { name: VOLUME, mountPath: DATABASE_ADMIN_DIR };

const NONE: DatabaseAdmin = { containers: [], volumes: [], env: [], mounts: [] };

/** What a Job's pod has of the container that does the administrator's work. */
export interface DatabaseAdmin {
  readonly containers: readonly FrappeContainerProps[];
  readonly volumes: readonly k8s.Volume[];
  /** Of the Job's own container. */
  readonly env: readonly k8s.EnvVar[];
  readonly mounts: readonly k8s.VolumeMount[];
}

/**
 * The container with the administrator's login, see database_admin.py: it mounts no site. It runs
 * beside the Job's own container, which asks it to create, to drop, and to set the user's password.
 */
export function databaseAdmin(
  site: AppSite,
  database: SiteDatabasePlan,
  work: 'Create' | 'Drop' | 'None',
): DatabaseAdmin {
  const { server } = database;
  if (!server.root || work === 'None') return NONE;
  const tls = tlsPod(server);
  return {
    containers: [
      {
        name: 'database-admin',
        command: jobCommand('database_admin.py'),
        env: [
          ...identity(site, database),
          ...(work === 'Create' && database.password
            ? [secretEnv('DB_PASSWORD', database.password)]
            : []),
          ...rootEnv(server),
          ...tls.env,
          SOCKET,
        ],
        ...SECRETS_SIDECAR,
        extraMounts: [MOUNT, ...tls.mounts],
      },
    ],
    volumes: [{ name: VOLUME, emptyDir: {} }],
    env: [SOCKET],
    mounts: [MOUNT],
  };
}
