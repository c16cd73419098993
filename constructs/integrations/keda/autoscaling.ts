import type { ConditionResult } from '../../kit/condition.js';
import type { Health } from '../../kit/health.js';
import type { ChildView, ClusterReader } from '../../kit/kind.js';
import { MANAGED_BY, MANAGED_BY_LABEL } from '../../kit/labels.js';
import type { ObjectMeta } from '../../kit/object.js';
import { ScaledObject, TriggerAuthentication } from './kinds.js';

/** Whether the cluster serves ScaledObjects. */
export function servesKeda(reader: Pick<ClusterReader, 'serves'>): boolean {
  return reader.serves(ScaledObject);
}

/** Whether KEDA can log in to Redis: the cluster may serve ScaledObjects earlier. */
export function servesKedaLogins(reader: Pick<ClusterReader, 'serves'>): boolean {
  return reader.serves(TriggerAuthentication);
}

/** Name of the HorizontalPodAutoscaler that KEDA makes of the ScaledObject of a Deployment. */
export function kedaScalerName(deployment: string): string {
  return `keda-hpa-${deployment}`;
}

/**
 * Whether KEDA scales a HorizontalPodAutoscaler's target from 0, also where `minReplicas` is
 * higher. One with the labels of our own ScaledObject is a leftover: KEDA does not scale its
 * target.
 */
export function isScaledByKeda({ labels, ownerReferences = [] }: ObjectMeta): boolean {
  return (
    ownerReferences.some(({ kind }) => kind === ScaledObject.kind) &&
    labels?.[MANAGED_BY_LABEL] !== MANAGED_BY
  );
}

/**
 * Whether KEDA owns the number of replicas: one with a reason is ready, but paused or in fallback.
 */
export function isManagedByKeda(scaler: ChildView | undefined): boolean {
  if (!scaler || scaler.health.unobserved) return false;
  return scaler.health.state === 'Ready' || scaler.health.reason !== undefined;
}

/** The kind of the child that scales a queue's workers. */
export const SCALER_KIND = ScaledObject.kind;

/** What keeps KEDA from scaling any workers; undefined where nothing does. */
export function kedaObstacle(inputs: {
  readonly keda: boolean;
  readonly externalRedis: boolean;
}): { readonly reason: string; readonly message: string } | undefined {
  if (inputs.externalRedis) {
    const message = 'KEDA cannot read the address of an external Redis, which is in a Secret';
    return { reason: 'ExternalRedis', message };
  }
  if (inputs.keda) return undefined;
  const message = `the cluster does not serve ${ScaledObject.apiVersion}`;
  return { reason: 'KedaMissing', message };
}

/** The condition for a ScaledObject that does not scale. */
export function scalerCondition(
  name: string,
  health: Health,
): Pick<ConditionResult, 'reason' | 'message'> {
  return {
    reason: health.reason === 'Paused' ? 'ScalerPaused' : 'ScalerNotReady',
    message: `ScaledObject ${name}: ${health.message}`,
  };
}
