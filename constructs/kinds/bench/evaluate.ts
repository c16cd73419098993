import { evaluateConfiguration, withConfiguration } from '../../configuration/evaluate.js';
import { isSupported, untested } from '../../frappe/image.js';
import { resolveApps } from '../../frappe/apps.js';
import { scaleStatus } from '../../frappe/scale-status.js';
import {
  scaledToZero,
  scalingCondition,
  ownWorkersStatus,
  scalingStatus,
  type WorkerChildren,
} from '../../frappe/worker-scaling.js';
import { effectiveIds } from '../../frappe/security.js';
import { fieldsIgnored } from '../../frappe/without-effect.js';
import { workerGroups } from '../../frappe/worker.js';
import { kedaObstacle } from '../../integrations/keda/autoscaling.js';
import type { ConditionResult } from '../../kit/condition.js';
import type { StatusResult, Observation } from '../../kit/kind.js';
import { benchNames } from '../../kit/names.js';
import type { AppBench } from '../../api/bench.js';
import { assetsOf, printingCondition } from './assets.js';
import { benchWorkerScale } from './chart.js';
import { evaluateBenchPhase } from './phase.js';
import { databaseCondition } from './database-tls-failure.js';
import { benchWorkersWanted, type BenchInputs } from './resolve.js';
import { fieldsWithoutEffect } from './without-effect.js';
import { upgradeCondition, upgradeStatus } from './upgrade.js';

/** The status of a bench. */
export function evaluateBench(observation: Observation<AppBench, BenchInputs>): StatusResult {
  const { inputs } = observation;
  const { upgrade } = inputs;
  const { init } = benchNames(observation.resource.metadata.name);
  const prepared = observation.child('Job', init)?.health.state === 'Ready';
  const configuration = evaluateConfiguration(observation, inputs.configuration);
  const { phase, ready } = withConfiguration(evaluateBenchPhase(observation), configuration);
  const workers = workersOf(observation);
  const workerScaling = scalingStatus(workers);
  const ownWorkers = ownWorkersStatus(
    workers,
    inputs.model.workers.map(({ name }) => name),
  );
  const obstacle = kedaObstacle({
    keda: inputs.keda,
    externalRedis: inputs.model.redis.external,
  });
  const assets = assetsOf(observation);
  return {
    phase,
    ready,
    batchObjects: configuration.batchObjects,
    reconcileAgain:
      configuration.reconcileAgain ||
      scaledToZero(workerScaling, ownWorkers).join() !== inputs.scaledToZero.join() ||
      (assets?.inSites ?? []).join() !== inputs.model.assetsInSites.join(),
    conditions: [
      ...versionCondition(observation.resource),
      ...fieldsIgnored(fieldsWithoutEffect(observation.resource)),
      ...scalingCondition(workers, obstacle, scaledGroups(observation)),
      ...databaseCondition(inputs.tlsFailure),
      ...metricsCondition(observation),
      ...printingCondition(assets),
      ...configuration.conditions,
      ...(upgrade && upgrade.done < upgrade.all ? [upgradeCondition(upgrade, prepared)] : []),
    ],
    fields: {
      ...configuration.fields,
      ready: ready.status === 'True',
      ids: observation.resource.status?.ids ?? effectiveIds(inputs.model.security),
      assets,
      image: imageOf(observation, prepared),
      upgrade: upgrade && upgradeStatus(upgrade, prepared),
      apps: inputs.model.apps,
      ignoredApps: resolveApps(observation.resource).ignored,
      sites: inputs.siteCount,
      workerScaling,
      workers: ownWorkers,
      ...scaleStatus(
        observation,
        observation.resource,
        benchNames(observation.resource.metadata.name).gunicorn,
      ),
    },
  };
}

/** The workers that autoscaling is enabled for. */
function scaledGroups({ resource, inputs }: Observation<AppBench, BenchInputs>): readonly string[] {
  return workerGroups(inputs.model.workers)
    .map(({ name }) => name)
    .filter((group) => benchWorkersWanted(resource, inputs, group).scaling?.enabled);
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
