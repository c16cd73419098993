import type { Integration } from '../../kit/integration.js';
import type { Resource } from '../../kit/object.js';
import { ScaledObject, TriggerAuthentication } from './kinds.js';

/** Scales the workers of a queue by its length. */
export const keda: Integration = {
  name: 'keda',
  title: 'KEDA',
  uses: {
    AppBench: { owns: [ScaledObject, TriggerAuthentication] },
    AppSite: { owns: [ScaledObject] },
  },
  isNamedBy: scalesWorkers,
};

/**
 * The label `app.kubernetes.io/name` of KEDA's operator, which reads the lengths of queues from
 * Redis.
 */
export const KEDA_OPERATOR = 'keda-operator';

interface Scaling {
  readonly enabled: boolean;
}

/** Sites have the scaling of their bench. */
function scalesWorkers({ spec }: Resource): boolean {
  const { workerAutoscaling = {}, workers = [] } = spec as {
    readonly workerAutoscaling?: Readonly<Record<string, Scaling>>;
    readonly workers?: readonly { readonly autoscaling?: Scaling }[];
  };
  const scalings = [...Object.values(workerAutoscaling), ...workers.map((one) => one.autoscaling)];
  return scalings.some((scaling) => scaling?.enabled);
}
