import type { ConditionResult } from '../../constructs/kit/condition.js';
import { Stalled, Waiting, messageOf, type Problem } from '../../constructs/kit/errors.js';
import type { StatusResult } from '../../constructs/kit/kind.js';
import type { Resource } from '../../constructs/kit/object.js';
import {
  ApiError,
  isAdmissionDenied,
  isConflict,
  isForbidden,
  isQuotaExceeded,
} from '../api/api-error.js';
import type { ChangeSetEntry } from '../apply/applier.js';
import type { Status } from './resource-status.js';

/** The result of one reconcile. The controller derives status, events, metrics and requeue from it. */
export interface Report {
  readonly statusResult: StatusResult;
  /** Whether the user must act. */
  readonly stalled: boolean;
  readonly changes: readonly ChangeSetEntry[];
  /** Milliseconds until the next reconcile, if no watched change would cause it. */
  readonly requeueAfterMs?: number | undefined;
  /** The generation of the spec that was evaluated. @default the one that was reconciled */
  readonly observedGeneration?: number | undefined;
  /** Digest of the children, once all are applied and ready. */
  readonly appliedHash?: string | undefined;
  /** The fields of children that an admission policy changes. */
  readonly altered?: readonly string[];
  /** Thrown after the report is written, so that the key is retried with backoff. */
  readonly error?: Error;
  /** The class of the error, for the metrics. */
  readonly errorType?: string;
  /** Whether the finalizer was removed, so that there is no status to write. */
  readonly finalized?: boolean;
  /** Recorded as an event with `finalized`: the resource is deleted before a status is read. */
  readonly lastWarning?: { readonly reason: string; readonly message: string };
}

/** Whether an error is one of code that relies on the schema, while the spec does not fit it. */
export function isOfInvalidSpec(error: unknown, problems: readonly Problem[]): boolean {
  const expected = [Stalled, Waiting, ApiError].some((type) => error instanceof type);
  const isCode = error instanceof TypeError || error instanceof RangeError;
  return !expected && isCode && problems.length > 0;
}

/** Failures in a row after which a transient error is shown to the user. */
const TRANSIENT_FAILURES = 3;

interface FailedReconcile {
  readonly error: unknown;
  /** Of the resource before the reconcile. */
  readonly phase: string | undefined;
  /** Earlier failures in a row. */
  readonly failures: number;
}

/** Turns an error into a report if its condition holds. */
interface ErrorPolicy {
  readonly name: string;
  readonly applies: (failed: FailedReconcile) => boolean;
  /** Undefined if the user need not see the error. */
  readonly result: (failed: FailedReconcile) => Report | undefined;
}

/** The first that applies decides. */
const ERROR_POLICIES: readonly ErrorPolicy[] = [
  {
    name: 'waiting',
    applies: ({ error }) => error instanceof Waiting,
    result: ({ error, phase }) => {
      const { name, reason, message, more, retryAfterMs } = error as Waiting;
      return {
        statusResult: { ...statusResult(phaseOr('Pending', phase), reason, message), ...more },
        stalled: false,
        changes: [],
        requeueAfterMs: retryAfterMs,
        errorType: name,
      };
    },
  },
  {
    name: 'stalled',
    applies: ({ error }) => error instanceof Stalled,
    result: ({ error, phase }) => {
      const { name, reason, message, retryAfterMs } = error as Stalled;
      return {
        statusResult: statusResult(phaseOr('Failed', phase), reason, message),
        stalled: true,
        changes: [],
        requeueAfterMs: retryAfterMs,
        errorType: name,
      };
    },
  },
  {
    name: 'quota exceeded',
    applies: ({ error }) => isQuotaExceeded(error),
    result: (failed) => retried('QuotaExceeded', failed),
  },
  {
    name: 'denied by admission',
    applies: ({ error }) => isAdmissionDenied(error),
    result: (failed) => retried('AdmissionDenied', failed),
  },
  {
    name: 'forbidden',
    applies: ({ error }) => isForbidden(error),
    result: (failed) => retried('Forbidden', failed),
  },
  {
    name: 'conflict or short outage',
    applies: ({ error, failures }) => isConflict(error) || failures < TRANSIENT_FAILURES,
    result: () => undefined,
  },
  { name: 'lasting error', applies: () => true, result: (failed) => retried('Error', failed) },
];

/**
 * The report of a reconcile that ended with an error; undefined if the user need not see it.
 * @param phase of the resource before the reconcile
 */
export function reportOf(
  error: unknown,
  phase: string | undefined,
  failures: number,
): Report | undefined {
  const failed = { error, phase, failures };
  return ERROR_POLICIES.find(({ applies }) => applies(failed))?.result(failed);
}

/** A resource that is being deleted keeps its phase. */
function phaseOr(phase: string, before: string | undefined): string {
  return before === 'Deleting' ? before : phase;
}

function retried(reason: string, { error, phase = 'Pending' }: FailedReconcile): Report {
  return {
    statusResult: statusResult(phase, reason, messageOf(error)),
    stalled: false,
    changes: [],
    error: error instanceof Error ? error : new Error(messageOf(error)),
    errorType: errorTypeOf(error),
  };
}

/** The report of a paused resource: it keeps its phase and a Ready condition that is True. */
export function paused({ status }: Resource<unknown, Status>): Report {
  const message = 'the operator writes nothing while the resource is paused';
  const conditionResult = { type: 'Paused', status: 'True', reason: 'Paused', message } as const;
  const before = status?.conditions?.find(({ type }) => type === 'Ready');
  const ready =
    before?.status === 'True'
      ? { type: 'Ready', status: before.status, reason: before.reason, message: before.message }
      : { ...conditionResult, type: 'Ready', status: 'False' as const };
  return {
    statusResult: { phase: status?.phase ?? 'Pending', ready, conditions: [conditionResult] },
    // The present spec was not evaluated.
    observedGeneration: status?.observedGeneration ?? 0,
    stalled: false,
    changes: [],
  };
}

/** The report of a resource that is being deleted. */
export function deleting(message: string, reason = 'Deleting'): Report {
  return { statusResult: statusResult('Deleting', reason, message), stalled: false, changes: [] };
}

export function errorTypeOf(error: unknown): string {
  return error instanceof Error ? error.constructor.name : 'Error';
}

function statusResult(phase: string, reason: string, message: string): StatusResult {
  const ready: ConditionResult = { type: 'Ready', status: 'False', reason, message };
  return { phase, ready };
}
