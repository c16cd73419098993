import type { JobRun } from '../kit/kind.js';
import type { StoredBackup } from './api.js';

/** The termination message of a backup's Job, see site_backup.py. */
export interface BackupReport {
  readonly count: number;
  /** Newest first. */
  readonly backups: readonly StoredBackup[];
}

/** Parses the termination message of a Job that succeeded; undefined if it is not a report. */
export function readReport(message: string | undefined): BackupReport | undefined {
  const { location, count, versions, backups } = parse(message);
  if (typeof location !== 'string' || typeof count !== 'number') return undefined;
  if (!Array.isArray(versions) || !Array.isArray(backups)) return undefined;
  return {
    count,
    backups: (backups as readonly Row[]).map(([name, completion, size, complete, index]) => {
      const [frameworkVersion, apps] = (versions as readonly Version[])[index] ?? [];
      return {
        name,
        startTime: timeOf(name),
        completionTime: timeOf(completion),
        location: `${location}/${name}`,
        size,
        complete: complete === 1,
        ...(frameworkVersion === undefined ? {} : { frameworkVersion }),
        apps: Object.entries(apps ?? {}).map(([app, version]) => ({ name: app, version })),
      };
    }),
  };
}

type Row = readonly [
  name: string,
  completion: string,
  size: number,
  complete: 0 | 1,
  version: number,
];
type Version = readonly [framework: string, apps: Readonly<Record<string, string>>];

/** `20250131T120000Z` in RFC 3339. */
function timeOf(name: string): string {
  return name.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z');
}

function parse(message = ''): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(message);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Why a Job failed, as its script said: `app-operator: <Reason>: <message>`. */
export function readFailure({ message = '', exitCode }: JobRun): {
  readonly reason: string;
  readonly message: string;
} {
  const failure = /^app-operator: ([A-Z][A-Za-z0-9]*): (.+)$/s.exec(message.trim());
  const code = exitCode === undefined ? '' : ` (exit code ${exitCode})`;
  return {
    reason: failure?.[1] ?? 'BackupFailed',
    message: failure?.[2] ?? `the termination message has no reason${code}`,
  };
}
