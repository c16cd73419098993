import type { KubeObject } from './object.js';

/**
 * The errors that steer the reconcile loop. Anything else that is thrown is transient: it is retried
 * with backoff. The class name is the `error_type` of `app_operator_reconciliation_errors_total`.
 */

/** Something that this object needs is not there yet. What was read is watched, so nothing polls. */
export class Waiting extends Error {
  override readonly name = 'Waiting';
  constructor(
    /** One CamelCase word: the reason of the Ready condition. */
    readonly reason: string,
    message: string,
    /** See `StatusResult`. */
    readonly more: {
      readonly batchObjects?: readonly KubeObject[];
      readonly fields?: Readonly<Record<string, unknown>>;
    } = {},
    /** Milliseconds after which it is tried again, where what it waits for is not watched. */
    readonly retryAfterMs?: number,
  ) {
    super(message);
  }
}

/** One thing that is wrong in what the user wrote. */
export interface Problem {
  /** Where, in the words of the manifest: `spec.workerAutoscaling.short.minReplicas`. */
  readonly path: string;
  /** What is wrong, with the value got and the values allowed. */
  readonly message: string;
}

/** The user must act: nothing changes by trying again. */
export class Stalled extends Error {
  override readonly name = 'Stalled';
  constructor(
    /** One CamelCase word: the reason of the Ready and Stalled conditions. */
    readonly reason: string,
    message: string,
    /** Milliseconds after which it is tried again, where what is wrong is not watched. */
    readonly retryAfterMs?: number,
    /** Whether another resource has the names of the children: those that are there make way, but for data. */
    readonly releasesNames = false,
  ) {
    super(message);
  }

  /** The error for a spec that cannot be carried out: every problem, in the order of the paths. */
  static invalid(problems: readonly Problem[]): Stalled {
    return new Stalled('InvalidSpec', problems.map((p) => `${p.path}: ${p.message}`).join('; '));
  }
}
