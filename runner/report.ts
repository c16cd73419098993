import type { Verdict } from '../constructs/kit/condition.js';
import { Stalled, Waiting } from '../constructs/kit/errors.js';
import type { Judgement } from '../constructs/kit/kind.js';
import { ApiError, isConflict } from './api-error.js';
import type { ChangeEntry } from './apply.js';

/** What a visit came to. One place turns it into status, events, metrics and the next visit. */
export interface Report {
  readonly judgement: Judgement;
  /** Whether the user must act. */
  readonly stalled: boolean;
  readonly changes: readonly ChangeEntry[];
  /** Milliseconds until the next visit, where nothing that is watched would cause it. */
  readonly requeueAfterMs?: number | undefined;
  /** Digest of the children, when all are applied and ready. */
  readonly appliedHash?: string | undefined;
  /** What is thrown on, so that the key is tried again with backoff. */
  readonly error?: unknown;
  /** What the metrics count: the class of the error. */
  readonly errorType?: string;
  /** Whether the resource is gone, so that there is no status to write. */
  readonly gone?: boolean;
}

/** The report of a visit that ended with an error; undefined where the user need not know of it. */
export function reportOf(error: unknown, phase: string, failures: number): Report | undefined {
  if (error instanceof Waiting) {
    return { judgement: judgement(phase, error.reason, error.message), stalled: false, changes: [], errorType: error.name };
  }
  if (error instanceof Stalled) {
    return {
      judgement: judgement(phase === 'Deleting' ? phase : 'Failed', error.reason, error.message),
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
    judgement: judgement(phase, refusal ? 'Forbidden' : 'Error', messageOf(error)),
    stalled: false,
    changes: [],
    error,
    errorType: errorTypeOf(error),
  };
}

export function errorTypeOf(error: unknown): string {
  return error instanceof Error ? error.constructor.name : 'Error';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function judgement(phase: string, reason: string, message: string): Judgement {
  const ready: Verdict = { type: 'Ready', status: 'False', reason, message };
  return { phase, ready };
}
