import { conditionResult, type ConditionResult } from '../../kit/condition.js';
import type { AccessGateway } from '../../kit/integration.js';
import type { ChildView } from '../../kit/kind.js';
import { HttpRoute } from './kinds.js';

type ChildOf = (kind: string, name: string) => ChildView | undefined;

/** Name of the route that redirects to another one. */
export function redirectName(route: string): string {
  return `${route}-redirect`;
}

function routeNames({ routes }: AccessGateway): readonly string[] {
  return routes.flatMap(({ name, redirects }) =>
    redirects.length === 0 ? [name] : [name, redirectName(name)],
  );
}

/** Whether a controller takes each route as it is now. */
export function isAccepted(gateway: AccessGateway, child: ChildOf): boolean {
  return (
    gateway.isServed &&
    routeNames(gateway).every((name) => child(HttpRoute.kind, name)?.health.state === 'Ready')
  );
}

/** The conditions of a site with a Gateway. */
export function gatewayConditions(
  gateway: AccessGateway,
  child: ChildOf,
): readonly ConditionResult[] {
  const { encrypted } = gateway;
  return [...(encrypted ? [certificateReady(gateway)] : []), routeAccepted(gateway, child)];
}

function certificateReady(gateway: AccessGateway): ConditionResult {
  const { withoutHttps } = gateway;
  const type = 'CertificateReady';
  if (withoutHttps.length === 0) {
    const message = `TLS ends at ${titleOf(gateway)}`;
    return conditionResult(type, 'True', 'GatewayCertificate', message);
  }
  const message = `${titleOf(gateway)} has no HTTPS listener for ${withoutHttps.join(', ')}`;
  return conditionResult(type, 'False', 'ListenerMissing', message);
}

function routeAccepted(gateway: AccessGateway, child: ChildOf): ConditionResult {
  const type = 'RouteAccepted';
  if (!gateway.isServed) {
    const message = 'there is no route: the cluster does not serve gateway.networking.k8s.io/v1';
    return conditionResult(type, 'False', 'GatewayApiMissing', message);
  }
  const states = routeNames(gateway).map((name) => {
    const health = child(HttpRoute.kind, name)?.health;
    return { name, health: health ?? { state: 'Missing' as const, message: 'not created yet' } };
  });
  const waiting = states.find(({ health }) => health.state !== 'Ready');
  if (!waiting) return conditionResult(type, 'True', 'Accepted', titleOf(gateway));
  const { name, health } = waiting;
  if (!gateway.isFound && (health.state === 'Missing' || health.unobserved)) {
    const message = `gatewayRef: there is no ${titleOf(gateway)} that the operator can read`;
    return conditionResult(type, 'False', 'GatewayMissing', message);
  }
  if (health.reason === 'OperatorSilent') {
    const message = `HTTPRoute ${name}: no controller has answered for a minute; check that the controller of ${titleOf(gateway)} runs, and supports HTTPRoute`;
    return conditionResult(type, 'False', 'OperatorSilent', message);
  }
  return conditionResult(
    type,
    'False',
    health.reason ?? 'Waiting',
    `HTTPRoute ${name}: ${health.message}`,
  );
}

function titleOf({ namespace, name }: AccessGateway): string {
  return `Gateway ${namespace}/${name}`;
}
