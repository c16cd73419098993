import { QUEUES } from '../kit/constants.generated.js';
import { isSupported, untested } from '../frappe/image.js';
import { evaluatePhase } from '../frappe/phase.js';
import { scaleStatus } from '../frappe/scale-status.js';
import {
  scaledToZero,
  scalingCondition,
  scalingStatus,
  type WorkerChildren,
} from '../frappe/worker-scaling.js';
import { kedaObstacle } from '../integrations/keda/autoscaling.js';
import type { ConditionResult } from '../kit/condition.js';
import type { StatusResult, Observation } from '../kit/kind.js';
import { benchNames } from '../kit/names.js';
import type { AppBench } from './api.js';
import { benchWorkerScale } from './chart.js';
import type { BenchInputs } from './resolve.js';
import { upgradeCondition, upgradeStatus, type UpgradePlan } from './upgrade.js';

/** The status of a bench. */
export function evaluateBench(observation: Observation<AppBench, BenchInputs>): StatusResult {
  const { inputs } = observation;
  const { upgrade } = inputs;
  const { init } = benchNames(observation.resource.metadata.name);
  const prepared = observation.child('Job', init)?.health.state === 'Ready';
  const { phase, ready } = onPreviousImage(evaluatePhase(withoutMetrics(observation)), upgrade);
  const workers = workersOf(observation);
  const workerScaling = scalingStatus(workers);
  const obstacle = kedaObstacle({
    keda: inputs.keda,
    externalRedis: inputs.model.redis.external,
  });
  const scaling = observation.resource.spec.workerAutoscaling;
  return {
    phase,
    ready,
    reconcileAgain: scaledToZero(workerScaling).join() !== inputs.scaledToZero.join(),
    conditions: [
      ...versionCondition(observation.resource),
      ...scalingCondition(
        workers,
        obstacle,
        QUEUES.filter((queue) => scaling?.[queue]?.enabled),
      ),
      ...metricsCondition(observation),
      ...(upgrade && upgrade.done < upgrade.all ? [upgradeCondition(upgrade, prepared)] : []),
    ],
    fields: {
      ready: ready.status === 'True',
      image: imageOf(observation, prepared),
      upgrade: upgrade && upgradeStatus(upgrade, prepared),
      apps: inputs.model.apps,
      sites: inputs.siteCount,
      workerScaling,
      ...scaleStatus(
        observation,
        observation.resource,
        benchNames(observation.resource.metadata.name).gunicorn,
      ),
    },
  };
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

/** Only a failure is reported, not an exporter that starts. */
function metricsCondition({
  resource,
  child,
}: Observation<AppBench, BenchInputs>): readonly ConditionResult[] {
  const { metrics } = benchNames(resource.metadata.name);
  const health = child('Deployment', metrics)?.health;
  if (!resource.spec.metrics.enabled || health?.state !== 'Failed') return [];
  const message = `Deployment ${metrics}: ${health.message}`;
  return [{ type: 'Metrics', status: 'False', reason: 'ExporterFailed', message }];
}

/** A bench whose own pods wait for its sites does not match its spec, even if all are ready. */
function onPreviousImage(
  evaluated: ReturnType<typeof evaluatePhase>,
  upgrade: UpgradePlan | undefined,
): ReturnType<typeof evaluatePhase> {
  if (upgrade?.keptImage === undefined || evaluated.ready.status !== 'True') return evaluated;
  const message = `waiting for Shared sites to be migrated to ${upgrade.to} (${upgrade.open.length} left)`;
  const phase = 'Updating';
  return { phase, ready: { type: 'Ready', status: 'False', reason: phase, message } };
}

/** The image of the bench's own pods: a new one is rolled out after the init Job. */
function imageOf(
  { resource, inputs }: Observation<AppBench, BenchInputs>,
  prepared: boolean,
): string {
  const wanted = inputs.model.image.reference;
  const before = resource.status?.image ?? wanted;
  return prepared ? (inputs.upgrade?.keptImage ?? wanted) : before;
}

function versionCondition({ spec }: AppBench): readonly ConditionResult[] {
  if (isSupported(spec.frameworkVersion)) return [];
  return [
    {
      type: 'Supported',
      status: 'False',
      reason: 'UntestedVersion',
      message: `spec.frameworkVersion: ${untested(spec.frameworkVersion)}`,
    },
  ];
}

function workersOf(observation: Observation<AppBench, BenchInputs>): WorkerChildren {
  const { resource, inputs, child } = observation;
  return {
    name: benchNames(resource.metadata.name).worker,
    scale: (queue) => benchWorkerScale(resource, inputs, queue),
    foreign: inputs.foreignScalers,
    child,
  };
}
