import { SITE_REASONS } from '../../frappe/reasons.js';
import type { Reasons } from '../../kit/reasons.js';

/** Reasons of the conditions of a SiteJob. */
export const jobReasons = {
  ...SITE_REASONS,
  Provisioning: 'progress',
  Running: 'progress',
  Succeeded: 'success',
  Terminated: 'failure',
  Scheduled: 'success',
  Suspended: 'success',
} as const satisfies Reasons;
