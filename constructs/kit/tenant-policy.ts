/**
 * What the cluster's administrator lets the authors of benches and sites do through the operator.
 * Without it, such an author could use rights of the operator that RBAC denies to them.
 */
export interface TenantPolicy {
  /**
   * Service accounts of pods, as `<namespace>/<name>` or `<name>`, where `*` stands for any text. Each
   * namespace's `default` is always allowed.
   */
  readonly allowedServiceAccounts: readonly string[];
  /** Keys of annotations of a site's Ingress or Route, where `*` stands for any text. */
  readonly allowedIngressAnnotations: readonly string[];
  /** How references of container images begin; all are allowed when empty. */
  readonly allowedImagePrefixes: readonly string[];
  /** The Pod Security Standard that a spec must not exceed. */
  readonly podSecurityLevel: PodSecurityLevel;
  /** Whether sites of several namespaces may serve one host name. */
  readonly sharedHosts: boolean;
}

export type PodSecurityLevel = 'restricted' | 'baseline' | 'privileged';

/** The word that stands for `DEFAULT_INGRESS_ANNOTATIONS` in a list of annotations. */
const DEFAULT_LIST = 'default';

const under = (prefix: string, ...names: readonly string[]): readonly string[] =>
  names.map((name) => `${prefix}/${name}`);

/**
 * Annotations whose value is a number, a size, a duration, a switch, addresses, or the name of an object
 * that the site may name anyway. None runs code, changes the backend, checks a login, or serves
 * another host name.
 */
export const DEFAULT_INGRESS_ANNOTATIONS: readonly string[] = [
  ...under(
    'nginx.ingress.kubernetes.io',
    ...['proxy-body-size', 'client-body-buffer-size'],
    ...['proxy-connect-timeout', 'proxy-read-timeout', 'proxy-send-timeout'],
    ...['proxy-buffering', 'proxy-buffer-size', 'proxy-buffers-number', 'proxy-request-buffering'],
    ...['proxy-max-temp-file-size', 'proxy-busy-buffers-size'],
    ...['proxy-next-upstream-timeout', 'proxy-next-upstream-tries'],
    ...['limit-connections', 'limit-rps', 'limit-rpm', 'limit-rate', 'limit-rate-after'],
    ...['limit-burst-multiplier', 'ssl-redirect', 'force-ssl-redirect'],
    ...['whitelist-source-range', 'allowlist-source-range', 'denylist-source-range'],
  ),
  ...under('ingress.kubernetes.io', 'proxy-body-size', 'ssl-redirect', 'force-ssl-redirect'),
  ...under(
    'nginx.org',
    ...['client-max-body-size', 'proxy-buffering', 'proxy-buffer-size', 'proxy-buffers'],
    ...['proxy-connect-timeout', 'proxy-read-timeout', 'proxy-send-timeout'],
    ...['redirect-to-https'],
  ),
  ...under(
    'haproxy.router.openshift.io',
    ...['timeout', 'timeout-tunnel', 'ip_allowlist', 'ip_whitelist'],
    ...['rate-limit-connections', 'rate-limit-connections.*'],
  ),
  ...under(
    'haproxy.org',
    ...['timeout-client', 'timeout-connect', 'timeout-http-request', 'timeout-server'],
    ...['ssl-redirect', 'rate-limit-period', 'rate-limit-requests', 'rate-limit-size'],
  ),
  ...under(
    'haproxy-ingress.github.io',
    ...['proxy-body-size', 'ssl-redirect', 'limit-connections', 'limit-rps'],
    ...['timeout-client', 'timeout-connect', 'timeout-server', 'timeout-tunnel'],
  ),
  ...under('traefik.ingress.kubernetes.io', 'router.entrypoints', 'router.tls'),
  ...under('alb.ingress.kubernetes.io', 'healthcheck-*', 'ip-address-type', 'ssl-redirect'),
  ...under('cert-manager.io', 'issuer', 'cluster-issuer', 'issuer-kind', 'issuer-group'),
  ...under('cert-manager.io', 'duration', 'renew-before', 'private-key-*'),
  ...under('acme.cert-manager.io', 'http01-edit-in-place'),
  ...under('external-dns.alpha.kubernetes.io', 'ttl', 'target', 'cloudflare-proxied'),
];

