import type { AppSite } from '../../api/site.js';
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
import { kedaObstacle, servesKeda } from '../../integrations/keda/autoscaling.js';
import type { ClusterReader, Observation } from '../../kit/kind.js';
import { siteNames } from '../../kit/names.js';

/** Who scales the site's own workers and web processes. */
export interface SiteWorkloads {
  /** Whether the cluster serves KEDA's API. */
  readonly keda: boolean;
  /** The queues that only the operator scales from zero. */
  readonly scaledToZero: readonly string[];
  /** The HorizontalPodAutoscalers of others that scale them. */
  readonly foreignScalers: ForeignScalers;
}

/** What the specs of a site's workers are read from. */
interface WantedInputs {
  readonly bench: BenchModel;
  readonly workloads: Pick<SiteWorkloads, 'keda'>;
}

interface ScaledInputs extends WantedInputs {
  readonly workloads: SiteWorkloads;
}

export function resolveWorkloads(
  site: AppSite,
  bench: BenchModel,
  reader: ClusterReader,
): SiteWorkloads {
  const { metadata, spec, status } = site;
  const { namespace = 'default', name } = metadata;
  const keda = servesKeda(reader);
  const inputs = { bench, workloads: { keda } };
  const names = siteNames(name);
  const workers = {
    groups: [...workerGroups(bench.workers).map((group) => group.name), WEB],
    deployment: (group: string) => (group === WEB ? names.gunicorn : names.worker(group)),
    wanted: (group: string) => siteWorkersWanted(site, inputs, group),
  };
  return {
    keda,
    scaledToZero: scaledToZero(status?.workerScaling, status?.workers, status?.webScaling),
    foreignScalers:
      spec.workloads === 'Dedicated' ? foreignScalers(reader, namespace, workers) : {},
  };
}

/**
 * What the specs say about the site's own workers of a queue: its number overrides its bench's
 * scaling and number.
 */
function siteWorkersWanted(
  { spec }: AppSite,
  { bench, workloads: { keda } }: WantedInputs,
  group: string,
): WorkersWanted {
  const served = keda && !bench.redis.external;
  if (!isKnownQueue(group)) {
    const isGroup = ({ name }: { readonly name: string }) => name === group;
    const { replicas } = spec.workers?.find(isGroup) ?? {};
    const offered = bench.workers.find(isGroup);
    return {
      scaling: replicas === undefined ? offered?.autoscaling : undefined,
      replicas: replicas ?? offered?.replicas,
      served,
    };
  }
  const component = WORKER_COMPONENTS[group];
  const own = spec.componentReplicas?.[component];
  return {
    scaling: own === undefined ? bench.workerAutoscaling[group] : undefined,
    replicas: own ?? bench.componentReplicas[component],
    served,
  };
}

/** Who decides about the number of a site's own workers of a queue. */
export function siteWorkerScale(site: AppSite, inputs: ScaledInputs, queue: string): WorkerScale {
  return workerScale({
    ...siteWorkersWanted(site, inputs, queue),
    scaledToZero: inputs.workloads.scaledToZero.includes(queue),
    foreign: inputs.workloads.foreignScalers[queue],
  });
}

/**
 * Who decides about the number of pods with the site's own web processes: a number of the site ends its
 * bench's scaling there, and scaling of the site the bench's number.
 */
export function siteWebScale({ spec }: AppSite, { bench, workloads }: ScaledInputs): WebScale {
  const own = spec.componentReplicas?.gunicorn;
  const inherited = own === undefined ? bench.webAutoscaling : undefined;
  return webScale({
    autoscaling: spec.webAutoscaling ?? inherited,
    replicas: own ?? bench.componentReplicas.gunicorn,
    scaledToZero: workloads.scaledToZero.includes(WEB),
    foreign: workloads.foreignScalers[WEB],
  });
}

/** How the site's own workers and web processes scale, by its bench's settings and its own. */
export function evaluateScaling(observation: Observation<AppSite, ScaledInputs>): StatusPart {
  const { resource, inputs, child } = observation;
  const { bench, workloads } = inputs;
  if (resource.spec.workloads !== 'Dedicated') return {};
  const names = siteNames(resource.metadata.name);
  const workers: WorkerChildren = {
    name: names.worker,
    scale: (queue) => siteWorkerScale(resource, inputs, queue),
    foreign: workloads.foreignScalers,
    child,
  };
  const scaling = scalingStatus(workers);
  const own = ownWorkersStatus(
    workers,
    bench.workers.map(({ name }) => name),
  );
  const wanted = workerGroups(bench.workers)
    .map(({ name }) => name)
    .filter((group) => siteWorkersWanted(resource, inputs, group).scaling?.enabled);
  const obstacle = kedaObstacle({ keda: workloads.keda, externalRedis: bench.redis.external });
  const web = siteWebScale(resource, inputs);
  const webScaling = webScalingStatus(observation, names.gunicorn, web);
  return {
    conditions: oneCondition([
      ...scalingCondition(workers, obstacle, wanted),
      ...webCondition(observation, names.gunicorn, web),
    ]),
    fields: {
      ...scaleStatus(observation, resource, names.gunicorn),
      workerScaling: scaling,
      webScaling,
      workers: own,
    },
    reconcileAgain: scaledToZero(scaling, own, webScaling).join() !== workloads.scaledToZero.join(),
  };
}
