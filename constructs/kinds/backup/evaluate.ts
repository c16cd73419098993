import type { SiteBlock } from '../../frappe/site-model.js';
import { conditionResult, type ConditionResult } from '../../kit/condition.js';
import { defined } from '../../kit/json/defined.js';
import type { JobRun, StatusResult, Observation } from '../../kit/kind.js';
import type { SiteBackup, SiteBackupStatus, StoredBackup } from '../../api/backup.js';
import type { BackupInputs } from './resolve.js';
import { readFailure, readReport } from './result.js';

type Phase = NonNullable<SiteBackupStatus['phase']>;
type Observed = Observation<SiteBackup, BackupInputs>;

/** The reason of a run that made no backup, since the site was being upgraded or restored. */
const SITE_BUSY = 'SiteBusy';

/** The status of a SiteBackup. */
export function evaluateBackup(observation: Observed): StatusResult {
  const { resource, inputs, runs } = observation;
  const before = resource.status ?? {};
  const once = resource.spec.schedule === undefined;
  const lastFailure = failureOf(before, runs);
  const evaluate = once ? evaluateSingle : evaluateSchedule;
  const { phase, ready, ...job } = evaluate(observation, lastFailure);
  return {
    phase,
    ready,
    stalled: phase === 'Failed' && once,
    reconcileAgain: (job.endedRun !== undefined && !inputs.ended) || job.refusedJob !== undefined,
    fields: {
      ...storedNow(before, runs),
      lastFailure,
      ...defined({
        lastScheduleTime: (once ? undefined : runs[0]?.startTime) ?? before.lastScheduleTime,
        bench: inputs.site?.bench.name ?? before.bench,
        ...job,
      }),
    },
  };
}

interface BackupResult {
  readonly phase: Phase;
  readonly ready: ConditionResult;
  /** The run whose backup is stored. */
  readonly endedRun?: string | undefined;
  /** uid of a Job that made no backup since the site was closed. */
  readonly refusedJob?: string | undefined;
}

/** A single backup: Ready when it is stored and checked. */
function evaluateSingle(observation: Observed, lastFailure: string | undefined): BackupResult {
  const { resource, inputs, runs, pending } = observation;
  const run = runs.find((one) => one.taskHash === inputs.taskHash);
  if (inputs.ended || run?.state === 'Succeeded') {
    return {
      phase: 'Succeeded',
      ready: succeeded(storedBy(observation, run), storedNow(resource.status ?? {}, runs)),
      endedRun: inputs.taskHash,
    };
  }
  if (run?.state === 'Failed') return failedRun(run, lastFailure);
  if (!run && inputs.blocked) return blocked(inputs.blocked);
  const why = pending[0]?.health.message;
  const message = why ? `the backup is being made: ${why}` : 'the backup is being made';
  const ready = conditionResult('Ready', 'False', 'Provisioning', message);
  return { phase: run ? 'Running' : 'Pending', ready };
}

/** The backup of a single run. The status keeps what a deleted run has reported. */
function storedBy(
  { resource, inputs }: Observed,
  run: JobRun | undefined,
): StoredBackup | undefined {
  const reported = inputs.ended ? undefined : readReport(run?.message)?.backups[0];
  return reported ?? resource.status?.backups?.[0];
}

/** A backup that a closed site has refused is made again. */
function failedRun(run: JobRun, lastFailure: string | undefined): BackupResult {
  if (readFailure(run).reason !== SITE_BUSY) return { phase: 'Failed', ready: failed(lastFailure) };
  const message = 'the site was upgraded or restored meanwhile; the backup is made again';
  const ready = conditionResult('Ready', 'False', 'SiteNotReady', message);
  return { phase: 'Pending', ready, refusedJob: run.uid };
}

/**
 * A schedule: Ready when the last backup that was due is stored and checked, and the next is due.
 */
function evaluateSchedule(
  { resource, inputs, runs }: Observed,
  lastFailure: string | undefined,
): BackupResult {
  if (inputs.blocked) return blocked(inputs.blocked);
  const isSuspended = resource.spec.suspend === true;
  const isRunning = runs[0]?.state === 'Running';
  const phase = isRunning ? 'Running' : isSuspended ? 'Suspended' : 'Scheduled';
  if (lastFailure !== undefined) {
    return { phase: phase === 'Scheduled' ? 'Failed' : phase, ready: failed(lastFailure) };
  }
  if (isSuspended) {
    const message = 'no backups are made while suspended';
    return { phase, ready: conditionResult('Ready', 'True', 'Suspended', message) };
  }
  const stored = storedNow(resource.status ?? {}, runs);
  const newest = stored.backups?.[0];
  if (newest) return { phase, ready: succeeded(newest, stored) };
  const message = 'the first backup is not due yet';
  return { phase, ready: conditionResult('Ready', 'True', 'Scheduled', message) };
}

function blocked({ reason, message }: SiteBlock): BackupResult {
  return { phase: 'Pending', ready: conditionResult('Ready', 'False', reason, message) };
}

function succeeded(
  backup: StoredBackup | undefined,
  { leftOut = [], notRemoved }: Stored,
): ConditionResult {
  const message = backup
    ? `stored and checked: ${backup.location}`
    : 'the backup has ended, but status.backups does not list it; look for it in spec.destination';
  const rest = leftOut.length > 0 ? `; left out: ${leftOut.join(', ')}` : '';
  const kept = notRemoved === undefined ? '' : `; not removed: ${notRemoved}`;
  return conditionResult('Ready', 'True', 'BackedUp', `${message}${rest}${kept}`);
}

function failed(why = 'BackupFailed: no reason is known'): ConditionResult {
  const [, reason = 'BackupFailed', message = why] =
    /^([A-Za-z][A-Za-z0-9]{0,254}): (.*)$/s.exec(why) ?? [];
  return conditionResult('Ready', 'False', reason, message);
}

/**
 * Why the last run that ended failed; undefined where it succeeded. A deleted run's reason is kept.
 */
function failureOf(before: SiteBackupStatus, runs: readonly JobRun[]): string | undefined {
  const last = runs.find(({ state }) => state !== 'Running');
  if (!last) return before.lastFailure;
  if (last.state === 'Succeeded') return undefined;
  if (last.message === undefined && before.lastFailure !== undefined) return before.lastFailure;
  const { reason, message } = readFailure(last);
  return `${reason}: Job ${last.name}: ${message}`;
}

type Stored = Pick<SiteBackupStatus, 'count' | 'backups' | 'lastSuccessfulTime'> & {
  readonly leftOut?: readonly string[] | undefined;
  readonly notRemoved?: string | undefined;
};

/** What is stored: as the last successful backup reported, else as the status has it. */
function storedNow(
  { count, backups, lastSuccessfulTime, leftOut, notRemoved }: SiteBackupStatus,
  runs: readonly JobRun[],
): Stored {
  const last = runs.find(({ state }) => state === 'Succeeded');
  const report = readReport(last?.message);
  if (!report) return defined({ count, backups, lastSuccessfulTime, leftOut, notRemoved });
  // A backup of the future comes from a wrong clock: for as long as it is the newest, it would hide that
  // backups fail.
  const end = last?.completionTime;
  const newest = report.backups.find(
    ({ complete, startTime }) => complete && (end === undefined || startTime <= end),
  );
  return {
    count: report.count,
    backups: report.backups,
    leftOut: report.leftOut.length > 0 ? report.leftOut : undefined,
    notRemoved: report.notRemoved,
    ...defined({ lastSuccessfulTime: newest?.completionTime }),
  };
}
