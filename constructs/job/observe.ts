import type { Verdict } from '../kit/condition.js';
import type { JobRun, Judgement, Observation } from '../kit/kind.js';
import type { SiteJob, SiteJobStatus } from './api.js';
import type { SiteJobFacts } from './facts.js';
import { resultOf, type JobResult } from './result.js';

type Seen = Observation<SiteJob, SiteJobFacts>;
type Fields = Readonly<Partial<Record<keyof SiteJobStatus, unknown>>>;

/** The reason of a run that has done nothing, since it came when an upgrade had just begun. */
const SITE_CLOSED = 'SiteClosed';
const LINE = 300;

/** What a SiteJob says of itself. */
export function observeJob(observation: Seen): Judgement {
  return observation.resource.spec.schedule === undefined
    ? observeOnce(observation)
    : observeSchedule(observation);
}

function observeOnce(observation: Seen): Judgement {
  const { facts, resource, runs } = observation;
  const run = runs.find((one) => one.run === facts.run);
  if (!run && facts.ended) return keep(resource.status);
  if (!run) return facts.begun ? lost(resource.status) : before(observation);
  const result = resultOf(run);
  if (isRefused(run)) {
    const message = 'the site was closed when the Job began: it is made again';
    const fields = { ...NOT_RUN, specHash: facts.specHash, refusedJob: run.uid };
    return { ...judgement('Pending', 'SiteNotReady', message), fields, again: true };
  }
  const fields = { ...runFields(run, result), specHash: facts.specHash, active: 0 };
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
function before(observation: Seen): Judgement {
  const { facts, resource } = observation;
  const earlier = resource.status?.specHash !== facts.specHash;
  return { ...notBegun(observation), fields: earlier ? NOT_RUN : { active: 0 } };
}

/** Without its Job, of which all is known. */
function keep(status: SiteJobStatus = {}): Judgement {
  const { exitCode, job = '' } = status;
  if (exitCode === 0) {
    return { phase: 'Succeeded', ready: succeeded({ name: job }) };
  }
  const message = `Job ${job}: ${ending(exitCode, status.log ?? '')}`;
  return { ...judgement('Failed', 'JobFailed', message), stalled: true };
}

/**
 * Its Job has gone while it ran: somebody has deleted it, or its site. The times in the status stay, so
 * that a Job that was only not seen yet, after a restart, counts as soon as it is.
 */
function lost({ job = '' }: SiteJobStatus = {}): Judgement {
  const message = `Job ${job} is gone, and how it ended is not known: change the spec to run it again`;
  return { ...judgement('Failed', 'Terminated', message), fields: { active: 0 }, stalled: true };
}

function observeSchedule(observation: Seen): Judgement {
  const { facts, resource } = observation;
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
    specHash: facts.specHash,
    active: runs.filter(({ state }) => state === 'Running').length,
  };
  return { ...judgeSchedule(observation, runs), fields };
}

function judgeSchedule(observation: Seen, runs: readonly JobRun[]): Judgement {
  const { facts, resource, ready: applied } = observation;
  if (!facts.site || !applied) return notBegun(observation);
  const running = runs.find(({ state }) => state === 'Running');
  const last = runs.find(({ state }) => state !== 'Running');
  const stalled = last?.state === 'Failed';
  // While one is under way, the word is still that of the last that has ended.
  const ready = last
    ? stalled
      ? failed(observation, last, resultOf(last))
      : succeeded(last)
    : verdict('Scheduled', 'no run has ended yet', 'True');
  if (running) return { phase: 'Running', ready, stalled };
  if (facts.hold) {
    return judgement('Pending', facts.hold.reason, `the schedule waits: ${facts.hold.message}`);
  }
  if (resource.spec.suspend === true) {
    const message = 'spec.suspend stops the schedule';
    return { phase: 'Suspended', ready: verdict('Suspended', message, 'True') };
  }
  return { phase: stalled ? 'Failed' : 'Scheduled', ready, stalled };
}

function notBegun({ facts, pending }: Seen): Judgement {
  if (facts.hold) return judgement('Pending', facts.hold.reason, facts.hold.message);
  const [first] = pending;
  return judgement(
    'Pending',
    'Provisioning',
    first ? `waiting for ${first.kind} ${first.name}: ${first.health.message}` : 'about to begin',
  );
}

/** What its pods say, where they do not run. */
function underWay({ pending }: Seen, { name }: JobRun): Judgement {
  const why = pending.find((child) => child.name === name)?.health.message ?? 'running';
  return judgement('Running', 'Running', `Job ${name}: ${why}`);
}

function failed({ pending }: Seen, run: JobRun, result: JobResult): Verdict {
  // Where nothing is left of its pods, as after its deadline, the Job itself says something.
  const { health } = pending.find(({ kind, name }) => kind === 'Job' && name === run.name) ?? {};
  const known = result.exitCode !== undefined || result.log !== '';
  const why = known || !health ? ending(result.exitCode, result.log) : health.message;
  return verdict(result.reason ?? 'JobFailed', `Job ${run.name}: ${why}`);
}

function ending(exitCode: number | undefined, log: string): string {
  const line = log.trimEnd().split('\n').at(-1)?.trim().slice(0, LINE);
  const code = exitCode === undefined ? 'nothing is left of its pod' : `exit code ${exitCode}`;
  return line ? `${code}: ${line}` : code;
}

function succeeded({ name }: Pick<JobRun, 'name'>): Verdict {
  return verdict('Succeeded', `Job ${name} has succeeded`, 'True');
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

function judgement(phase: string, reason: string, message: string): Judgement {
  return { phase, ready: verdict(reason, message) };
}

function verdict(reason: string, message: string, status: 'True' | 'False' = 'False'): Verdict {
  return { type: 'Ready', status, reason, message };
}
