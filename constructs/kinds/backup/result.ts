import { TERMINATION_MESSAGE_BYTES } from '../../kit/constants.generated.js';
import { defined } from '../../kit/json/defined.js';
import { isObject } from '../../kit/json/is-object.js';
import {
  countIn,
  type Failure,
  locationIn,
  matchingItems,
  matchingText,
  parseFailure,
  parseReport,
  shortText,
  timeOfBackup,
} from '../../kit/job-result.js';
import type { JobRun } from '../../kit/kind.js';
import type { StoredBackup } from '../../api/backup.js';

/** The termination message of a backup's Job, see site_backup.py. */
export interface BackupReport {
  readonly count: number;
  /** Newest first. */
  readonly backups: readonly StoredBackup[];
  /** Of the newest: what it does not hold, or what another site cannot take over. */
  readonly leftOut: readonly string[];
  /** Why backups that should be removed are still there. */
  readonly notRemoved: string | undefined;
}

/** As in the schema of the status. */
const MAX_BACKUPS = 50;
/** Applications of one backup: all backups together must fit into an object of the API server. */
const MAX_APPS = 50;
const MAX_LEFT_OUT = 21;
const MAX_NOT_REMOVED = 500;
const LEFT_OUT = /^[^\p{Cc}]{1,120}$/u;
const APP = /^\w[\w.-]{0,62}$/;
const VERSION = /^[\x20-\x7e]{1,63}$/;

/** Parses the termination message of a Job that succeeded; undefined if it is not a report. */
export function readReport(message: string | undefined): BackupReport | undefined {
  const report = parseReport(message) ?? {};
  const location = locationIn(report['location']);
  const count = countIn(report['count']);
  const { versions, backups } = report;
  if (location === undefined || count === undefined) return undefined;
  if (!Array.isArray(versions) || !Array.isArray(backups)) return undefined;
  const stored = backups
    .slice(0, MAX_BACKUPS)
    .flatMap((row) => backupIn(row, location, versions) ?? []);
  const byName = new Map(stored.map((backup) => [backup.name, backup]));
  const leftOut = matchingItems(report['leftOut'], LEFT_OUT, MAX_LEFT_OUT);
  const notRemoved = shortText(report['notRemoved'], MAX_NOT_REMOVED);
  return { count, backups: [...byName.values()], leftOut, notRemoved };
}

/** A backup in its row: name, completion, size, 1 if complete, index of its versions. */
function backupIn(
  row: unknown,
  location: string,
  versions: readonly unknown[],
): StoredBackup | undefined {
  if (!Array.isArray(row)) return undefined;
  const [name, completion, bytes, complete, index] = row as readonly unknown[];
  const startTime = timeOfBackup(name);
  const completionTime = timeOfBackup(completion);
  const size = countIn(bytes, Number.MAX_SAFE_INTEGER);
  if (typeof name !== 'string' || !startTime || !completionTime || size === undefined) {
    return undefined;
  }
  return {
    name,
    startTime,
    completionTime,
    location: `${location}/${name}`,
    size,
    complete: complete === 1,
    ...versionsIn(versions[countIn(index) ?? -1]),
  };
}

/** `[framework, {app: version}]`. */
function versionsIn(entry: unknown): Pick<StoredBackup, 'frameworkVersion' | 'apps'> {
  const [framework, versions] = Array.isArray(entry) ? (entry as readonly unknown[]) : [];
  const apps = Object.entries(isObject(versions) ? versions : {})
    .filter(([app]) => APP.test(app))
    .slice(0, MAX_APPS)
    .map(([name, version]) => ({ name, version: matchingText(version, VERSION) ?? 'unknown' }));
  return { ...defined({ frameworkVersion: matchingText(framework, VERSION) }), apps };
}

/** Why a Job failed. */
export function readFailure({ message, exitCode }: JobRun): Failure {
  const failure = parseFailure(message);
  const code = exitCode === undefined ? '' : ` (exit code ${exitCode})`;
  return {
    reason: failure?.reason ?? 'BackupFailed',
    message:
      shortText(failure?.message, TERMINATION_MESSAGE_BYTES) ??
      `the termination message has no reason${code}`,
  };
}
