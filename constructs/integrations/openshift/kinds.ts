import {
  conditionsOf,
  detailOf,
  READY,
  recordsOf,
  type Health,
  type Observable,
} from '../../kit/health.js';
import { optionalKind, type ObjectKind } from '../../kit/object-kind.js';

interface RouteObject extends Observable {
  readonly status?: Observable['status'] & {
    /** What each router reports. */
    readonly ingress?: unknown;
  };
}

/** Naming the host of a Route needs a right beside those on the Route. */
export const Route: ObjectKind = {
  ...optionalKind('route.openshift.io/v1', 'Route', 'routes'),
  also: [{ resource: 'routes/custom-host', verbs: ['create', 'update'] }],
  health: { evaluate: (object: RouteObject) => routeHealth(object) },
};
export const SecurityContextConstraints: ObjectKind = {
  ...optionalKind(
    'security.openshift.io/v1',
    'SecurityContextConstraints',
    'securitycontextconstraints',
  ),
  clusterScoped: true,
};

/** Each router reports whether it admits a Route; where none reports, none refuses it. */
function routeHealth({ status }: RouteObject): Health {
  const refused = recordsOf(status?.ingress)
    .map(({ conditions }) => conditionsOf(conditions).find(({ type }) => type === 'Admitted'))
    .find((admitted) => admitted?.status === 'False');
  return refused ? { state: 'Failed', message: detailOf(refused, 'not admitted') } : READY;
}
