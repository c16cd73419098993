import type { ConditionResult } from '../kit/condition.js';
import type { JobRun, StatusResult, Observation } from '../kit/kind.js';
import type { SiteBackup, SiteBackupStatus, StoredBackup } from './api.js';
import type { BackupInputs } from './resolve.js';
import { readFailure, readReport } from './report.js';

type Phase = NonNullable<SiteBackupStatus['phase']>;
type Seen = Observation<SiteBackup, BackupInputs>;

/** The reason of a backup that an upgrade or a restore of the site has kept from it. */
const SITE_BUSY = 'SiteBusy';

/** What a SiteBackup says of itself. */
export function evaluateBackup(observation: Seen): StatusResult {
  const { resource, inputs, runs } = observation;
  const before = resource.status ?? {};
  const last = runs.find(({ state }) => state !== 'Running');
  const stored = storedNow(before, runs);
  const lastFailure = failureOf(before, last);
  const started = resource.spec.schedule === undefined ? undefined : runs[0]?.startTime;
  const lastScheduleTime = started ?? before.lastScheduleTime;
  const bench = inputs.site?.bench.name ?? before.bench;
  const evaluated =
    resource.spec.schedule === undefined
      ? evaluateSingle(observation, lastFailure)
      : evaluateSchedule(observation, lastFailure);
  return {
    phase: evaluated.phase,
    ready: evaluated.ready,
    stalled: evaluated.phase === 'Failed' && resource.spec.schedule === undefined,
    reconcileAgain:
      (evaluated.endedRun !== undefined && !inputs.ended) || evaluated.refusedJob !== undefined,
    fields: {
      ...stored,
      lastFailure,
      ...(lastScheduleTime === undefined ? {} : { lastScheduleTime }),
      ...(bench === undefined ? {} : { bench }),
      ...(evaluated.endedRun === undefined ? {} : { endedRun: evaluated.endedRun }),
      ...(evaluated.refusedJob === undefined ? {} : { refusedJob: evaluated.refusedJob }),
    },
  };
}

interface Evaluated {
  readonly phase: Phase;
  readonly ready: ConditionResult;
  readonly endedRun?: string | undefined;
  readonly refusedJob?: string | undefined;
}

/** A single backup: Ready when it is stored and checked. */
function evaluateSingle(
  { resource, inputs, runs, pending }: Seen,
  lastFailure: string | undefined,
): Evaluated {
  const { run } = inputs;
  const before = resource.status ?? {};
  if (inputs.ended) {
    return { phase: 'Succeeded', ready: succeeded(before.backups?.[0]), endedRun: run };
  }
  const mine = runs.find((one) => one.run === run);
  if (mine?.state === 'Succeeded') {
    const backup = readReport(mine.message)?.backups[0] ?? before.backups?.[0];
    return { phase: 'Succeeded', ready: succeeded(backup), endedRun: run };
  }
  if (mine?.state === 'Failed' && readFailure(mine).reason === SITE_BUSY) {
    const message = 'the site was upgraded or restored meanwhile: the backup is made again';
    const ready = conditionResult('SiteNotReady', 'False', message);
    return { phase: 'Pending', ready, refusedJob: mine.uid };
  }
  if (mine?.state === 'Failed') {
    return { phase: 'Failed', ready: failed(lastFailure) };
  }
  if (!mine && inputs.blocked) return held(inputs.blocked);
  const why = pending[0]?.health.message;
  return {
    phase: mine ? 'Running' : 'Pending',
    ready: conditionResult(
      'Provisioning',
      'False',
      why ? `the backup is made: ${why}` : 'it is made',
    ),
  };
}

/** A schedule: Ready when the last backup that was due is stored and checked, and the next one will be made. */
function evaluateSchedule(
  { resource, inputs, runs }: Seen,
  lastFailure: string | undefined,
): Evaluated {
  if (inputs.blocked) return held(inputs.blocked);
  const running = runs[0]?.state === 'Running';
  const suspended = resource.spec.suspend === true;
  const phase = running ? 'Running' : suspended ? 'Suspended' : 'Scheduled';
  if (lastFailure !== undefined) {
    return { phase: running || suspended ? phase : 'Failed', ready: failed(lastFailure) };
  }
  const newest = storedNow(resource.status ?? {}, runs).backups?.[0];
  if (suspended) {
    return {
      phase,
      ready: conditionResult('Suspended', 'True', 'no backups are made while suspended'),
    };
  }
  return newest
    ? { phase, ready: succeeded(newest) }
    : { phase, ready: conditionResult('Scheduled', 'True', 'the first backup is not due yet') };
}

function held(blocked: NonNullable<BackupInputs['blocked']>): Evaluated {
  return { phase: 'Pending', ready: conditionResult(blocked.reason, 'False', blocked.message) };
}

function succeeded(backup: StoredBackup | undefined): ConditionResult {
  return conditionResult(
    'BackedUp',
    'True',
    backup ? `stored and checked: ${backup.location}` : 'the backup is stored and checked',
  );
}

function failed(why = 'BackupFailed: it has not said why'): ConditionResult {
  const [, reason = 'BackupFailed', message = why] = /^([A-Za-z0-9]+): (.*)$/s.exec(why) ?? [];
  return conditionResult(reason, 'False', message);
}

function conditionResult(
  reason: string,
  status: 'True' | 'False',
  message: string,
): ConditionResult {
  return { type: 'Ready', status, reason, message };
}

/** Why the last run that ended has failed; undefined where it did not. A run that is gone is remembered. */
function failureOf(before: SiteBackupStatus, last: JobRun | undefined): string | undefined {
  if (!last) return before.lastFailure;
  if (last.state === 'Succeeded') return undefined;
  if (last.message === undefined && before.lastFailure !== undefined) return before.lastFailure;
  const { reason, message } = readFailure(last);
  return `${reason}: Job ${last.name}: ${message}`;
}

type Stored = Pick<SiteBackupStatus, 'count' | 'backups' | 'lastSuccessfulTime'>;

/** What is stored: as the last backup that succeeded has said, and before its pod went, as the status has it. */
function storedNow(before: SiteBackupStatus, runs: readonly JobRun[]): Stored {
  const last = runs.find(({ state }) => state === 'Succeeded');
  const report = readReport(last?.message);
  const known: Stored = {
    ...(before.count === undefined ? {} : { count: before.count }),
    ...(before.backups === undefined ? {} : { backups: before.backups }),
    ...(before.lastSuccessfulTime === undefined
      ? {}
      : { lastSuccessfulTime: before.lastSuccessfulTime }),
  };
  if (!report) return known;
  const complete = report.backups.find((backup) => backup.complete)?.completionTime;
  return {
    count: report.count,
    backups: report.backups,
    ...(complete === undefined ? {} : { lastSuccessfulTime: complete }),
  };
}
