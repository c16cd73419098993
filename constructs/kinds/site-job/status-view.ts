import type { StatusView } from '../../kit/status-view.js';
import type { SiteJob } from '../../api/site-job.js';

export const jobStatusView: StatusView<SiteJob> = {
  details: ({ spec }) => ({ schedule: spec.schedule }),
  columns: ({ schedule }) => (typeof schedule === 'string' ? [{ text: `"${schedule}"` }] : []),
};
