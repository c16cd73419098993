import type { ConditionResult } from '../../constructs/kit/condition.js';
import { Stalled, Waiting, messageOf } from '../../constructs/kit/errors.js';
import type { StatusResult } from '../../constructs/kit/kind.js';
import type { Resource } from '../../constructs/kit/object.js';
import { isAdmissionDenied, isConflict, isForbidden, isQuotaExceeded } from '../api/api-error.js';
import type { ChangeSetEntry } from '../apply/applier.js';
import type { Status } from '../plan/resource-status.js';

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
  /** With `finalized`: data outside of the deleted namespace that was to be deleted and is not. */
  readonly orphaned?: readonly string[];
  /** Recorded as an event with `finalized`: the resource is deleted before a status is read. */
  readonly lastWarning?: { readonly reason: string; readonly message: string };
}

/** Failures in a row after which a transient error is shown to the user. */
const TRANSIENT_FAILURES = 3;

/**
 * The report of a reconcile that ended with an error; undefined if the user need not see it.
 * @param phase of the resource before the reconcile
 * @param failures earlier ones in a row
 */
export function reportOf(
  error: unknown,
  phase: string | undefined,
  failures: number,
): Report | undefined {
  if (error instanceof Waiting) return waiting(error, phaseOr('Pending', phase));
  if (error instanceof Stalled) return stalled(error, phaseOr('Failed', phase));
  if (isQuotaExceeded(error)) return retried('QuotaExceeded', error, phase);
  if (isAdmissionDenied(error)) return retried('AdmissionDenied', error, phase);
  if (isForbidden(error)) return retried('Forbidden', error, phase);
  // The next attempt may do.
  if (isConflict(error) || failures < TRANSIENT_FAILURES) return undefined;
  return retried('Error', error, phase);
}

function waiting({ name, reason, message, more, retryAfterMs }: Waiting, phase: string): Report {
  return {
    statusResult: { ...statusResult(phase, reason, message), ...more },
    stalled: false,
    changes: [],
    requeueAfterMs: retryAfterMs,
    errorType: name,
  };
}

function stalled({ name, reason, message, retryAfterMs, fields }: Stalled, phase: string): Report {
  return {
    statusResult: { ...statusResult(phase, reason, message), fields },
    stalled: true,
    changes: [],
    requeueAfterMs: retryAfterMs,
    errorType: name,
  };
}

/** A resource that is being deleted keeps its phase. */
function phaseOr(phase: string, before: string | undefined): string {
  return before === 'Deleting' ? before : phase;
}

function retried(reason: string, error: unknown, phase = 'Pending'): Report {
  return {
    statusResult: statusResult(phase, reason, messageOf(error)),
    stalled: false,
    changes: [],
    error: error instanceof Error ? error : new Error(messageOf(error)),
    errorType: errorTypeOf(error),
  };
}

/** The report of a paused resource. */
export function paused(resource: Resource<unknown, Status>): Report {
  const message = 'the operator writes nothing while the resource is paused';
  return held(resource, { type: 'Paused', status: 'True', reason: 'Paused', message });
}

/** The report of a resource whose CRD lacks status fields: there its work could not be recorded. */
export function crdOutdated(resource: Resource<unknown, Status>, message: string): Report {
  const reason = 'CrdOutdated';
  const report = held(resource, { type: reason, status: 'True', reason, message });
  return { ...report, stalled: report.statusResult.ready.status === 'False' };
}

/**
 * The report of a resource that is not reconciled, as a condition says: it keeps its phase and a Ready
 * condition that is True.
 */
function held({ status }: Resource<unknown, Status>, condition: ConditionResult): Report {
  const before = status?.conditions?.find(({ type }) => type === 'Ready');
  const ready =
    before?.status === 'True'
      ? { type: 'Ready', status: before.status, reason: before.reason, message: before.message }
      : { ...condition, type: 'Ready', status: 'False' as const };
  return {
    statusResult: { phase: status?.phase ?? 'Pending', ready, conditions: [condition] },
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
