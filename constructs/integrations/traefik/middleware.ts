import { ApiObject } from 'cdk8s';
import type { Construct } from 'constructs';
import { classWords } from '../../kit/ingress-class.js';
import { hasCertificate, type AccessProps } from '../../kit/integration.js';
import { TraefikMiddleware } from './kinds.js';

/**
 * Adds the Middleware that redirects HTTP to HTTPS, once the certificate exists. Traefik has no
 * annotation for it.
 * @returns the annotation of the Ingress that names the Middleware
 */
export function addRedirect(
  _scope: Construct,
  { name, namespace, labels, className, tls, named }: AccessProps,
): Readonly<Record<string, string>> {
  if (!tls || !hasCertificate(tls) || !classWords(className).includes('traefik')) return {};
  new ApiObject(named, 'redirect', {
    apiVersion: TraefikMiddleware.apiVersion,
    kind: TraefikMiddleware.kind,
    metadata: { name, namespace, labels: { ...labels } },
    spec: { redirectScheme: { scheme: 'https', permanent: true } },
  });
  const middleware = `${namespace}-${name}@kubernetescrd`;
  return { 'traefik.ingress.kubernetes.io/router.middlewares': middleware };
}
