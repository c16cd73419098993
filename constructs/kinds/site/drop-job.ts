import { Construct } from 'constructs';
import type * as k8s from '../../kit/k8s.js';
import type { BenchModel } from '../../frappe/bench-model.js';
import { NO_TLS, tlsPod } from '../../frappe/database-tls.js';
import { FrappeJob } from '../../frappe/job.js';
import { jobCommand } from '../../frappe/pod.js';
import { siteNames } from '../../kit/names.js';
import type { AppSite } from '../../api/site.js';
import type { SiteDatabasePlan } from './database.js';
import { databaseAdmin } from './database-admin.js';
import { otherServer } from './database-status.js';
import { identity } from './job-environment.js';

export interface SiteDropProps {
  readonly site: AppSite;
  readonly bench: BenchModel;
  readonly database: SiteDatabasePlan;
  /** Whether the volume of the site's files is being deleted. */
  readonly filesDeleted: boolean;
}

/** The Job that removes a site's database and files, or disables the site where they are kept. */
export class SiteDrop extends Construct {
  constructor(scope: Construct, id: string, props: SiteDropProps) {
    super(scope, id);
    const { site, bench, database, filesDeleted } = props;
    const drops = site.spec.deletionPolicy === 'Delete';
    // A prepared database belongs to its creator; a dedicated server is deleted as a whole.
    const admin = databaseAdmin(
      site,
      database,
      drops && database.mode === 'shared' ? 'Drop' : 'None',
    );
    const tls = admin.containers.length > 0 ? tlsPod(database.server) : NO_TLS;
    new FrappeJob(this, 'job', {
      bench,
      owner: site,
      name: siteNames(site.metadata.name).drop,
      component: 'drop',
      taskHash: filesDeleted
        ? `${site.spec.deletionPolicy} without files`
        : site.spec.deletionPolicy,
      withoutSites: filesDeleted,
      initContainers: admin.containers,
      extraVolumes: [...admin.volumes, ...tls.volumes],
      container: {
        name: 'drop',
        command: jobCommand('site_drop.py'),
        env: [
          ...identity(site, database),
          ...tls.env,
          ...(drops ? [] : [{ name: 'KEEP_DATA', value: '1' }]),
          ...admin.env,
          ...(drops && site.status?.appliedHash !== undefined
            ? [{ name: 'WAS_READY', value: '1' }]
            : []),
          ...(admin.containers.length > 0 ? recordedServerEnv(site, database) : []),
        ],
        extraMounts: [...admin.mounts, ...tls.mounts],
      },
    });
  }
}

/** The server of the site's database according to its status, if the bench names another one now. */
function recordedServerEnv(site: AppSite, database: SiteDatabasePlan): readonly k8s.EnvVar[] {
  const recorded = otherServer(site, database);
  if (!recorded) return [];
  return [
    { name: 'DB_RECORDED_HOST', value: recorded.host },
    { name: 'DB_RECORDED_PORT', value: String(recorded.port) },
  ];
}
