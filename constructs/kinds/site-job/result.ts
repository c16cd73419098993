import { TERMINATION_MESSAGE_BYTES } from '../../kit/constants.generated.js';
import { countIn, parseReport, reasonIn } from '../../kit/job-result.js';
import type { JobRun } from '../../kit/kind.js';

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
  const report = parseReport(message);
  const log = report ? report['log'] : message;
  return {
    exitCode: exitCode ?? countIn(report?.['exitCode']),
    reason: reasonIn(report?.['reason']),
    log: typeof log === 'string' ? log.slice(-TERMINATION_MESSAGE_BYTES).toWellFormed() : '',
  };
}
