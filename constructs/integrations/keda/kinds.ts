import { advisoryKind, type ObjectKind } from '../../kit/object-kind.js';
import { scaledObjectHealth } from './health.js';

export const ScaledObject: ObjectKind = {
  ...advisoryKind('keda.sh/v1alpha1', 'ScaledObject', 'scaledobjects'),
  health: scaledObjectHealth,
};
export const TriggerAuthentication = advisoryKind(
  'keda.sh/v1alpha1',
  'TriggerAuthentication',
  'triggerauthentications',
);
