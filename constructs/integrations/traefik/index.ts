import type { Integration } from '../../kit/integration.js';
import { TraefikMiddleware } from './kinds.js';
import { addRedirect } from './middleware.js';

/** Redirects HTTP to HTTPS where Traefik is the ingress controller. */
export const traefik: Integration = {
  name: 'traefik',
  title: 'Traefik',
  uses: { AppSite: { owns: [TraefikMiddleware] } },
  ingress: { kind: TraefikMiddleware, before: addRedirect },
};
