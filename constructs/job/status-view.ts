import type { StatusView } from '../kit/status-view.js';
import type { SiteJob } from './api.js';

export const jobStatusView: StatusView<SiteJob> = {
  details: ({ spec }) => ({ schedule: spec.schedule }),
  columns: ({ schedule }) => (typeof schedule === 'string' ? [{ text: `"${schedule}"` }] : []),
};
