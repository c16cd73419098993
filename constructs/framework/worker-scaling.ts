import type { QueueScaling, QueueScalingStatus, WorkerScaling } from '../bench/api.js';
import type { Queue } from '../kit/api.js';
import type { Verdict } from '../kit/condition.js';
import type { ChildView } from '../kit/kind.js';

export const QUEUES: readonly Queue[] = ['default', 'short', 'long'];

/** How many workers a queue gets, and who decides. */
export type WorkerScale =
  | { readonly mode: 'static'; readonly replicas: number }
  | {
      readonly mode: 'autoscaled';
      readonly scaling: QueueScaling;
      /** Workers where KEDA cannot say how many. */
      readonly fallback: number;
      /** What is applied although KEDA owns the number: nobody else wakes the queue. */
      readonly replicas?: number;
    };

/** What decides about the workers of a queue. */
export interface WorkerScaleProps {
  readonly scaling: QueueScaling | undefined;
  /** The number in `componentReplicas`. */
  readonly replicas: number | undefined;
  /** Whether KEDA is there, and can read the queue. */
  readonly served: boolean;
  /** Whether the queue has no worker, and KEDA does nothing about it. @default false */
  readonly asleep?: boolean;
}

/** Decides between event-driven and fixed scaling. */
export function workerScale({
  scaling,
  replicas,
  served,
  asleep = false,
}: WorkerScaleProps): WorkerScale {
  const least = scaling?.enabled ? Math.max(1, scaling.minReplicas) : 1;
  const fallback = scaling?.staticReplicas ?? replicas ?? least;
  if (!scaling?.enabled || !served) return { mode: 'static', replicas: fallback };
  return { mode: 'autoscaled', scaling, fallback, ...(asleep ? { replicas: fallback } : {}) };
}

/**
 * The queues without a worker about which KEDA does nothing: it is not running, cannot work, or its
 * object is going. A number above 0 is left alone whatever happens to KEDA.
 * @param status what was last said of the queues
 */
export function asleep(status: WorkerScaling | undefined): readonly Queue[] {
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
  readonly child: Look;
}

/** What is said of each queue. */
export function scalingStatus(workers: WorkersSeen): Readonly<Record<Queue, QueueScalingStatus>> {
  const entries = QUEUES.map((queue): readonly [Queue, QueueScalingStatus] => {
    const { name, scale, child } = workers;
    const { mode, ...decided } = scale(queue);
    const seen = child('Deployment', name(queue))?.replicas;
    // A Deployment that is made without a number gets one worker.
    const desired = mode === 'static' ? decided.replicas : (seen?.desired ?? 1);
    return [
      queue,
      {
        mode,
        currentReplicas: seen?.current ?? 0,
        desiredReplicas: desired ?? 0,
        kedaManaged: mode === 'autoscaled' && isManaged(child('ScaledObject', name(queue))),
      },
    ];
  });
  return Object.fromEntries(entries) as Record<Queue, QueueScalingStatus>;
}

/** KEDA has taken a queue over when it says Ready; one with a reason is Ready, and something else besides. */
function isManaged(scaler: ChildView | undefined): boolean {
  return scaler?.health.state === 'Ready' || scaler?.health.reason !== undefined;
}

/** Why the workers of some queues cannot be scaled by events, or that they are. */
export function scalingCondition(
  workers: WorkersSeen,
  obstacle: { readonly reason: string; readonly message: string } | undefined,
  wanted: readonly Queue[],
): readonly Verdict[] {
  if (wanted.length === 0) return [];
  const type = 'Autoscaling';
  if (obstacle) {
    const message = `workers stay at fixed numbers: ${obstacle.message}`;
    return [{ type, status: 'False', reason: obstacle.reason, message }];
  }
  for (const queue of wanted) {
    const name = workers.name(queue);
    const health = workers.child('ScaledObject', name)?.health;
    if (health && health.state !== 'Ready') {
      return [
        {
          type,
          status: 'False',
          reason: health.reason === 'Paused' ? 'ScalerPaused' : 'ScalerNotReady',
          message: `ScaledObject ${name}: ${health.message}`,
        },
      ];
    }
  }
  return [{ type, status: 'True', reason: 'Keda', message: `KEDA scales ${wanted.join(', ')}` }];
}

/** Why KEDA cannot scale workers at all; undefined where it can. */
export function scalingObstacle(facts: {
  readonly keda: boolean;
  readonly externalRedis: boolean;
}): { readonly reason: string; readonly message: string } | undefined {
  if (facts.externalRedis) {
    const message = 'the address of an external Redis is in a Secret, where no scaler can read it';
    return { reason: 'ExternalRedis', message };
  }
  if (facts.keda) return undefined;
  return { reason: 'KedaMissing', message: 'the cluster does not serve keda.sh/v1alpha1' };
}
