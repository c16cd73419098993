import { conditionResult, type ConditionResult } from '../../kit/condition.js';
import type { JobRun, StatusResult, Observation } from '../../kit/kind.js';
import type { SiteJob, SiteJobStatus } from '../../api/site-job.js';
import type { SiteJobInputs } from './resolve.js';
import { resultOf, type JobResult } from './result.js';

type Observed = Observation<SiteJob, SiteJobInputs>;
type Fields = Readonly<Partial<Record<keyof SiteJobStatus, unknown>>>;

/** The reason of a run that did nothing, since an upgrade of the site had just begun. */
const SITE_CLOSED = 'SiteClosed';
const LINE = 300;

/** The status of a SiteJob. */
export function evaluateJob(observation: Observed): StatusResult {
  const { inputs, resource, runs } = observation;
  if (resource.spec.schedule !== undefined) return evaluateSchedule(observation);
  const run = runs.find((one) => one.taskHash === inputs.taskHash);
  return run ? evaluateRun(observation, run) : evaluateWithoutRun(observation);
}

/** A Job that runs once, while it does not exist: not yet, or no longer. */
function evaluateWithoutRun(observation: Observed): StatusResult {
  const { inputs, resource } = observation;
  if (inputs.ended) return endedEarlier(resource.status);
  if (inputs.started) return lost(resource.status);
  return beforeRun(observation);
}

/** A Job that runs once, of this spec. */
function evaluateRun(observation: Observed, run: JobRun): StatusResult {
  const { inputs } = observation;
  if (isRefused(run)) {
    const message = 'the site was closed when the Job began; the Job is made again';
    const fields = { ...NOT_RUN, specHash: inputs.specHash, refusedJob: run.uid };
    return { ...statusResult('Pending', 'SiteNotReady', message), fields, reconcileAgain: true };
  }
  const fields = onceFields(observation, run);
  if (run.state === 'Running') {
    return { ...underWay(observation, run), fields: { ...fields, active: 1 } };
  }
  if (run.state === 'Succeeded') {
    const lastSuccessfulTime = run.completionTime;
    return { phase: 'Succeeded', ready: succeeded(run), fields: { ...fields, lastSuccessfulTime } };
  }
  return { phase: 'Failed', ready: failed(observation, run), fields, stalled: true };
}

function onceFields({ inputs }: Observed, run: JobRun): Fields {
  return { ...runFields(run, resultOf(run)), specHash: inputs.specHash, active: 0 };
}

/** Before the Job of this spec exists, the status is that of an earlier one. */
function beforeRun(observation: Observed): StatusResult {
  const { inputs, resource } = observation;
  const earlier = resource.status?.specHash !== inputs.specHash;
  return { ...notBegun(observation), fields: earlier ? NOT_RUN : { active: 0 } };
}

/** The Job was deleted after its result was written to the status. */
function endedEarlier(status: SiteJobStatus = {}): StatusResult {
  const { exitCode, job = '' } = status;
  if (exitCode === 0) {
    return { phase: 'Succeeded', ready: succeeded({ name: job }) };
  }
  const message = `Job ${job}: ${ending(exitCode, status.log ?? '')}`;
  return { ...statusResult('Failed', 'JobFailed', message), stalled: true };
}

/**
 * The Job was deleted while it ran, alone or with its site. The times in the status stay, so that a
 * Job that the operator has not listed yet, after a restart, counts as soon as it is listed.
 */
function lost({ job = '' }: SiteJobStatus = {}): StatusResult {
  const message = `Job ${job} was deleted while it ran: its result is unknown; change the spec to run it again`;
  return { ...statusResult('Failed', 'Terminated', message), fields: { active: 0 }, stalled: true };
}

function evaluateSchedule(observation: Observed): StatusResult {
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

/** While a run is active, the condition Ready is that of the last run that ended. */
function scheduleResult(observation: Observed, runs: readonly JobRun[]): StatusResult {
  const { inputs, resource, ready } = observation;
  const isApplied = inputs.site !== undefined && ready;
  if (!isApplied) return notBegun(observation);
  const last = lastResult(
    observation,
    runs.find(({ state }) => state !== 'Running'),
  );
  if (runs.some(({ state }) => state === 'Running')) return { phase: 'Running', ...last };
  if (inputs.blocked) {
    const message = `the schedule waits: ${inputs.blocked.message}`;
    return statusResult('Pending', inputs.blocked.reason, message);
  }
  if (resource.spec.suspend === true) {
    const message = 'spec.suspend stops the schedule';
    return { phase: 'Suspended', ready: conditionResult('Ready', 'True', 'Suspended', message) };
  }
  return { phase: last.stalled ? 'Failed' : 'Scheduled', ...last };
}

/** @param ended the last run that ended */
function lastResult(
  observation: Observed,
  ended: JobRun | undefined,
): Pick<StatusResult, 'ready' | 'stalled'> {
  if (!ended) {
    const message = 'no run has ended yet';
    return { ready: conditionResult('Ready', 'True', 'Scheduled', message), stalled: false };
  }
  if (ended.state !== 'Failed') return { ready: succeeded(ended), stalled: false };
  return { ready: failed(observation, ended), stalled: true };
}

function notBegun({ inputs, pending }: Observed): StatusResult {
  if (inputs.blocked) return statusResult('Pending', inputs.blocked.reason, inputs.blocked.message);
  const [first] = pending;
  const message = first
    ? `waiting for ${first.kind} ${first.name}: ${first.health.message}`
    : 'about to begin';
  return statusResult('Pending', 'Provisioning', message);
}

/** What its pods say, where they do not run. */
function underWay({ pending }: Observed, { name }: JobRun): StatusResult {
  const why = pending.find((child) => child.name === name)?.health.message ?? 'running';
  return statusResult('Running', 'Running', `Job ${name}: ${why}`);
}

function failed({ pending }: Observed, run: JobRun): ConditionResult {
  const result = resultOf(run);
  // Where nothing is left of its pods, as after its deadline, the Job itself says something.
  const { health } = pending.find(({ kind, name }) => kind === 'Job' && name === run.name) ?? {};
  const known = result.exitCode !== undefined || result.log !== '';
  const why = known || !health ? ending(result.exitCode, result.log) : health.message;
  return conditionResult('Ready', 'False', result.reason ?? 'JobFailed', `Job ${run.name}: ${why}`);
}

function ending(exitCode: number | undefined, log: string): string {
  const line = log.trimEnd().split('\n').at(-1)?.trim().slice(0, LINE).toWellFormed();
  const code = exitCode === undefined ? 'nothing is left of its pod' : `exit code ${exitCode}`;
  return line ? `${code}: ${line}` : code;
}

function succeeded({ name }: Pick<JobRun, 'name'>): ConditionResult {
  return conditionResult('Ready', 'True', 'Succeeded', `Job ${name} has succeeded`);
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
  return { phase, ready: conditionResult('Ready', 'False', reason, message) };
}
