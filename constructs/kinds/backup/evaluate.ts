import { conditionResult, type ConditionResult } from '../../kit/condition.js';
import { defined } from '../../kit/json/defined.js';
import type { JobRun, StatusResult, Observation } from '../../kit/kind.js';
import { decide, type Policy } from '../../kit/policy.js';
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
  const context = { ...observation, lastFailure: failureOf(before, runs) };
  const { phase, ready, ...job } = decide(once ? SINGLE : SCHEDULED, context);
  return {
    phase,
    ready,
    stalled: phase === 'Failed' && once,
    reconcileAgain: (job.endedRun !== undefined && !inputs.ended) || job.refusedJob !== undefined,
    fields: {
      ...storedNow(before, runs),
      lastFailure: context.lastFailure,
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

interface Context extends Observed {
  readonly lastFailure: string | undefined;
}

/** The run of a single backup's spec. */
function runOf({ inputs, runs }: Context): JobRun | undefined {
  return runs.find(({ run }) => run === inputs.run);
}

/** A single backup: Ready when it is stored and checked. */
const SINGLE: readonly Policy<Context, BackupResult>[] = [
  {
    applies: ({ inputs }) => inputs.ended,
    result: ({ inputs, resource }) => ({
      phase: 'Succeeded',
      ready: succeeded(resource.status?.backups?.[0]),
      endedRun: inputs.run,
    }),
  },
  {
    applies: (context) => runOf(context)?.state === 'Succeeded',
    result(context) {
      const { inputs, resource } = context;
      const stored = readReport(runOf(context)?.message)?.backups[0];
      const ready = succeeded(stored ?? resource.status?.backups?.[0]);
      return { phase: 'Succeeded', ready, endedRun: inputs.run };
    },
  },
  {
    // Refused by a closed site.
    applies(context) {
      const run = runOf(context);
      return run?.state === 'Failed' && readFailure(run).reason === SITE_BUSY;
    },
    result(context) {
      const message = 'the site was upgraded or restored meanwhile; the backup is made again';
      const ready = conditionResult('Ready', 'False', 'SiteNotReady', message);
      return { phase: 'Pending', ready, refusedJob: runOf(context)?.uid };
    },
  },
  {
    applies: (context) => runOf(context)?.state === 'Failed',
    result: ({ lastFailure }) => ({ phase: 'Failed', ready: failed(lastFailure) }),
  },
  {
    applies: (context) => !runOf(context) && context.inputs.blocked !== undefined,
    result: ({ inputs }) => blocked(inputs),
  },
  {
    // In progress.
    applies: () => true,
    result(context) {
      const why = context.pending[0]?.health.message;
      const message = why ? `the backup is being made: ${why}` : 'the backup is being made';
      const ready = conditionResult('Ready', 'False', 'Provisioning', message);
      return { phase: runOf(context) ? 'Running' : 'Pending', ready };
    },
  },
];

/** The phase of a schedule, by what it does next. */
function schedulePhase({ resource, runs }: Context): Phase {
  if (runs[0]?.state === 'Running') return 'Running';
  return resource.spec.suspend === true ? 'Suspended' : 'Scheduled';
}

/**
 * A schedule: Ready when the last backup that was due is stored and checked, and the next is due.
 */
const SCHEDULED: readonly Policy<Context, BackupResult>[] = [
  {
    applies: ({ inputs }) => inputs.blocked !== undefined,
    result: ({ inputs }) => blocked(inputs),
  },
  {
    applies: ({ lastFailure }) => lastFailure !== undefined,
    result(context) {
      const phase = schedulePhase(context);
      return {
        phase: phase === 'Scheduled' ? 'Failed' : phase,
        ready: failed(context.lastFailure),
      };
    },
  },
  {
    applies: ({ resource }) => resource.spec.suspend === true,
    result(context) {
      const ready = conditionResult(
        'Ready',
        'True',
        'Suspended',
        'no backups are made while suspended',
      );
      return { phase: schedulePhase(context), ready };
    },
  },
  {
    // Scheduled.
    applies: () => true,
    result(context) {
      const newest = storedNow(context.resource.status ?? {}, context.runs).backups?.[0];
      const ready = newest
        ? succeeded(newest)
        : conditionResult('Ready', 'True', 'Scheduled', 'the first backup is not due yet');
      return { phase: schedulePhase(context), ready };
    },
  },
];

function blocked({ blocked: why }: BackupInputs): BackupResult {
  const ready = conditionResult(
    'Ready',
    'False',
    why?.reason ?? 'SiteNotReady',
    why?.message ?? '',
  );
  return { phase: 'Pending', ready };
}

function succeeded(backup: StoredBackup | undefined): ConditionResult {
  return conditionResult(
    'Ready',
    'True',
    'BackedUp',
    backup
      ? `stored and checked: ${backup.location}`
      : 'the backup has ended, but status.backups does not list it; look for it in spec.destination',
  );
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

type Stored = Pick<SiteBackupStatus, 'count' | 'backups' | 'lastSuccessfulTime'>;

/** What is stored: as the last successful backup reported, else as the status has it. */
function storedNow(
  { count, backups, lastSuccessfulTime }: SiteBackupStatus,
  runs: readonly JobRun[],
): Stored {
  const last = runs.find(({ state }) => state === 'Succeeded');
  const report = readReport(last?.message);
  if (!report) return defined({ count, backups, lastSuccessfulTime });
  // A backup of the future comes from a wrong clock: for as long as it is the newest, it would hide that
  // backups fail.
  const end = last?.completionTime;
  const newest = report.backups.find(
    ({ complete, startTime }) => complete && (end === undefined || startTime <= end),
  );
  return {
    count: report.count,
    backups: report.backups,
    ...defined({ lastSuccessfulTime: newest?.completionTime }),
  };
}
