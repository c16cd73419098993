import type { Integration } from '../../kit/integration.js';
import { ScaledObject, TriggerAuthentication } from './kinds.js';

/** Scales the workers of a queue by its length. */
export const keda: Integration = {
  name: 'keda',
  title: 'KEDA',
  uses: {
    AppBench: { owns: [ScaledObject, TriggerAuthentication] },
    AppSite: { owns: [ScaledObject] },
  },
};

/**
 * The label `app.kubernetes.io/name` of KEDA's operator, which reads the lengths of queues from
 * Redis.
 */
export const KEDA_OPERATOR = 'keda-operator';
