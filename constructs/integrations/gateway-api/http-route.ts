import type { Construct } from 'constructs';
import {
  HttpRoute,
  HttpRouteSpecRulesFiltersRequestRedirectScheme,
  HttpRouteSpecRulesFiltersRequestRedirectStatusCode,
  HttpRouteSpecRulesFiltersType,
  HttpRouteSpecRulesMatchesPathType,
  type HttpRouteSpecRules,
} from '../../../imports/gateway.networking.k8s.io.js';
import type { AccessGateway, AccessProps } from '../../kit/integration.js';
import { redirectName } from './status.js';

/**
 * Adds a route for each host: a route has 16 hosts at most, and of a whole route, a controller reports only
 * whether a listener takes it.
 */
export function addRoutes(scope: Construct, props: AccessProps): Readonly<Record<string, string>> {
  const { gateway, backend } = props;
  if (!gateway) return {};
  for (const { host, name, sections, redirects } of gateway.routes) {
    addRoute(scope, props, {
      name,
      host,
      parentRefs: parentRefs(gateway, sections),
      rule: {
        ...EVERYTHING,
        backendRefs: [{ name: backend.service, port: backend.port }],
        // Some controllers end requests after 15 s by default: nginx and gunicorn have the limits.
        timeouts: { request: '0s' },
      },
    });
    if (redirects.length === 0) continue;
    addRoute(scope, props, {
      name: redirectName(name),
      host,
      parentRefs: parentRefs(gateway, redirects),
      rule: { ...EVERYTHING, filters: [TO_HTTPS] },
    });
  }
  return {};
}

function addRoute(
  scope: Construct,
  { namespace, labels, annotations }: AccessProps,
  route: {
    readonly name: string;
    readonly host: string;
    readonly parentRefs: ReturnType<typeof parentRefs>;
    readonly rule: HttpRouteSpecRules;
  },
): void {
  const { name, host } = route;
  new HttpRoute(scope, name, {
    metadata: {
      name,
      namespace,
      labels: { ...labels },
      ...(annotations ? { annotations: { ...annotations } } : {}),
    },
    spec: { parentRefs: route.parentRefs, hostnames: [host], rules: [route.rule] },
  });
}

/** @param sections listeners; all that take the route where none is given */
function parentRefs({ namespace, name }: AccessGateway, sections: readonly string[]) {
  const parent = { group: 'gateway.networking.k8s.io', kind: 'Gateway', namespace, name };
  return sections.length === 0
    ? [parent]
    : sections.map((sectionName) => ({ ...parent, sectionName }));
}

const EVERYTHING: HttpRouteSpecRules = {
  matches: [{ path: { type: HttpRouteSpecRulesMatchesPathType.PATH_PREFIX, value: '/' } }],
};
const TO_HTTPS = {
  type: HttpRouteSpecRulesFiltersType.REQUEST_REDIRECT,
  requestRedirect: {
    scheme: HttpRouteSpecRulesFiltersRequestRedirectScheme.HTTPS,
    statusCode: HttpRouteSpecRulesFiltersRequestRedirectStatusCode.VALUE_301,
  },
};
