import { migrationsOfSite } from '../../frappe/indexes.js';
import { SITE_REFERENCE } from '../../frappe/reasons.js';
import type { Kind } from '../../kit/kind.js';
import { CronJob, Job } from '../../kit/object-kind.js';
import type { SiteJob } from '../../api/site-job.js';
import { SiteJobChart } from './chart.js';
import { siteJob } from './definition.js';
import { resolveJob, type SiteJobInputs } from './resolve.js';
import { evaluateJob } from './evaluate.js';
import { jobStatusView } from './status-view.js';
import { jobReasons } from './reasons.js';

/** Something that runs in a site. */
export const job: Kind<SiteJob, SiteJobInputs> = {
  definition: siteJob,
  owns: [Job, CronJob],
  reads: [],
  references: [SITE_REFERENCE],
  reasons: jobReasons,
  durableStatus: ['specHash', 'startTime', 'completionTime', 'lastSuccessfulTime'],
  recordedStatus: ['specHash', 'job', 'startTime', 'completionTime', 'exitCode', 'refusedJob'],
  lastSuccess: 'lastSuccessfulTime',
  indexes: [migrationsOfSite],
  resolve: resolveJob,
  chart: (scope, id, props) => new SiteJobChart(scope, id, props),
  readsRuns: () => true,
  probes: () => [],
  evaluate: evaluateJob,
  // What has been run cannot be taken back, and its Jobs go with it.
  cleanup: { needed: () => false, blockers: () => undefined, chart: () => undefined },
  statusView: jobStatusView,
};
