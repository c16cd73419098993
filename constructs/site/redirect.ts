/**
 * Annotations that make an ingress controller answer HTTP with a redirect to HTTPS, by a word in the name
 * of its class. Several controllers go by one word: each takes its own annotation, and no other.
 */
const REDIRECTS: Readonly<Record<string, readonly string[]>> = {
  nginx: ['nginx.ingress.kubernetes.io/ssl-redirect', 'ingress.kubernetes.io/ssl-redirect'],
  haproxy: ['haproxy.org/ssl-redirect', 'haproxy-ingress.github.io/ssl-redirect'],
};

/**
 * The annotations for a class. They also say no: these controllers redirect by themselves as soon as an
 * Ingress speaks of TLS, also to a certificate that is not there yet.
 * @param className undefined for the cluster's default, of which nothing is known
 */
export function redirectAnnotations(
  className: string | undefined,
  redirects: boolean,
): Readonly<Record<string, string>> {
  const names = wordsOf(className).flatMap((word) => REDIRECTS[word] ?? []);
  return Object.fromEntries(names.map((name) => [name, String(redirects)]));
}

/** Whether the controller of a class redirects by an object of its own: Traefik's middlewares. */
export function redirectsByMiddleware(className: string | undefined): boolean {
  return wordsOf(className).includes('traefik');
}

/** `nginx-internal` is a class of nginx. */
function wordsOf(className: string | undefined): readonly string[] {
  return className?.split(/[-.]/) ?? [];
}
