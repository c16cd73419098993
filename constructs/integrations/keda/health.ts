import {
  detailOf,
  findCondition,
  type Health,
  type HealthRule,
  type Observable,
} from '../../kit/health.js';

/**
 * KEDA reports `Ready` also of a ScaledObject that is paused or cannot read its queue. Such a one
 * still owns the number of replicas, so its health has a reason.
 */
export const scaledObjectHealth: HealthRule = {
  reportsReady: true,
  evaluate(object: Observable, byReady: Health): Health {
    if (byReady.state !== 'Ready') return byReady;
    if (findCondition(object, 'Paused', 'True')) {
      return inProgress('Paused', 'is paused by an annotation');
    }
    if (findCondition(object, 'Fallback', 'True')) {
      return inProgress('Fallback', 'KEDA cannot read the queue and applies the fallback');
    }
    const inactive = findCondition(object, 'HPAActive', 'False');
    if (!inactive) return byReady;
    return inProgress('HPAInactive', detailOf(inactive, 'its HorizontalPodAutoscaler is inactive'));
  },
};

function inProgress(reason: string, message: string): Health {
  return { state: 'InProgress', reason, message };
}
