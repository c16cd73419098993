import { hash } from 'node:crypto';

/**
 * The names of the objects of benches and sites, which other kinds need too. They are public API: a
 * changed name would delete one object and create another. The longest suffix keeps every name of a
 * 45-character bench or site within the 63 characters of a DNS label.
 */
export function benchNames(bench: string) {
  return {
    init: `${bench}-init`,
    redis: `${bench}-redis`,
    redisSecret: `${bench}-redis-auth`,
    redisVolume: `${bench}-redis-data`,
    nginx: `${bench}-nginx`,
    gunicorn: `${bench}-gunicorn`,
    socketio: `${bench}-socketio`,
    socketioPods: `${bench}-socketio-pods`,
    scheduler: `${bench}-scheduler`,
    metrics: `${bench}-metrics`,
    configuration: `${bench}-configuration`,
    worker: (queue: string) => `${bench}-worker-${queue}`,
    sites: `${bench}-sites`,
    config: `${bench}-config`,
    nginxConfig: `${bench}-nginx`,
    database: `${bench}-db`,
    databaseVolume: `${bench}-db-data`,
    databaseRoot: `${bench}-db-root`,
    redisTrigger: `${bench}-redis-trigger`,
    denyIngress: `${bench}-deny-ingress`,
    egress: `${bench}-egress`,
  } as const;
}

export function siteNames(site: string) {
  return {
    init: `${site}-init`,
    drop: `${site}-drop`,
    reopen: `${site}-reopen`,
    documents: `${site}-documents`,
    configuration: `${site}-configuration`,
    gunicorn: `${site}-gunicorn`,
    worker: (queue: string) => `${site}-worker-${queue}`,
    ingress: `${site}-ingress`,
    adminPassword: `${site}-admin-password`,
    databaseSecret: `${site}-db`,
    encryptionKey: `${site}-encryption-key`,
    database: `${site}-db`,
    databaseVolume: `${site}-db-data`,
    databaseRoot: `${site}-db-root`,
    tls: `${site}-tls`,
  } as const;
}

/**
 * The name of a site's database and of its user: readable, unique over namespaces, and within the
 * 63 characters of PostgreSQL. Derived from what never changes, so it is the same for an adopted
 * site.
 */
export function databaseName(namespace: string, site: string): string {
  const digest = hash('sha256', `${namespace}/${site}`).slice(0, 10);
  return `s_${site.replaceAll('-', '_').slice(0, 40)}_${digest}`;
}

/** The full DNS name of a Service: nginx' resolver knows no search domains. */
export function serviceHost(name: string, namespace: string, clusterDomain: string): string {
  return `${name}.${namespace}.svc.${clusterDomain}`;
}

/** A host of a spec, as programs take it: a bare IPv6 address where the spec has brackets. */
export function bareHost(host: string): string {
  return host.replace(/^[[]|[\]]$/g, '');
}

/** Whether a host name can be that of a Service in a namespace. */
export function isServiceIn(namespace: string, host: string): boolean {
  const [, ofHost, svc = 'svc'] = host.split('.');
  return ofHost === undefined || (ofHost === namespace && svc === 'svc');
}
