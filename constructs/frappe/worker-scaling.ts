import type {
  QueueScaling,
  QueueScalingStatus,
  QueueWorkersStatus,
  WorkerScaling,
} from '../api/bench.js';
import {
  isManagedByKeda,
  isScaledByKeda,
  kedaScalerName,
  SCALER_KIND,
  scalerCondition,
  servesKeda,
} from '../integrations/keda/autoscaling.js';
import type { Queue, WebScalingStatus } from '../kit/api.js';
import type { ConditionResult } from '../kit/condition.js';
import type { ChildView, ClusterReader } from '../kit/kind.js';
import { MANAGED_BY, MANAGED_BY_LABEL } from '../kit/labels.js';
import { keyOf } from '../kit/object.js';
import { QUEUES } from '../kit/constants.generated.js';
import { scalersOfDeployment, type HpaLike } from './indexes.js';

/** The name of the web processes among what scales; workers cannot have it. */
export const WEB = 'gunicorn';

/** The most pods of a Deployment that scales, where neither `maxReplicas` nor `minReplicas` asks for more. */
const DEFAULT_MAX_REPLICAS = 5;

/** The most pods of a Deployment that scales. */
export function maxReplicasOf({
  minReplicas,
  maxReplicas,
}: Pick<QueueScaling, 'minReplicas' | 'maxReplicas'>): number {
  return maxReplicas ?? Math.max(DEFAULT_MAX_REPLICAS, minReplicas);
}

/** The number of workers of a queue, and what decides it. */
export type WorkerScale =
  | { readonly mode: 'static'; readonly replicas: number }
  | {
      readonly mode: 'autoscaled';
      /**
       * The scaling by our ScaledObject; undefined where another HorizontalPodAutoscaler scales.
       */
      readonly scaling?: QueueScaling;
      /** The number of workers where KEDA cannot scale. */
      readonly fallback: number;
      /**
       * The number that is applied although KEDA owns it: a queue at zero is scaled up by the
       * operator only.
       */
      readonly replicas?: number;
    };

/** What the specs say about the workers of a queue, and whether KEDA can scale them. */
export interface WorkersWanted {
  readonly scaling: QueueScaling | undefined;
  /** The number in `componentReplicas`. */
  readonly replicas: number | undefined;
  /** Whether the cluster serves KEDA's API, and KEDA can read the queue. */
  readonly served: boolean;
}

/** What decides about the workers of a queue. */
export interface WorkerScaleProps extends WorkersWanted {
  /** Whether the queue has no worker, and KEDA does nothing about it. @default false */
  readonly scaledToZero?: boolean;
  /** The HorizontalPodAutoscaler of another owner that scales the Deployment. @default none */
  readonly foreign?: ForeignScaler | undefined;
}

/** The scaling by our ScaledObject; undefined where the queue has none. */
function ownScaling({ scaling, served }: WorkersWanted): QueueScaling | undefined {
  return served && scaling?.enabled ? scaling : undefined;
}

/** Decides between event-driven and fixed scaling. */
export function workerScale(props: WorkerScaleProps): WorkerScale {
  const { scaling, replicas, scaledToZero = false, foreign } = props;
  const least = scaling?.enabled ? Math.max(1, scaling.minReplicas) : 1;
  const fallback = scaling?.staticReplicas ?? replicas ?? least;
  const scaledUp = scaledToZero ? { replicas: fallback } : {};
  // Two controllers that write one number would overwrite each other forever.
  if (foreign) return { mode: 'autoscaled', fallback, ...(foreign.scalesFromZero ? {} : scaledUp) };
  const own = ownScaling(props);
  if (!own) return { mode: 'static', replicas: fallback };
  return { mode: 'autoscaled', scaling: own, fallback, ...scaledUp };
}

/** A HorizontalPodAutoscaler of another owner. */
export interface ForeignScaler {
  readonly name: string;
  /** What it scales. */
  readonly deployment: string;
  /** Whether it scales it up from 0 too. */
  readonly scalesFromZero: boolean;
}

/** By the name of the workers, or that of the web processes. */
export type ForeignScalers = Readonly<Partial<Record<string, ForeignScaler>>>;

/** The workers of a bench or a site, and its web processes, before anything is made. */
export interface WantedWorkers {
  /** The names of all of them. */
  readonly groups: readonly string[];
  /** The name of their Deployment. */
  readonly deployment: (group: string) => string;
  /** What the specs say: the HorizontalPodAutoscaler of our own ScaledObject is not foreign. */
  readonly wanted: (group: string) => WorkersWanted;
}

