import type { JobRun } from '../kit/kind.js';

/** The fields of the termination message of site_job.py that the operator uses. */
export interface JobResult {
  readonly exitCode: number | undefined;
  /** A reason in CamelCase if the Job terminated the command. */
  readonly reason: string | undefined;
  /** The last lines. */
  readonly log: string;
}

/** The result of a run. Its pod may be deleted or killed, or may never have started the script. */
export function resultOf({ exitCode, message = '' }: JobRun): JobResult {
  const report = parse(message);
  return {
    exitCode: exitCode ?? number(report?.['exitCode']),
    reason: text(report?.['reason']),
    log: report ? (text(report['log']) ?? '') : message,
  };
}

function parse(message: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(message);
    return typeof value === 'object' && value !== null
      ? (value as Readonly<Record<string, unknown>>)
      : undefined;
  } catch {
    return undefined;
  }
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
