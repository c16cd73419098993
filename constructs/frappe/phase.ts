import { conditionResult, type ConditionResult } from '../kit/condition.js';
import type { Observation } from '../kit/kind.js';
import type { Resource } from '../kit/object.js';
import { decide, type Policy } from '../kit/policy.js';

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
export function evaluatePhase<F>(
  observation: Observation<Resource<unknown, Phased>, F>,
): PhaseResult {
  return decide(POLICIES, observation);
}

const POLICIES: readonly Policy<Observed, PhaseResult>[] = [
  {
    applies: ({ ready }) => ready,
    result: () => ({
      phase: 'Ready',
      ready: { type: 'Ready', status: 'True', reason: 'Ready', message: 'everything is available' },
    }),
  },
  {
    applies: (observation) => failedChild(observation) !== undefined,
    result(observation) {
      const { kind = '', name = '', health } = failedChild(observation) ?? {};
      const reason = health?.reason ?? `${kind}Failed`;
      return notReady('Failed', `${kind} ${name}: ${health?.message ?? ''}`, reason);
    },
  },
  {
    applies: ({ pending }) => pending.length > 0,
    result(observation) {
      const { pending } = observation;
      // A child that makes progress says more than one that waits for it.
      const first = pending.find(({ health }) => health.state === 'InProgress') ?? pending[0];
      const others = pending.length > 1 ? ` (and ${pending.length - 1} more)` : '';
      const { kind = '', name = '', health } = first ?? {};
      const message = `waiting for ${kind} ${name}: ${health?.message ?? ''}${others}`;
      return notReady(phaseOf(observation), message);
    },
  },
  {
    // A probe has not passed.
    applies: () => true,
    result(observation) {
      const failed = observation.probes.find(({ ok, advisory }) => !ok && !advisory);
      const message = failed?.message ?? 'waiting for the first answer';
      return notReady(phaseOf(observation), message);
    },
  },
];

function failedChild({ pending }: Observed) {
  return pending.find(({ health }) => health.state === 'Failed');
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
