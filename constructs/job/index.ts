import type { Kind } from '../kit/kind.js';
import { CronJob, Job } from '../kit/object-kind.js';
import type { SiteJob } from './api.js';
import { SiteJobChart } from './chart.js';
import { siteJob } from './definition.js';
import { gatherJob, type SiteJobFacts } from './facts.js';
import { observeJob } from './observe.js';

/** Something that runs in a site. */
export const job: Kind<SiteJob, SiteJobFacts> = {
  definition: siteJob,
  owns: [Job, CronJob],
  reads: [],
  indexes: [],
  gather: gatherJob,
  chart: (scope, id, props) => new SiteJobChart(scope, id, props),
  readsRuns: () => true,
  probes: () => [],
  observe: observeJob,
  // What has been run cannot be taken back, and its Jobs go with it.
  teardown: { needed: () => false, blockers: () => undefined, chart: () => undefined },
};