/** The HorizontalPodAutoscalers of other owners that scale them. */
export function foreignScalers(
  reader: ClusterReader,
  namespace: string,
  { groups, deployment, wanted }: WantedWorkers,
): ForeignScalers {
  return Object.fromEntries(
    groups.flatMap((queue) => {
      const name = deployment(queue);
      const others = reader
        .list(scalersOfDeployment, keyOf(namespace, name), scalerOf)
        .filter((hpa) => !(hpa.ours && hpa.name === name))
        .filter((hpa) => !(ownScaling(wanted(queue)) && hpa.name === kedaScalerName(name)));
      const [foreign] = others;
      if (!foreign) return [];
      const keda = servesKeda(reader);
      const scalesFromZero = others.some(({ from0, byKeda }) => from0 || (byKeda && keda));
      return [[queue, { name: foreign.name, deployment: name, scalesFromZero }]];
    }),
  );
}

function scalerOf({ metadata, spec }: HpaLike) {
  return {
    name: metadata.name,
    /** That of web processes has their name. KEDA labels its own as our ScaledObject is. */
    ours: metadata.labels?.[MANAGED_BY_LABEL] === MANAGED_BY,
    /** A HorizontalPodAutoscaler scales from 0 only where `minReplicas` is 0. */
    from0: spec.minReplicas === 0,
    byKeda: isScaledByKeda(metadata),
  };
}

/**
 * The queues without a worker about which KEDA does nothing: it is not running, cannot work, or its
 * object is being deleted. A number above 0 is kept, also where KEDA does not work. And the web processes,
 * where a HorizontalPodAutoscaler should scale them: it does nothing at 0.
 * @param status the last status of the queues
 * @param own the last status of the workers of other queues
 * @param web the last status of the web processes
 */
export function scaledToZero(
  status: WorkerScaling | undefined,
  own: readonly QueueWorkersStatus[] = [],
  web?: WebScalingStatus,
): readonly string[] {
  const known = QUEUES.flatMap((queue) => {
    const current = status?.[queue];
    return current ? [{ name: queue, ...current }] : [];
  });
  const sleeping = [...known, ...own].filter(sleepsForever).map(({ name }) => name);
  return web?.desiredReplicas === 0 ? [...sleeping, WEB] : sleeping;
}

function sleepsForever({ mode, kedaManaged, desiredReplicas }: QueueScalingStatus): boolean {
  return mode === 'autoscaled' && !kedaManaged && desiredReplicas === 0;
}

type ChildLookup = (kind: string, name: string) => ChildView | undefined;

/** The workers of a bench or a site, and how to find their children. */
export interface WorkerChildren {
  /** The name of the Deployment and of the ScaledObject of workers. */
  readonly name: (group: string) => string;
  readonly scale: (group: string) => WorkerScale;
  readonly foreign: ForeignScalers;
  readonly child: ChildLookup;
}

/** The status of each queue. */
export function scalingStatus(
  workers: WorkerChildren,
): Readonly<Record<Queue, QueueScalingStatus>> {
  const entries = QUEUES.map((queue) => [queue, statusOf(workers, queue)] as const);
  return Object.fromEntries(entries) as Record<Queue, QueueScalingStatus>;
}

/** The status of the workers of other queues; undefined without any. */
export function ownWorkersStatus(
  workers: WorkerChildren,
  names: readonly string[],
): readonly QueueWorkersStatus[] | undefined {
  if (names.length === 0) return undefined;
  return names.map((name) => ({ name, ...statusOf(workers, name) }));
}

function statusOf({ name, scale, child }: WorkerChildren, group: string): QueueScalingStatus {
  const decided = scale(group);
  const { mode } = decided;
  const current = child('Deployment', name(group))?.replicas;
  // A Deployment that is made without a number gets one worker.
  const desired = decided.mode === 'static' ? decided.replicas : (current?.desired ?? 1);
  return {
    mode,
    currentReplicas: current?.current ?? 0,
    desiredReplicas: desired,
    kedaManaged: mode === 'autoscaled' && isManagedByKeda(child(SCALER_KIND, name(group))),
  };
}

/** The condition Autoscaling. */
export function scalingCondition(
  workers: WorkerChildren,
  obstacle: { readonly reason: string; readonly message: string } | undefined,
  wanted: readonly string[],
): readonly ConditionResult[] {
  const type = 'Autoscaling';
  for (const { name, deployment } of Object.values(workers.foreign) as ForeignScaler[]) {
    const message = `the number of Deployment ${deployment} is scaled by HorizontalPodAutoscaler ${name}, which another owner manages`;
    return [{ type, status: 'False', reason: 'ForeignScaler', message }];
  }
  if (wanted.length === 0) return [];
  if (obstacle) {
    const message = `workers are not scaled by events: ${obstacle.message}`;
    return [{ type, status: 'False', reason: obstacle.reason, message }];
  }
  for (const queue of wanted) {
    const name = workers.name(queue);
    const health = workers.child(SCALER_KIND, name)?.health;
    if (health && health.state !== 'Ready') {
      return [{ type, status: 'False', ...scalerCondition(name, health) }];
    }
  }
  return [{ type, status: 'True', reason: 'Keda', message: `KEDA scales ${wanted.join(', ')}` }];
}
