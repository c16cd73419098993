import type { Child } from './child.js';
import type { OperatorMetrics } from '../telemetry/metrics.js';

const JOB_STATES = {
  Ready: 'Succeeded',
  Failed: 'Failed',
  InProgress: 'Active',
  Terminating: 'Active',
  Missing: 'Active',
} as const;

/** Updates `app_operator_job_status` from a changed child that is a Job. */
export function countJob(
  metrics: OperatorMetrics,
  before: Child | undefined,
  after: Child | undefined,
): void {
  const job = after ?? before;
  if (job?.kind.kind !== 'Job') return;
  metrics.job(job.namespace, job.name, after && JOB_STATES[after.health.state]);
}
