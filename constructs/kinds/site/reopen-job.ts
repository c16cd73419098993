import { Construct } from 'constructs';
import { FrappeJob } from '../../frappe/job.js';
import { jobCommand } from '../../frappe/pod.js';
import { hashOf } from '../../kit/json/hash.js';
import { siteNames } from '../../kit/names.js';
import type { AppSite } from '../../api/site.js';
import { identity } from './job-environment.js';

import { siteConfig } from './site-config.js';
import type { SiteInitInputs } from './init-job.js';
import type { SiteUpgradeInputs } from './upgrade.js';

/** The Job that opens a site after its migration, when all its pods run the new image. */
export class SiteReopen extends Construct {
  constructor(
    scope: Construct,
    id: string,
    props: {
      readonly site: AppSite;
      readonly inputs: SiteInitInputs;
      readonly upgrade: SiteUpgradeInputs;
    },
  ) {
    super(scope, id);
    const { site, inputs, upgrade } = props;
    const { bench, data } = inputs;
    const config = siteConfig(site, inputs);
    new FrappeJob(this, 'job', {
      bench,
      owner: site,
      name: siteNames(site.metadata.name).reopen,
      component: 'reopen',
      taskHash: hashOf([upgrade.from, upgrade.to, config]),
      container: {
        name: 'reopen',
        command: jobCommand('site_reopen.py'),
        env: [
          ...identity(site, data.database),
          { name: 'IMAGE', value: bench.image.reference },
          { name: 'SITE_CONFIG', value: JSON.stringify(config) },
        ],
      },
    });
  }
}
