import { classWords } from '../../kit/ingress-class.js';
import type { Integration } from '../../kit/integration.js';
import type { Resource } from '../../kit/object.js';
import { TraefikMiddleware } from './kinds.js';
import { addRedirect } from './middleware.js';

/** Redirects HTTP to HTTPS where Traefik is the ingress controller. */
export const traefik: Integration = {
  name: 'traefik',
  title: 'Traefik',
  uses: { AppSite: { owns: [TraefikMiddleware] } },
  isNamedBy: namesClass,
  access: { kind: TraefikMiddleware, add: addRedirect },
};

/** Ingress classes are named after their controllers. */
function namesClass({ spec }: Resource): boolean {
  const { ingress, domainConfig } = spec as {
    readonly ingress?: { readonly className?: string };
    readonly domainConfig?: { readonly ingressClassName?: string };
  };
  return classWords(ingress?.className ?? domainConfig?.ingressClassName).includes('traefik');
}
