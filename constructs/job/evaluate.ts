import type { ConditionResult } from '../kit/condition.js';
import type { JobRun, StatusResult, Observation } from '../kit/kind.js';
import type { SiteJob, SiteJobStatus } from './api.js';
import type { SiteJobInputs } from './resolve.js';
import { resultOf, type JobResult } from './result.js';

type Seen = Observation<SiteJob, SiteJobInputs>;
type Fields = Readonly<Partial<Record<keyof SiteJobStatus, unknown>>>;

/** The reason of a run that has done nothing, since it came when an upgrade had just begun. */
const SITE_CLOSED = 'SiteClosed';
const LINE = 300;

/** What a SiteJob says of itself. */
export function evaluateJob(observation: Seen): StatusResult {
  return observation.resource.spec.schedule === undefined
    ? evaluateOnce(observation)
    : evaluateSchedule(observation);
}

function evaluateOnce(observation: Seen): StatusResult {
  const { inputs, resource, runs } = observation;
  const run = runs.find((one) => one.run === inputs.run);
  if (!run && inputs.ended) return keep(resource.status);
  if (!run) return inputs.begun ? lost(resource.status) : before(observation);
  const result = resultOf(run);
  if (isRefused(run)) {
    const message = 'the site was closed when the Job began: it is made again';
    const fields = { ...NOT_RUN, specHash: inputs.specHash, refusedJob: run.uid };
    return { ...statusResult('Pending', 'SiteNotReady', message), fields, reconcileAgain: true };
  }
  const fields = { ...runFields(run, result), specHash: inputs.specHash, active: 0 };
  switch (run.state) {
    case 'Running':
      return { ...underWay(observation, run), fields: { ...fields, active: 1 } };
    case 'Succeeded':
      return {
        phase: 'Succeeded',
        ready: succeeded(run),
        fields: { ...fields, lastSuccessfulTime: run.completionTime },
      };
    case 'Failed':
      return { phase: 'Failed', ready: failed(observation, run, result), fields, stalled: true };
  }
}

/** Before the Job of this spec is there: what the status says is of an earlier one. */
function before(observation: Seen): StatusResult {
  const { inputs, resource } = observation;
  const earlier = resource.status?.specHash !== inputs.specHash;
  return { ...notBegun(observation), fields: earlier ? NOT_RUN : { active: 0 } };
}

/** Without its Job, of which all is known. */
function keep(status: SiteJobStatus = {}): StatusResult {
  const { exitCode, job = '' } = status;
  if (exitCode === 0) {
    return { phase: 'Succeeded', ready: succeeded({ name: job }) };
  }
  const message = `Job ${job}: ${ending(exitCode, status.log ?? '')}`;
  return { ...statusResult('Failed', 'JobFailed', message), stalled: true };
}

/**
 * Its Job has gone while it ran: somebody has deleted it, or its site. The times in the status stay, so
 * that a Job that was only not seen yet, after a restart, counts as soon as it is.
 */
function lost({ job = '' }: SiteJobStatus = {}): StatusResult {
  const message = `Job ${job} is gone, and how it ended is not known: change the spec to run it again`;
  return { ...statusResult('Failed', 'Terminated', message), fields: { active: 0 }, stalled: true };
}

function evaluateSchedule(observation: Seen): StatusResult {
  const { inputs, resource } = observation;
  const { status = {} } = resource;
  const runs = observation.runs.filter((run) => !isRefused(run));
  const [newest] = runs;
  const success = runs.find(({ state }) => state === 'Succeeded');
  const fields: Fields = {
    ...(newest
      ? {
          ...runFields(newest, resultOf(newest)),
          lastScheduleTime: newest.startTime ?? status.lastScheduleTime,
        }
      : {}),
    lastSuccessfulTime: later(success?.completionTime, status.lastSuccessfulTime),
    specHash: inputs.specHash,
    active: runs.filter(({ state }) => state === 'Running').length,
  };
  return { ...scheduleResult(observation, runs), fields };
}

