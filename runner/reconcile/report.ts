import type { ConditionResult } from '../../constructs/kit/condition.js';
import { Stalled, Waiting } from '../../constructs/kit/errors.js';
import type { StatusResult } from '../../constructs/kit/kind.js';
import type { Resource } from '../../constructs/kit/object.js';
import { ApiError, isConflict } from '../api/api-error.js';
import type { ChangeSetEntry } from '../apply/applier.js';
import type { Status } from './status.js';

/** What a visit came to. One place turns it into status, events, metrics and the next visit. */
export interface Report {
  readonly statusResult: StatusResult;
  /** Whether the user must act. */
  readonly stalled: boolean;
  readonly changes: readonly ChangeSetEntry[];
  /** Milliseconds until the next visit, where nothing that is watched would cause it. */
  readonly requeueAfterMs?: number | undefined;
  /** The generation of the spec that was judged. @default the one that was visited */
  readonly observedGeneration?: number | undefined;
  /** Digest of the children, when all are applied and ready. */
  readonly appliedHash?: string | undefined;
  /** What is thrown on, so that the key is tried again with backoff. */
  readonly error?: Error;
  /** What the metrics count: the class of the error. */
  readonly errorType?: string;
  /** Whether the resource is gone, so that there is no status to write. */
  readonly gone?: boolean;
}

/**
 * The report of a visit that ended with an error; undefined where the user need not know of it.
 * @param phase of the resource before the visit
 */
export function reportOf(
  error: unknown,
  phase: string | undefined,
  failures: number,
): Report | undefined {
  const deletes = phase === 'Deleting';
  if (error instanceof Waiting) {
    return {
      statusResult: {
        ...statusResult(deletes ? 'Deleting' : 'Pending', error.reason, error.message),
        ...error.more,
      },
      stalled: false,
      changes: [],
      requeueAfterMs: error.retryAfterMs,
      errorType: error.name,
    };
  }
  if (error instanceof Stalled) {
    return {
      statusResult: statusResult(deletes ? 'Deleting' : 'Failed', error.reason, error.message),
      stalled: true,
      changes: [],
      requeueAfterMs: error.retryAfterMs,
      errorType: error.name,
    };
  }
  // Conflicts and short outages pass by themselves; what stays, or is a clear no, is worth a word.
  const refusal = error instanceof ApiError && error.status === 403;
  if (!refusal && (isConflict(error) || failures < 3)) return undefined;
  return {
    statusResult: statusResult(
      phase ?? 'Pending',
      refusal ? 'Forbidden' : 'Error',
      messageOf(error),
    ),
    stalled: false,
    changes: [],
    error: error instanceof Error ? error : new Error(messageOf(error)),
    errorType: errorTypeOf(error),
  };
}

/** A paused resource keeps its phase and whether it is ready, and says that nobody works on it. */
export function paused({ status }: Resource<unknown, Status>): Report {
  const message = 'the operator writes nothing while this is paused';
  const conditionResult = { type: 'Paused', status: 'True', reason: 'Paused', message } as const;
  const before = status?.conditions?.find(({ type }) => type === 'Ready');
  const ready =
    before?.status === 'True'
      ? { type: 'Ready', status: before.status, reason: before.reason, message: before.message }
      : { ...conditionResult, type: 'Ready', status: 'False' as const };
  return {
    statusResult: { phase: status?.phase ?? 'Pending', ready, conditions: [conditionResult] },
    // The spec was not looked at.
    observedGeneration: status?.observedGeneration ?? 0,
    stalled: false,
    changes: [],
  };
}

/** The report of a resource on its way out. */
export function deleting(message: string): Report {
  return {
    statusResult: statusResult('Deleting', 'Deleting', message),
    stalled: false,
    changes: [],
  };
}

export function errorTypeOf(error: unknown): string {
  return error instanceof Error ? error.constructor.name : 'Error';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function statusResult(phase: string, reason: string, message: string): StatusResult {
  const ready: ConditionResult = { type: 'Ready', status: 'False', reason, message };
  return { phase, ready };
}
