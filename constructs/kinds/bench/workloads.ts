import type { AppBench } from '../../api/bench.js';
import type { BenchModel } from '../../frappe/bench-model.js';
import { scaleStatus } from '../../frappe/scale-status.js';
import type { StatusPart } from '../../frappe/tree-status.js';
import {
  oneCondition,
  webCondition,
  webScale,
  webScalingStatus,
  type WebScale,
} from '../../frappe/web-scaling.js';
import { isKnownQueue, WORKER_COMPONENTS, workerGroups } from '../../frappe/worker.js';
import {
  foreignScalers,
  ownWorkersStatus,
  scaledToZero,
  scalingCondition,
  scalingStatus,
  WEB,
  workerScale,
  type ForeignScalers,
  type WorkerChildren,
  type WorkerScale,
  type WorkersWanted,
} from '../../frappe/worker-scaling.js';
import { kedaObstacle, servesKeda, servesKedaLogins } from '../../integrations/keda/autoscaling.js';
import type { ClusterReader, Observation } from '../../kit/kind.js';
import { benchNames } from '../../kit/names.js';

/** Who scales the bench's workers and web processes. */
export interface BenchWorkloads {
  /** Whether the cluster serves KEDA's API. */
  readonly keda: boolean;
  /** Whether KEDA can log in to Redis: its CRDs are installed one after the other. */
  readonly logins: boolean;
  /** The queues that only the operator scales from zero. */
  readonly scaledToZero: readonly string[];
  /** The HorizontalPodAutoscalers of other owners that scale them. */
  readonly foreignScalers: ForeignScalers;
}

/** What the spec of a bench's workers is read with. */
interface WantedInputs {
  readonly model: BenchModel;
  readonly workloads: Pick<BenchWorkloads, 'keda'>;
}

interface ScaledInputs extends WantedInputs {
  readonly workloads: BenchWorkloads;
}

export function resolveWorkloads(
  bench: AppBench,
  model: BenchModel,
  reader: ClusterReader,
): BenchWorkloads {
  const keda = servesKeda(reader);
  const inputs = { model, workloads: { keda } };
  const { status = {} } = bench;
  const names = benchNames(model.name);
  return {
    keda,
    logins: servesKedaLogins(reader),
    scaledToZero: scaledToZero(status.workerScaling, status.workers, status.webScaling),
    foreignScalers: foreignScalers(reader, model.namespace, {
      groups: [...workerGroups(model.workers).map((group) => group.name), WEB],
      deployment: (group) => (group === WEB ? names.gunicorn : names.worker(group)),
      wanted: (group) => benchWorkersWanted(bench, inputs, group),
    }),
  };
}

/** What the spec says about workers of the bench, of a queue of the framework or of others. */
export function benchWorkersWanted(
  { spec }: AppBench,
  { model, workloads: { keda } }: WantedInputs,
  group: string,
): WorkersWanted {
  const served = keda && !model.redis.external;
  if (!isKnownQueue(group)) {
    const own = spec.workers?.find(({ name }) => name === group);
    return { scaling: own?.autoscaling, replicas: own?.replicas, served };
  }
  return {
    scaling: spec.workerAutoscaling?.[group],
    replicas: spec.componentReplicas?.[WORKER_COMPONENTS[group]],
    served,
  };
}

/** Who decides about the number of a bench's workers of a queue. */
export function benchWorkerScale(
  bench: AppBench,
  inputs: ScaledInputs,
  queue: string,
): WorkerScale {
  return workerScale({
    ...benchWorkersWanted(bench, inputs, queue),
    scaledToZero: inputs.workloads.scaledToZero.includes(queue),
    foreign: inputs.workloads.foreignScalers[queue],
  });
}

/** Who decides about the number of pods with the bench's web processes. */
export function benchWebScale({ spec }: AppBench, { workloads }: ScaledInputs): WebScale {
  return webScale({
    autoscaling: spec.webAutoscaling,
    replicas: spec.componentReplicas?.gunicorn,
    scaledToZero: workloads.scaledToZero.includes(WEB),
    foreign: workloads.foreignScalers[WEB],
  });
}

/** How the bench's workers and web processes scale. */
export function evaluateScaling(observation: Observation<AppBench, ScaledInputs>): StatusPart {
  const { resource, inputs } = observation;
  const { model, workloads } = inputs;
  const workers = workersOf(observation);
  const workerScaling = scalingStatus(workers);
  const own = ownWorkersStatus(
    workers,
    model.workers.map(({ name }) => name),
  );
  const obstacle = kedaObstacle({ keda: workloads.keda, externalRedis: model.redis.external });
  const { gunicorn } = benchNames(resource.metadata.name);
  const web = benchWebScale(resource, inputs);
  const webScaling = webScalingStatus(observation, gunicorn, web);
  return {
    conditions: oneCondition([
      ...scalingCondition(workers, obstacle, scaledGroups(observation)),
      ...webCondition(observation, gunicorn, web),
    ]),
    fields: {
      workerScaling,
      webScaling,
      workers: own,
      ...scaleStatus(observation, resource, gunicorn),
    },
    reconcileAgain:
      scaledToZero(workerScaling, own, webScaling).join() !== workloads.scaledToZero.join(),
  };
}

/** The workers that autoscaling is enabled for. */
function scaledGroups({
  resource,
  inputs,
}: Observation<AppBench, ScaledInputs>): readonly string[] {
  return workerGroups(inputs.model.workers)
    .map(({ name }) => name)
    .filter((group) => benchWorkersWanted(resource, inputs, group).scaling?.enabled);
}

function workersOf(observation: Observation<AppBench, ScaledInputs>): WorkerChildren {
  const { resource, inputs, child } = observation;
  return {
    name: benchNames(resource.metadata.name).worker,
    scale: (queue) => benchWorkerScale(resource, inputs, queue),
    foreign: inputs.workloads.foreignScalers,
    child,
  };
}
