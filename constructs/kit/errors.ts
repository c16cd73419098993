import type { KubeObject } from './object.js';

/**
 * The errors that steer the reconcile loop. Anything else that is thrown is transient: it is retried
 * with backoff. The class name is the `error_type` of `app_operator_reconciliation_errors_total`.
 */

/** Something that the resource needs does not exist yet. What was read is watched, so nothing polls. */
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
    /** Milliseconds until the next reconcile, if what it waits for is not watched. */
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

/** The user must act: a retry changes nothing. */
export class Stalled extends Error {
  override readonly name = 'Stalled';
  /** Whether another resource owns the names of the children: those without data are deleted. */
  readonly losesNames: boolean;
  /** Status fields that change although nothing is carried out. */
  readonly fields: Readonly<Record<string, unknown>>;

  constructor(
    /** One CamelCase word: the reason of the Ready and Stalled conditions. */
    readonly reason: string,
    message: string,
    /** Milliseconds until the next reconcile, if the cause is not watched. */
    readonly retryAfterMs?: number,
    {
      losesNames = false,
      fields = {},
    }: { losesNames?: boolean; fields?: Readonly<Record<string, unknown>> } = {},
  ) {
    super(message);
    this.losesNames = losesNames;
    this.fields = fields;
  }

  /** The error for a spec that cannot be carried out: every problem, in the order of the paths. */
  static invalid(problems: readonly Problem[]): Stalled {
    return new Stalled('InvalidSpec', textOf(problems));
  }
}

export function textOf(problems: readonly Problem[]): string {
  return problems.map(({ path, message }) => `${path}: ${message}`).join('; ');
}

/** Why a spec cannot be carried out. */
export interface Refusal {
  /** One CamelCase word: the reason of the conditions, where it is the first refusal. */
  readonly reason: string;
  readonly message: string;
  /** Whether another resource owns the names of the children. */
  readonly losesNames?: true;
}

/** Problems of a spec, as refusals. */
export function invalid(problems: readonly Problem[]): readonly Refusal[] {
  return refusals('InvalidSpec', problems);
}

export function refusals(reason: string, problems: readonly Problem[]): readonly Refusal[] {
  return problems.map(({ path, message }) => ({ reason, message: `${path}: ${message}` }));
}

/**
 * Refuses a spec for all its mistakes at once. The first gives the reason: the order of the refusals is
 * their precedence.
 * @param fields status fields that change although nothing is carried out
 * @throws Stalled where there is a refusal
 */
export function refuse(
  found: readonly Refusal[],
  fields: Readonly<Record<string, unknown>> = {},
): void {
  const [first] = found;
  if (!first) return;
  const losesNames = found.some((refusal) => refusal.losesNames === true);
  const message = found.map((refusal) => refusal.message).join('; ');
  throw new Stalled(first.reason, message, undefined, { losesNames, fields });
}

/** The message of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
