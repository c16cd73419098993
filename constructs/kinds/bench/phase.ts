import { evaluatePhase, withBlockedReason, type PhaseResult } from '../../frappe/tree-status.js';
import type { Observation } from '../../kit/kind.js';
import { requestedImage } from '../../frappe/image.js';
import { benchNames } from '../../kit/names.js';
import type { AppBench } from '../../api/bench.js';
import type { BenchInputs } from './resolve.js';
import type { UpgradePlan } from './upgrade.js';

/** The phase of a bench, and its condition `Ready`. */
export function evaluateBenchPhase(observation: Observation<AppBench, BenchInputs>): PhaseResult {
  const observed = withoutMetrics(observation);
  const { blockedReason } = observation.inputs;
  const evaluated = withBlockedReason(evaluatePhase(observed), observed, blockedReason);
  return onPreviousImage(withPullAdvice(evaluated, observation), observation.inputs.upgrade);
}

/** As the kubelet says that it cannot pull an image. */
const NOT_PULLED = /\b(?:ErrImagePull|ImagePullBackOff)\b/;

/** A registry deletes content that no tag refers to any more: then no new pod can pull it by its digest. */
function withPullAdvice(
  evaluated: PhaseResult,
  { resource, inputs }: Observation<AppBench, BenchInputs>,
): PhaseResult {
  const { ready } = evaluated;
  const isPinned = inputs.model.image.reference !== requestedImage(resource.spec);
  if (ready.status === 'True' || !isPinned || !NOT_PULLED.test(ready.message)) return evaluated;
  const advice = 'if the registry no longer has this digest, set another spec.image.refresh';
  const message = `${ready.message}; ${advice}: docs/images.md#when-a-digest-is-gone`;
  return { ...evaluated, ready: { ...ready, message } };
}

/** The bench without its exporter, which only Prometheus needs. */
function withoutMetrics(
  observation: Observation<AppBench, BenchInputs>,
): Observation<AppBench, BenchInputs> {
  const { metrics } = benchNames(observation.resource.metadata.name);
  const pending = observation.pending.filter(({ name }) => name !== metrics);
  // Children of the previous spec may be ready while those of this one are not applied yet.
  const ready =
    observation.complete && pending.length === 0 && observation.probes.every(({ ok }) => ok);
  return { ...observation, pending, ready };
}

/** A bench whose own pods wait for its sites does not match its spec, even if all are ready. */
function onPreviousImage(evaluated: PhaseResult, upgrade: UpgradePlan | undefined): PhaseResult {
  if (upgrade?.keptImage === undefined || evaluated.ready.status !== 'True') return evaluated;
  const message = `waiting for Shared sites to be migrated to ${upgrade.to} (${upgrade.open.length} left)`;
  const phase = 'Updating';
  return { phase, ready: { type: 'Ready', status: 'False', reason: phase, message } };
}
