import type { ConditionResult } from '../kit/condition.js';
import type { Observation } from '../kit/kind.js';
import type { Resource } from '../kit/object.js';

interface Phased {
  readonly phase?: string;
  readonly observedGeneration?: number;
}

/** The phase and the Ready condition of a resource whose tree could be made. */
export function evaluatePhase<F>(observation: Observation<Resource<unknown, Phased>, F>): {
  readonly phase: 'Provisioning' | 'Updating' | 'Ready' | 'Failed';
  readonly ready: ConditionResult;
} {
  if (observation.ready) {
    return {
      phase: 'Ready',
      ready: { type: 'Ready', status: 'True', reason: 'Ready', message: 'everything is available' },
    };
  }
  const failed = observation.pending.find(({ health }) => health.state === 'Failed');
  if (failed) {
    return {
      phase: 'Failed',
      ready: conditionResult(
        failed.health.reason ?? `${failed.kind}Failed`,
        `${failed.kind} ${failed.name}: ${failed.health.message}`,
      ),
    };
  }
  const before = observation.resource.status?.phase;
  const phase = before === 'Ready' || before === 'Updating' ? 'Updating' : 'Provisioning';
  // What works on something says more than what has to wait for it.
  const first =
    observation.pending.find(({ health }) => health.state === 'InProgress') ??
    observation.pending[0];
  if (first) {
    const more = observation.pending.length - 1;
    const others = more > 0 ? ` (and ${more} more)` : '';
    return {
      phase,
      ready: conditionResult(
        phase,
        `waiting for ${first.kind} ${first.name}: ${first.health.message}${others}`,
      ),
    };
  }
  const probe = observation.probes.find((result) => !result.ok);
  return { phase, ready: conditionResult(phase, probe?.message ?? 'waiting for the first answer') };
}

function conditionResult(reason: string, message: string): ConditionResult {
  return { type: 'Ready', status: 'False', reason, message };
}