function scheduleResult(observation: Seen, runs: readonly JobRun[]): StatusResult {
  const { inputs, resource, ready: applied } = observation;
  if (!inputs.site || !applied) return notBegun(observation);
  const running = runs.find(({ state }) => state === 'Running');
  const last = runs.find(({ state }) => state !== 'Running');
  const stalled = last?.state === 'Failed';
  // While one is under way, the word is still that of the last that has ended.
  const ready = last
    ? stalled
      ? failed(observation, last, resultOf(last))
      : succeeded(last)
    : conditionResult('Scheduled', 'no run has ended yet', 'True');
  if (running) return { phase: 'Running', ready, stalled };
  if (inputs.blocked) {
    return statusResult(
      'Pending',
      inputs.blocked.reason,
      `the schedule waits: ${inputs.blocked.message}`,
    );
  }
  if (resource.spec.suspend === true) {
    const message = 'spec.suspend stops the schedule';
    return { phase: 'Suspended', ready: conditionResult('Suspended', message, 'True') };
  }
  return { phase: stalled ? 'Failed' : 'Scheduled', ready, stalled };
}

function notBegun({ inputs, pending }: Seen): StatusResult {
  if (inputs.blocked) return statusResult('Pending', inputs.blocked.reason, inputs.blocked.message);
  const [first] = pending;
  return statusResult(
    'Pending',
    'Provisioning',
    first ? `waiting for ${first.kind} ${first.name}: ${first.health.message}` : 'about to begin',
  );
}

/** What its pods say, where they do not run. */
function underWay({ pending }: Seen, { name }: JobRun): StatusResult {
  const why = pending.find((child) => child.name === name)?.health.message ?? 'running';
  return statusResult('Running', 'Running', `Job ${name}: ${why}`);
}

function failed({ pending }: Seen, run: JobRun, result: JobResult): ConditionResult {
  // Where nothing is left of its pods, as after its deadline, the Job itself says something.
  const { health } = pending.find(({ kind, name }) => kind === 'Job' && name === run.name) ?? {};
  const known = result.exitCode !== undefined || result.log !== '';
  const why = known || !health ? ending(result.exitCode, result.log) : health.message;
  return conditionResult(result.reason ?? 'JobFailed', `Job ${run.name}: ${why}`);
}

function ending(exitCode: number | undefined, log: string): string {
  const line = log.trimEnd().split('\n').at(-1)?.trim().slice(0, LINE);
  const code = exitCode === undefined ? 'nothing is left of its pod' : `exit code ${exitCode}`;
  return line ? `${code}: ${line}` : code;
}

function succeeded({ name }: Pick<JobRun, 'name'>): ConditionResult {
  return conditionResult('Succeeded', `Job ${name} has succeeded`, 'True');
}

function isRefused(run: JobRun): boolean {
  return run.state === 'Failed' && resultOf(run).reason === SITE_CLOSED;
}

/** What the status says of a run; what is unknown is taken away. */
function runFields(run: JobRun, { exitCode, log }: JobResult): Fields {
  const ended = run.state !== 'Running';
  return {
    job: run.name,
    startTime: run.startTime,
    completionTime: ended ? run.completionTime : undefined,
    exitCode: run.state === 'Succeeded' ? 0 : ended ? exitCode : undefined,
    log: ended ? log : undefined,
  };
}

/** Of what an earlier spec has done, only its last success stays. */
const NOT_RUN: Fields = {
  job: undefined,
  specHash: undefined,
  startTime: undefined,
  completionTime: undefined,
  exitCode: undefined,
  log: undefined,
  active: 0,
  refusedJob: undefined,
};

/** The later of two times in RFC 3339 and UTC. */
function later(a: string | undefined, b: string | undefined): string | undefined {
  return a !== undefined && b !== undefined ? (a > b ? a : b) : (a ?? b);
}

function statusResult(phase: string, reason: string, message: string): StatusResult {
  return { phase, ready: conditionResult(reason, message) };
}

function conditionResult(
  reason: string,
  message: string,
  status: 'True' | 'False' = 'False',
): ConditionResult {
  return { type: 'Ready', status, reason, message };
}
