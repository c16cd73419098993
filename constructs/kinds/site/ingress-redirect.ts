import { classWords } from '../../kit/ingress-class.js';

/**
 * Annotations that make an ingress controller redirect HTTP to HTTPS, by a word in the name of its
 * class. Several controllers have one word: each reads its own annotation, and no other.
 */
const REDIRECTS: Readonly<Record<string, readonly string[]>> = {
  nginx: ['nginx.ingress.kubernetes.io/ssl-redirect', 'ingress.kubernetes.io/ssl-redirect'],
  haproxy: ['haproxy.org/ssl-redirect', 'haproxy-ingress.github.io/ssl-redirect'],
};

/**
 * The annotations for a class. They are set to `false` too: these controllers redirect as soon as
 * an Ingress has TLS, also while the certificate does not exist.
 * @param className undefined for the cluster's default class, whose controller is unknown
 */
export function redirectAnnotations(
  className: string | undefined,
  redirects: boolean,
): Readonly<Record<string, string>> {
  const names = classWords(className).flatMap((word) => REDIRECTS[word] ?? []);
  return Object.fromEntries(names.map((name) => [name, String(redirects)]));
}
