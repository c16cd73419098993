import type { QueueScaling, QueueScalingStatus, WorkerScaling } from '../bench/api.js';
import {
  isManagedByKeda,
  isScaledByKeda,
  kedaScalerName,
  SCALER_KIND,
  scalerCondition,
  servesKeda,
} from '../integrations/keda/autoscaling.js';
import type { Queue } from '../kit/api.js';
import type { ConditionResult } from '../kit/condition.js';
import type { ChildView, ClusterReader } from '../kit/kind.js';
import { keyOf } from '../kit/object.js';
import { QUEUES } from './constants.generated.js';
import { scalersOfDeployment, type HpaLike } from './indexes.js';

/** How many workers a queue gets, and who decides. */
export type WorkerScale =
  | { readonly mode: 'static'; readonly replicas: number }
  | {
      readonly mode: 'autoscaled';
      /** Of our ScaledObject; undefined where a HorizontalPodAutoscaler of somebody else has the number. */
      readonly scaling?: QueueScaling;
      /** Workers where nobody else can say how many. */
      readonly fallback: number;
      /** What is applied although KEDA owns the number: nobody else wakes the queue. */
      readonly replicas?: number;
    };

/** What is asked for the workers of a queue, and whether it can be had. */
export interface WorkersWanted {
  readonly scaling: QueueScaling | undefined;
  /** The number in `componentReplicas`. */
  readonly replicas: number | undefined;
  /** Whether KEDA is there, and can read the queue. */
  readonly served: boolean;
}

/** What decides about the workers of a queue. */
export interface WorkerScaleProps extends WorkersWanted {
  /** Whether the queue has no worker, and KEDA does nothing about it. @default false */
  readonly scaledToZero?: boolean;
  /** The HorizontalPodAutoscaler of somebody else that scales the Deployment. @default none */
  readonly foreign?: ForeignScaler | undefined;
}

/** Of what a ScaledObject of ours is made, where nobody else has the number; undefined where there is none. */
function ownScaling({ scaling, served }: WorkersWanted): QueueScaling | undefined {
  return served && scaling?.enabled ? scaling : undefined;
}

/** Decides between event-driven and fixed scaling. */
export function workerScale(props: WorkerScaleProps): WorkerScale {
  const { scaling, replicas, scaledToZero = false, foreign } = props;
  const least = scaling?.enabled ? Math.max(1, scaling.minReplicas) : 1;
  const fallback = scaling?.staticReplicas ?? replicas ?? least;
  const woken = scaledToZero ? { replicas: fallback } : {};
  // Two that write one number never come to rest.
  if (foreign) return { mode: 'autoscaled', fallback, ...(foreign.scalesFromZero ? {} : woken) };
  const own = ownScaling(props);
  if (!own) return { mode: 'static', replicas: fallback };
  return { mode: 'autoscaled', scaling: own, fallback, ...woken };
}

/** A HorizontalPodAutoscaler of somebody else. */
export interface ForeignScaler {
  readonly name: string;
  /** Whether a queue at 0 is a wish of somebody who brings it back from there. */
  readonly scalesFromZero: boolean;
}

export type ForeignScalers = Readonly<Partial<Record<Queue, ForeignScaler>>>;

/**
 * Finds who else scales the workers of some queues.
 * @param deployment name of a queue's Deployment
 * @param wanted what we want of KEDA: where that is a ScaledObject, its HorizontalPodAutoscaler is ours
 */
export function foreignScalers(
  reader: ClusterReader,
  namespace: string,
  deployment: (queue: Queue) => string,
  wanted: (queue: Queue) => WorkersWanted,
): ForeignScalers {
  return Object.fromEntries(
    QUEUES.flatMap((queue) => {
      const name = deployment(queue);
      const others = reader
        .list(scalersOfDeployment, keyOf(namespace, name), scalerOf)
        .filter((hpa) => !(ownScaling(wanted(queue)) && hpa.name === kedaScalerName(name)));
      const [foreign] = others;
      if (!foreign) return [];
      const keda = servesKeda(reader);
      const scalesFromZero = others.some(({ from0, byKeda }) => from0 || (byKeda && keda));
      return [[queue, { name: foreign.name, scalesFromZero }]];
    }),
  );
}

function scalerOf({ metadata, spec }: HpaLike) {
  return {
    name: metadata.name,
    /** A HorizontalPodAutoscaler scales from 0 only where `minReplicas` is 0. */
    from0: spec.minReplicas === 0,
    byKeda: isScaledByKeda(metadata),
  };
}

/**
 * The queues without a worker about which KEDA does nothing: it is not running, cannot work, or its
 * object is going. A number above 0 is left alone whatever happens to KEDA.
 * @param status what was last said of the queues
 */
export function scaledToZero(status: WorkerScaling | undefined): readonly Queue[] {
  return QUEUES.filter((queue) => {
    const seen = status?.[queue];
    return seen?.mode === 'autoscaled' && !seen.kedaManaged && seen.desiredReplicas === 0;
  });
}

type Look = (kind: string, name: string) => ChildView | undefined;

/** What workers of several queues have in common for whoever looks at them. */
export interface WorkersSeen {
  /** The name of a queue's Deployment and ScaledObject. */
  readonly name: (queue: Queue) => string;
  readonly scale: (queue: Queue) => WorkerScale;
  readonly foreign: ForeignScalers;
  readonly child: Look;
}

/** What is said of each queue. */
export function scalingStatus(workers: WorkersSeen): Readonly<Record<Queue, QueueScalingStatus>> {
  const entries = QUEUES.map((queue): readonly [Queue, QueueScalingStatus] => {
    const { name, scale, child } = workers;
    const decided = scale(queue);
    const { mode } = decided;
    const seen = child('Deployment', name(queue))?.replicas;
    // A Deployment that is made without a number gets one worker.
    const desired = decided.mode === 'static' ? decided.replicas : (seen?.desired ?? 1);
    return [
      queue,
      {
        mode,
        currentReplicas: seen?.current ?? 0,
        desiredReplicas: desired,
        kedaManaged: mode === 'autoscaled' && isManagedByKeda(child(SCALER_KIND, name(queue))),
      },
    ];
  });
  return Object.fromEntries(entries) as Record<Queue, QueueScalingStatus>;
}

/** Why the workers of some queues cannot be scaled by events, or that they are. */
export function scalingCondition(
  workers: WorkersSeen,
  obstacle: { readonly reason: string; readonly message: string } | undefined,
  wanted: readonly Queue[],
): readonly ConditionResult[] {
  const type = 'Autoscaling';
  for (const [queue, { name }] of Object.entries(workers.foreign) as [Queue, ForeignScaler][]) {
    const message = `the number of Deployment ${workers.name(queue)} is left to HorizontalPodAutoscaler ${name}, which is not of this operator`;
    return [{ type, status: 'False', reason: 'ForeignScaler', message }];
  }
  if (wanted.length === 0) return [];
  if (obstacle) {
    const message = `workers stay at fixed numbers: ${obstacle.message}`;
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
