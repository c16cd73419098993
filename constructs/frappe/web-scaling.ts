import type { Construct } from 'constructs';
import type { WebAutoscaling, WebScalingStatus } from '../kit/api.js';
import type { ConditionResult } from '../kit/condition.js';
import type { Observation } from '../kit/kind.js';
import * as k8s from '../kit/k8s.js';
import { HorizontalPodAutoscaler } from '../kit/object-kind.js';
import type { Resource } from '../kit/object.js';
import { maxReplicasOf, WEB, type ForeignScaler } from './worker-scaling.js';

/** What decides about the number of pods with web processes. */
export interface WebScaleProps {
  readonly autoscaling: WebAutoscaling | undefined;
  /** The number in `componentReplicas`. */
  readonly replicas: number | undefined;
  /** Whether there is no pod: a HorizontalPodAutoscaler does nothing then. */
  readonly scaledToZero: boolean;
  readonly foreign: ForeignScaler | undefined;
}

/** The number of pods with web processes. */
export interface WebScale {
  /** The number that is applied; undefined leaves it to an autoscaler. */
  readonly replicas: number | undefined;
  /** The scaling by our HorizontalPodAutoscaler. */
  readonly scaling?: WebAutoscaling;
  /** Whether an autoscaler decides. */
  readonly scaled: boolean;
}

/** Decides between scaling by load and a fixed number. */
export function webScale({
  autoscaling,
  replicas = 1,
  scaledToZero,
  foreign,
}: WebScaleProps): WebScale {
  const scaling = autoscaling?.enabled ? autoscaling : undefined;
  const least = scaling?.minReplicas ?? replicas;
  if (foreign) {
    const sleeping = scaledToZero && !foreign.scalesFromZero;
    return { replicas: sleeping ? least : undefined, scaled: true };
  }
  if (!scaling) return { replicas, scaled: false };
  return { replicas: scaledToZero ? least : undefined, scaling, scaled: true };
}

/** Whether there may be several pods at a time. */
export function hasSeveral({ replicas, scaling, scaled }: WebScale): boolean {
  if (scaling) return maxReplicasOf(scaling) > 1;
  return scaled || (replicas ?? 1) > 1;
}

export interface WebScalerProps {
  /** Name of the Deployment, and of the HorizontalPodAutoscaler. */
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly scaling: WebAutoscaling;
}

/** The HorizontalPodAutoscaler of the web processes. */
export class WebScaler extends k8s.KubeHorizontalPodAutoscaler {
  constructor(scope: Construct, id: string, { name, namespace, labels, scaling }: WebScalerProps) {
    super(scope, id, {
      metadata: { name, namespace, labels },
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name },
        minReplicas: scaling.minReplicas,
        maxReplicas: maxReplicasOf(scaling),
        metrics: [
          {
            // Not of the whole pod: a sidecar without a request would stop the scaling.
            type: 'ContainerResource',
            containerResource: {
              container: WEB,
              name: 'cpu',
              target: { type: 'Utilization', averageUtilization: scaling.target.value },
            },
          },
        ],
      },
    });
  }
}

type Children = Pick<Observation<Resource, unknown>, 'child'>;

/** The pods of web processes that an autoscaler scales; undefined where their number is fixed. */
export function webScalingStatus(
  { child }: Children,
  name: string,
  { scaled }: WebScale,
): WebScalingStatus | undefined {
  if (!scaled) return undefined;
  const live = child('Deployment', name)?.replicas;
  // A Deployment that is made without a number gets one pod.
  return { currentReplicas: live?.current ?? 0, desiredReplicas: live?.desired ?? 1 };
}

/** What the condition `Autoscaling` says of web processes. */
export function webCondition(
  { child }: Children,
  name: string,
  { scaling }: WebScale,
): readonly ConditionResult[] {
  const { kind } = HorizontalPodAutoscaler;
  const health = child(kind, name)?.health;
  if (!scaling || !health) return [];
  const type = 'Autoscaling';
  if (health.state !== 'Ready') {
    const message = `${kind} ${name}: ${health.message}`;
    return [{ type, status: 'False', reason: 'ScalerNotReady', message }];
  }
  const message = `${kind} ${name} scales gunicorn`;
  return [{ type, status: 'True', reason: 'HorizontalPodAutoscaler', message }];
}

/** One condition `Autoscaling`: of what does not scale, else of all. */
export function oneCondition(parts: readonly ConditionResult[]): readonly ConditionResult[] {
  const failing = parts.filter(({ status }) => status !== 'True');
  const shown = failing.length > 0 ? failing : parts;
  const [first] = shown;
  if (!first) return [];
  return [{ ...first, message: shown.map(({ message }) => message).join('; ') }];
}
