/**
 * What a reason means for a resource. Admission, events and the documentation derive their
 * behaviour from it:
 *
 * - `success`: the resource is as the spec says. A normal event.
 * - `progress`: the operator is working. No event.
 * - `waiting`: something exists and is not ready yet, or the user must confirm something.
 * - `missing`: an object that the spec names does not exist. Admission warns: it may be created later.
 * - `conflict`: an older object has what the spec asks for. Admission refuses it.
 * - `invalid`: the spec cannot be carried out as it is.
 * - `failure`: something failed.
 */
export type ReasonClass =
  'success' | 'progress' | 'waiting' | 'missing' | 'conflict' | 'invalid' | 'failure';

/** The reasons of a kind's conditions, each with its class. */
export type Reasons = Readonly<Record<string, ReasonClass>>;

/** Reasons that the runner gives to resources of every kind. */
export const COMMON_REASONS = {
  Deleting: 'progress',
  CleanupSkipped: 'failure',
  InvalidSpec: 'invalid',
  NameTaken: 'conflict',
  ApplyRefused: 'invalid',
  ApiGone: 'missing',
  Forbidden: 'failure',
  QuotaExceeded: 'failure',
  AdmissionDenied: 'failure',
  Error: 'failure',
  Paused: 'waiting',
  FieldAltered: 'failure',
  JobFailed: 'failure',
  JobWaiting: 'waiting',
  Unreadable: 'failure',
  InvalidStatus: 'failure',
  CrdOutdated: 'failure',
} as const satisfies Reasons;

/** Whether a reason is that of a failed Job: its termination message may name any. */
export function isJobFailure(kind: { readonly reasons: Reasons }, reason: string): boolean {
  if (reason in COMMON_REASONS) return reason === 'JobFailed';
  return reasonClass(kind, reason) === 'failure';
}

/**
 * The class of a reason that a kind gives. A failed Job's termination message may name any other
 * reason: all of these are failures.
 */
export function reasonClass(kind: { readonly reasons: Reasons }, reason: string): ReasonClass {
  const known: Reasons = { ...COMMON_REASONS, ...kind.reasons };
  return known[reason] ?? 'failure';
}
