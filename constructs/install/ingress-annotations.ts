const under = (prefix: string, ...names: readonly string[]): readonly string[] =>
  names.map((name) => `${prefix}/${name}`);

/**
 * Annotations whose value is a number, a size, a duration, a switch, addresses, or the name of an object
 * that the site may name anyway. None runs code, changes the backend, checks a login, or serves
 * another host name.
 */
export const DEFAULT_INGRESS_ANNOTATIONS: readonly string[] = [
  // prettier-ignore
  ...under(
    'nginx.ingress.kubernetes.io',
    'proxy-body-size', 'client-body-buffer-size',
    'proxy-connect-timeout', 'proxy-read-timeout', 'proxy-send-timeout',
    'proxy-buffering', 'proxy-buffer-size', 'proxy-buffers-number', 'proxy-request-buffering',
    'proxy-max-temp-file-size', 'proxy-busy-buffers-size',
    'proxy-next-upstream-timeout', 'proxy-next-upstream-tries',
    'limit-connections', 'limit-rps', 'limit-rpm', 'limit-rate', 'limit-rate-after',
    'limit-burst-multiplier', 'ssl-redirect', 'force-ssl-redirect',
    'whitelist-source-range', 'allowlist-source-range', 'denylist-source-range',
  ),
  ...under('ingress.kubernetes.io', 'proxy-body-size', 'ssl-redirect', 'force-ssl-redirect'),
  // prettier-ignore
  ...under(
    'nginx.org',
    'client-max-body-size', 'proxy-buffering', 'proxy-buffer-size', 'proxy-buffers',
    'proxy-connect-timeout', 'proxy-read-timeout', 'proxy-send-timeout',
    'redirect-to-https',
  ),
  // prettier-ignore
  ...under(
    'haproxy.router.openshift.io',
    'timeout', 'timeout-tunnel', 'ip_allowlist', 'ip_whitelist',
    'rate-limit-connections', 'rate-limit-connections.*',
  ),
  // prettier-ignore
  ...under(
    'haproxy.org',
    'timeout-client', 'timeout-connect', 'timeout-http-request', 'timeout-server',
    'ssl-redirect', 'rate-limit-period', 'rate-limit-requests', 'rate-limit-size',
  ),
  // prettier-ignore
  ...under(
    'haproxy-ingress.github.io',
    'proxy-body-size', 'ssl-redirect', 'limit-connections', 'limit-rps',
    'timeout-client', 'timeout-connect', 'timeout-server', 'timeout-tunnel',
  ),
  ...under('traefik.ingress.kubernetes.io', 'router.entrypoints', 'router.tls'),
  ...under('alb.ingress.kubernetes.io', 'healthcheck-*', 'ip-address-type', 'ssl-redirect'),
  ...under('cert-manager.io', 'issuer', 'cluster-issuer', 'issuer-kind', 'issuer-group'),
  ...under('cert-manager.io', 'duration', 'renew-before', 'private-key-*'),
  ...under('acme.cert-manager.io', 'http01-edit-in-place'),
  ...under('external-dns.alpha.kubernetes.io', 'ttl', 'target', 'cloudflare-proxied'),
];
