import { conditionResult, type ConditionResult } from '../kit/condition.js';
import type { Observation, StatusResult } from '../kit/kind.js';
import type { Resource } from '../kit/object.js';

interface Phased {
  readonly phase?: string;
  readonly observedGeneration?: number;
}

type Observed = Observation<Resource<unknown, Phased>, unknown>;

/** The phase of a resource, and its condition `Ready`. */
export interface PhaseResult {
  readonly phase: 'Provisioning' | 'Updating' | 'Ready' | 'Failed';
  readonly ready: ConditionResult;
}

/** The phase and the Ready condition of a resource whose tree could be made. */
export function evaluatePhase(observation: Observed): PhaseResult {
  const { ready, pending, probes } = observation;
  if (ready) {
    const message = 'everything is available';
    return { phase: 'Ready', ready: conditionResult('Ready', 'True', 'Ready', message) };
  }
  const failed = pending.find(({ health }) => health.state === 'Failed');
  if (failed) {
    const { kind, name, health } = failed;
    const reason = health.reason ?? `${kind}Failed`;
    return notReady('Failed', `${kind} ${name}: ${health.message}`, reason);
  }
  // A child that makes progress says more than one that waits for it.
  const first = pending.find(({ health }) => health.state === 'InProgress') ?? pending[0];
  if (first) {
    const { kind, name, health } = first;
    const others = pending.length > 1 ? ` (and ${pending.length - 1} more)` : '';
    return notReady(
      phaseOf(observation),
      `waiting for ${kind} ${name}: ${health.message}${others}`,
    );
  }
  const failedProbe = probes.find(({ ok, advisory }) => !ok && !advisory);
  return notReady(phaseOf(observation), failedProbe?.message ?? 'waiting for the first answer');
}

/** Where nothing makes progress since the resource is blocked, the blocked reason says more. */
export function withBlockedReason(
  { phase, ready }: PhaseResult,
  { ready: isReady, pending, probes }: Observed,
  blocked: string | undefined,
): PhaseResult {
  const idle = pending.every(({ health }) => health.state === 'Missing') && probes.length === 0;
  if (isReady || blocked === undefined || !idle) return { phase, ready };
  return { phase, ready: { ...ready, message: blocked } };
}

/** A resource that was ready is being updated. */
function phaseOf({ resource }: Observed): 'Updating' | 'Provisioning' {
  const before = resource.status?.phase;
  return before === 'Ready' || before === 'Updating' ? 'Updating' : 'Provisioning';
}

function notReady(
  phase: PhaseResult['phase'],
  message: string,
  reason: string = phase,
): PhaseResult {
  return { phase, ready: conditionResult('Ready', 'False', reason, message) };
}

/**
 * A creation whose Job has used all its attempts: it is tried again, but seldom succeeds without a
 * correction.
 * @param created anything that is recorded since the first success
 */
export function creationFailure(
  { pending }: Observed,
  job: string,
  created: string | undefined,
): StatusPart {
  const hasFailed = pending.some(
    ({ kind, name, health }) => kind === 'Job' && name === job && health.state === 'Failed',
  );
  return { stalled: hasFailed && created === undefined };
}

/** What one part of a kind, such as its upgrade or its workers, adds to the status of a resource. */
export interface StatusPart extends Pick<
  StatusResult,
  'conditions' | 'fields' | 'stalled' | 'reconcileAgain' | 'batchObjects'
> {
  /** Why the resource is not ready, whatever its children say. */
  readonly notReady?: string | undefined;
}

/**
 * The status of a resource, by its phase and its parts. A later part overrides an earlier one: a
 * condition takes the place of one of its type, a field that of one of its name. One part is enough
 * to make the resource stalled, or to reconcile it again. The first part that has a reason why the
 * resource is not ready overrides the phase.
 */
export function mergeStatus(evaluated: PhaseResult, parts: readonly StatusPart[]): StatusResult {
  const conditions = parts.flatMap((part) => part.conditions ?? []);
  const isLast = ({ type }: ConditionResult, index: number): boolean =>
    conditions.findLastIndex((other) => other.type === type) === index;
  const why = parts.find((part) => part.notReady !== undefined)?.notReady;
  const { phase, ready } = why === undefined ? evaluated : notReady('Provisioning', why);
  return {
    phase,
    ready,
    conditions: conditions.filter(isLast),
    fields: Object.assign({}, ...parts.map((part) => part.fields)) as StatusResult['fields'] & {},
    stalled: parts.some((part) => part.stalled === true),
    reconcileAgain: parts.some((part) => part.reconcileAgain === true),
    batchObjects: parts.flatMap((part) => part.batchObjects ?? []),
  };
}
