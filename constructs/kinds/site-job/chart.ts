import { Chart } from 'cdk8s';
import type { Construct } from 'constructs';
import type * as k8s from '../../kit/k8s.js';
import { FrappeCronJob, FrappeJob, type FrappeJobProps } from '../../frappe/job.js';
import { jobCommand } from '../../frappe/pod.js';
import type { SiteModel } from '../../frappe/site-model.js';
import { parseDuration } from '../../kit/duration.js';
import { canonicalJson } from '../../kit/json/hash.js';
import type { ChartProps } from '../../kit/kind.js';
import { Stage } from '../../kit/synth.js';
import type { SiteJob } from '../../api/site-job.js';
import { siteJobNames } from './names.js';
import type { SiteJobInputs } from './resolve.js';

/** For a pod to start and, where it has failed, until the next one does. */
const STARTING_SECONDS = 1200;

/** What runs in the site: a Job, or a CronJob. */
export class SiteJobChart extends Chart {
  constructor(
    scope: Construct,
    id: string,
    { resource, inputs }: ChartProps<SiteJob, SiteJobInputs>,
  ) {
    super(scope, id, { disableResourceNameHashes: true });
    const { site, blocked } = inputs;
    if (!site) return;
    const { spec } = resource;
    const job = jobProps(resource, site, inputs);
    if (spec.schedule === undefined) {
      new FrappeJob(new Stage(this, 'run', { blocked: whyNot(inputs) }), 'job', job);
      return;
    }
    new FrappeCronJob(new Stage(this, 'schedule'), 'cron-job', {
      ...job,
      schedule: spec.schedule,
      timeZone: spec.timeZone,
      suspend: spec.suspend === true || blocked !== undefined,
      startingDeadlineSeconds:
        spec.startingDeadline === undefined ? undefined : secondsOf(spec.startingDeadline),
      concurrencyPolicy: spec.concurrencyPolicy,
      successfulJobsHistoryLimit: spec.successfulJobsHistoryLimit,
      failedJobsHistoryLimit: spec.failedJobsHistoryLimit,
    });
  }
}

/** Why the Job of a single run is not created. */
function whyNot({ ended, started, blocked }: SiteJobInputs): string | undefined {
  if (ended) return 'it has been done';
  return started ? 'it has begun' : blocked?.message;
}

function jobProps(job: SiteJob, site: SiteModel, { taskHash }: SiteJobInputs): FrappeJobProps {
  const { spec, metadata } = job;
  const timeout = secondsOf(spec.timeout);
  return {
    bench: site.bench,
    owner: job,
    name: siteJobNames(metadata.name).run,
    component: 'job',
    taskHash,
    once: true,
    backoffLimit: spec.backoffLimit,
    // The script enforces the timeout; this deadline is for pods that do not start, or do not end.
    deadlineSeconds: (timeout + STARTING_SECONDS) * (spec.backoffLimit + 1),
    deadlineField: 'spec.timeout',
    container: {
      name: 'job',
      command: jobCommand('site_job.py'),
      env: [
        { name: 'SITE_NAME', value: site.siteName },
        { name: 'IMAGE', value: site.bench.image.reference },
        ...(spec.command ? [jsonEnv('JOB_COMMAND', spec.command)] : []),
        ...(spec.method === undefined ? [] : [{ name: 'JOB_METHOD', value: spec.method }]),
        ...(spec.kwargs ? [jsonEnv('JOB_KWARGS', spec.kwargs)] : []),
        { name: 'TIMEOUT_SECONDS', value: String(timeout) },
      ],
      resources: spec.resources,
    },
  };
}

/** The kubelet replaces `$(NAME)` in values, so there is no `$` in them. */
function jsonEnv(name: string, value: unknown): k8s.EnvVar {
  return { name, value: canonicalJson(value).replaceAll('$', String.raw`\u0024`) };
}

/** Of a length of time that the schema has accepted. */
function secondsOf(duration: string): number {
  return (parseDuration(duration) ?? 0) / 1000;
}