/** The policy of an operator without flags. */
export const DEFAULT_POLICY: TenantPolicy = {
  allowedServiceAccounts: [],
  allowedIngressAnnotations: [DEFAULT_LIST],
  allowedImagePrefixes: [],
  podSecurityLevel: 'restricted',
  sharedHosts: false,
};

/** The flags of a policy, as the operator takes them; none for what is as by default. */
export function policyFlags(policy: Partial<TenantPolicy>): readonly string[] {
  const flags: Readonly<Record<keyof TenantPolicy, string>> = {
    allowedServiceAccounts: 'allowed-service-accounts',
    allowedIngressAnnotations: 'allowed-ingress-annotations',
    allowedImagePrefixes: 'allowed-image-prefixes',
    podSecurityLevel: 'pod-security-level',
    sharedHosts: 'shared-hosts',
  };
  return (Object.keys(flags) as (keyof TenantPolicy)[])
    .filter((name) => String(policy[name] ?? DEFAULT_POLICY[name]) !== String(DEFAULT_POLICY[name]))
    .map((name) => `--${flags[name]}=${String(policy[name])}`);
}

/** The policy in some settings, with every default. */
export function policyOf(settings: { readonly policy?: Partial<TenantPolicy> }): TenantPolicy {
  return { ...DEFAULT_POLICY, ...settings.policy };
}

/** The patterns of a list of annotations, the default ones in place of their word. */
export function annotationPatterns({
  allowedIngressAnnotations,
}: Pick<TenantPolicy, 'allowedIngressAnnotations'>): readonly string[] {
  return allowedIngressAnnotations.flatMap((pattern) =>
    pattern === DEFAULT_LIST ? DEFAULT_INGRESS_ANNOTATIONS : [pattern],
  );
}

/** Whether a text matches a pattern in which `*` stands for any text. */
export function matchesPattern(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return text === pattern;
  if (!text.startsWith(first)) return false;
  let from = first.length;
  for (const part of rest) {
    const at = text.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return text.length - last.length >= from && text.endsWith(last);
}

/** Whether pods of a namespace may run as a service account. */
export function allowsServiceAccount(
  { allowedServiceAccounts }: Pick<TenantPolicy, 'allowedServiceAccounts'>,
  namespace: string,
  name: string,
): boolean {
  return (
    name === 'default' ||
    allowedServiceAccounts.some((pattern) =>
      matchesPattern(pattern, pattern.includes('/') ? `${namespace}/${name}` : name),
    )
  );
}

/**
 * Whether an image begins with one of some prefixes, at the border of a part of its name:
 * `ghcr.io/acme` allows `ghcr.io/acme/erp:1`, but not `ghcr.io/acme-copy/erp:1`.
 */
export function allowsImage(
  { allowedImagePrefixes }: Pick<TenantPolicy, 'allowedImagePrefixes'>,
  image: string,
): boolean {
  if (allowedImagePrefixes.length === 0) return true;
  const reference = fullReference(image);
  return allowedImagePrefixes.some((text) => {
    const prefix = fullReference(text);
    const next = reference.charAt(prefix.length);
    const atBorder = /[/:@]$/.test(prefix) || ['', '/', ':', '@'].includes(next);
    return reference.startsWith(prefix) && atBorder;
  });
}

/** A reference with its registry, as container runtimes complete it: `redis` is on Docker Hub. */
function fullReference(reference: string): string {
  const slash = reference.indexOf('/');
  const first = slash < 0 ? reference.replace(/:.*$/, '') : reference.slice(0, slash);
  if (/[.:]|^localhost$/.test(first)) return reference;
  return slash < 0 ? `docker.io/library/${reference}` : `docker.io/${reference}`;
}
