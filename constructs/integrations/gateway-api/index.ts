import type { Integration } from '../../kit/integration.js';
import type { Resource } from '../../kit/object.js';
import { addRoutes } from './http-route.js';
import { Gateway, HttpRoute } from './kinds.js';

/** HTTPRoutes in place of Ingresses. */
export const gatewayApi: Integration = {
  name: 'gateway-api',
  title: 'Gateway API',
  uses: { AppSite: { owns: [HttpRoute], reads: [Gateway] } },
  isNamedBy: namesGateway,
  access: {
    kind: HttpRoute,
    replacesIngress: ({ namesGateway: isNamed }) => isNamed,
    add: addRoutes,
  },
};

/** A site names a Gateway, or has that of its bench. */
function namesGateway({ spec }: Resource): boolean {
  const { ingress, domainConfig } = spec as {
    readonly ingress?: { readonly gatewayRef?: object };
    readonly domainConfig?: { readonly gatewayRef?: object };
  };
  return (ingress?.gatewayRef ?? domainConfig?.gatewayRef) !== undefined;
}
