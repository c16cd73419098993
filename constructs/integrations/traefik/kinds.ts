import { advisoryKind } from '../../kit/object-kind.js';

export const TraefikMiddleware = advisoryKind('traefik.io/v1alpha1', 'Middleware', 'middlewares');
