import * as kinds from '../constructs/kit/object-kind.js';
import type { ObjectKind } from '../constructs/kit/object-kind.js';

/** The kinds of children that every cluster serves. */
export const CHILD_KINDS: readonly ObjectKind[] = [
  kinds.ConfigMap,
  kinds.Secret,
  kinds.Service,
  kinds.PersistentVolumeClaim,
  kinds.Deployment,
  kinds.StatefulSet,
  kinds.Job,
  kinds.CronJob,
  kinds.Ingress,
  kinds.NetworkPolicy,
  kinds.PodDisruptionBudget,
];
