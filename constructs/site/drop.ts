import { Construct } from 'constructs';
import type { BenchModel } from '../frappe/bench-model.js';
import { FrappeJob } from '../frappe/job.js';
import { PYTHON } from '../frappe/pod.js';
import { SCRIPTS_DIR } from '../kit/constants.generated.js';
import { siteNames } from '../kit/names.js';
import type { AppSite } from './api.js';
import type { SiteDatabasePlan } from './database.js';
import { identity, rootEnv } from './job-environment.js';

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
    new FrappeJob(this, 'job', {
      bench,
      owner: site,
      name: siteNames(site.metadata.name).drop,
      component: 'drop',
      run: filesDeleted ? `${site.spec.deletionPolicy} without files` : site.spec.deletionPolicy,
      withoutSites: filesDeleted,
      container: {
        name: 'drop',
        command: [PYTHON, `${SCRIPTS_DIR}/site_drop.py`],
        env: [
          ...identity(site, database),
          ...(drops ? [] : [{ name: 'KEEP_DATA', value: '1' }]),
          // A prepared database belongs to its creator; a dedicated server is deleted as a whole.
          ...(drops && database.mode === 'shared' ? rootEnv(database.server) : []),
          ...(drops && site.status?.appliedHash !== undefined
            ? [{ name: 'WAS_READY', value: '1' }]
            : []),
        ],
        resources: bench.componentResources.workerDefault,
      },
    });
  }
}
