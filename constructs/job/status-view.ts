import { siteParent, type StatusView } from '../kit/status-view.js';
import type { SiteJob } from './api.js';

export const jobStatusView: StatusView<SiteJob> = {
  parent: siteParent,
  details: ({ spec }) => ({ schedule: spec.schedule }),
  columns: ({ schedule }) => (typeof schedule === 'string' ? [{ text: `"${schedule}"` }] : []),
};
