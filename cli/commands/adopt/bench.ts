import { DEFAULT_PORTS, ROOT_USERS } from '../../../constructs/frappe/bench-model.js';
import type { KubeObject } from '../../../constructs/kit/object.js';
import { CliError } from '../../arguments/errors.js';
import type { Release } from './release.js';
import { isMap, type Values } from './values.js';

/** The servers of a release. */
export interface Servers {
  readonly provider: 'mariadb' | 'postgres';
  readonly host: string;
  readonly port: number;
  /** Where the administrator's password is; undefined where the values do not tell. */
  readonly root:
    { readonly secret: string; readonly key: string; readonly user: string } | undefined;
  /** URLs of Redis; undefined for one with a password, which is not printed. */
  readonly redis: { readonly cache: string | undefined; readonly queue: string | undefined };
}

/** The name that the chart gives its objects, or that they begin with. */
export function fullName(release: Release, values: Values): string {
  const cut = (name: string): string => name.slice(0, 63).replace(/-$/, '');
  const override = values.text('fullnameOverride');
  if (override) return cut(override);
  const chart = values.text('nameOverride') || 'erpnext';
  return cut(release.name.includes(chart) ? release.name : `${release.name}-${chart}`);
}

/** @throws CliError where the values name no server */
export function serversOf(release: Release, values: Values): Servers {
  return { ...database(release, values), redis: redisOf(release, values) };
}

function database(release: Release, values: Values): Omit<Servers, 'redis'> {
  const full = fullName(release, values);
  const on = (...names: readonly string[]): boolean =>
    names.some((name) => values.isOn(`${name}.enabled`));
  const server = (
    provider: Servers['provider'],
    host: string,
    secret: string,
    key: string,
  ): Omit<Servers, 'redis'> => {
    return {
      provider,
      host,
      port: DEFAULT_PORTS[provider],
      root: { secret, key, user: ROOT_USERS[provider] },
    };
  };
  // In the order of the chart.
  if (on('mariadb', 'mariadb-subchart')) {
    const host = `${release.name}-mariadb-subchart`;
    return server('mariadb', host, host, 'mariadb-root-password');
  }
  if (on('postgresql', 'postgresql-subchart')) {
    const host = `${release.name}-postgresql-subchart`;
    return server('postgres', host, host, 'postgres-password');
  }
  if (on('mariadb-sts'))
    return server('mariadb', `${full}-mariadb-sts`, full, 'mariadb-root-password');
  if (on('postgresql-sts'))
    return server('postgres', `${full}-postgresql-sts`, full, 'postgres-password');
  return external(full, values);
}

function external(full: string, values: Values): Omit<Servers, 'redis'> {
  const host = values.text('dbHost');
  if (!host) {
    throw new CliError(
      'the release names no database: neither dbHost nor a server of the chart is set',
    );
  }
  const provider = externalProvider(values);
  const given = values.text('dbPort');
  const port = given ? Number(given) : DEFAULT_PORTS[provider];
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new CliError(`dbPort of the release is no port: ${JSON.stringify(given)}`);
  }
  note(values, ['dbHost', 'dbPort'], 'AppBench and AppSite spec.dbConfig');
  return { provider, host, port, root: externalRoot(full, values, provider) };
}

/** The values name no kind of server: look at the port, or at the Job that makes sites. */
function externalProvider(values: Values): Servers['provider'] {
  if (values.text('dbPort') === '5432') return 'postgres';
  const jobs = ['jobs.createSite', 'jobs.createMultipleSites'];
  const isPostgres = jobs.some(
    (job) => values.isOn(`${job}.enabled`) && values.text(`${job}.dbType`).startsWith('postgres'),
  );
  return isPostgres ? 'postgres' : 'mariadb';
}

function externalRoot(
  full: string,
  values: Values,
  provider: Servers['provider'],
): Servers['root'] {
  const paths = ['dbRootUser', 'dbRootPassword', 'dbExistingSecret', 'dbExistingSecretPasswordKey'];
  note(values, paths, 'AppBench spec.dbConfig.rootSecretRef');
  const user = values.text('dbRootUser') || ROOT_USERS[provider];
  const secret = values.text('dbExistingSecret');
  const key = values.text('dbExistingSecretPasswordKey') || 'password';
  if (secret) return { secret, key, user };
  return values.text('dbRootPassword')
    ? { secret: full, key: 'db-root-password', user }
    : undefined;
}

function note(values: Values, paths: readonly string[], here: string): void {
  for (const path of paths) values.note(path, here);
}

function redisOf({ name }: Release, values: Values): Servers['redis'] {
  const url = (kind: 'cache' | 'queue'): string | undefined => {
    const given = values.text(`externalRedis.${kind}`);
    values.note(`externalRedis.${kind}`, 'AppBench spec.redisConfig.external');
    if (given) return given.includes('@') ? undefined : withScheme(given);
    for (const server of ['valkey', 'dragonfly', 'redis']) {
      if (!values.isOn(`${server}-${kind}.enabled`)) continue;
      return `redis://${name}-${server}-${kind}${server === 'redis' ? '-master' : ''}:6379`;
    }
    throw new CliError(
      `the release names no Redis for the ${kind}: neither externalRedis.${kind} nor a server of the chart is set`,
    );
  };
  return { cache: url('cache'), queue: url('queue') };
}

function withScheme(url: string): string {
  return url.includes('://') ? url : `redis://${url}`;
}

/** Component of a bench → part of the chart's values. */
const COMPONENTS = {
  gunicorn: 'worker.gunicorn',
  nginx: 'nginx',
  socketio: 'socketio',
  scheduler: 'worker.scheduler',
  workerDefault: 'worker.default',
  workerShort: 'worker.short',
  workerLong: 'worker.long',
} as const;

/** The names of the operator's containers, where they are not those of the components. */
const CONTAINERS: Readonly<Record<string, string>> = {
  workerDefault: 'worker-default',
  workerShort: 'worker-short',
  workerLong: 'worker-long',
};

export interface BenchProps {
  readonly name: string;
  readonly release: Release;
  readonly values: Values;
  readonly servers: Servers;
  readonly image: { readonly repository: string; readonly tag: string };
  readonly version: string;
  readonly claim: { readonly name: string; readonly accessMode: string };
  readonly apps: readonly string[];
}

export function benchOf(props: BenchProps): KubeObject {
  const { name, release, values, servers, image, claim } = props;
  const spec = {
    frameworkVersion: props.version,
    apps: props.apps.map((app) => ({ name: app })),
    image: { ...image, ...pullSettings(values) },
    storage: { existingClaim: claim.name, accessMode: claim.accessMode },
    dbConfig: {
      provider: servers.provider,
      mode: 'external',
      host: servers.host,
      port: servers.port,
      rootSecretRef: { name: `${name}-root` },
    },
    redisConfig: { external: { urlsSecretRef: { name: `${name}-redis-urls` } } },
    security: { podSecurityContext: ids(values) },
    ...given('proxy', proxyOf(values)),
    ...given('webAutoscaling', webAutoscalingOf(values)),
    ...given('componentReplicas', byComponent(replicasOf, values)),
    ...given('componentResources', byComponent(resourcesOf, values)),
    ...given('componentPodTemplates', byComponent(templateOf, values)),
  };
  const { namespace } = release;
  return {
    apiVersion: API_VERSION,
    kind: 'AppBench',
    metadata: { name, namespace },
    spec,
  } as KubeObject;
}

export const API_VERSION = 'app-operator.io/v1alpha1';

/** `v16.32.3`, `version-16`, `16.1` → `version-16`; of another tag, that of the chart counts. */
export function frameworkVersion(tag: string, appVersion: string): string {
  const [, major] = /^(?:v|version-)?(\d{2})\b/.exec(tag) ?? /^v?(\d{2})\b/.exec(appVersion) ?? [];
  return tag === 'develop' || major === undefined ? 'develop' : `version-${major}`;
}

function pullSettings(values: Values): object {
  note(
    values,
    ['image.repository', 'image.tag', 'image.pullPolicy', 'imagePullSecrets'],
    'AppBench spec.image',
  );
  const policy = values.text('image.pullPolicy');
  const secrets = listOf(values.get('imagePullSecrets')).flatMap((one) =>
    isMap(one) && typeof one['name'] === 'string' ? [{ name: one['name'] }] : [],
  );
  return {
    ...(['Always', 'IfNotPresent', 'Never'].includes(policy) ? { pullPolicy: policy } : {}),
    ...given('pullSecrets', secrets),
  };
}

/** The files of the sites belong to the user of the chart's pods, in both directions. */
function ids(values: Values): object {
  values.note('securityContext.runAsUser', 'AppBench spec.security.podSecurityContext');
  const id = Number(values.text('securityContext.runAsUser') || 1000);
  return { runAsUser: id, runAsGroup: id, fsGroup: id };
}

function proxyOf(values: Values): object {
  const path = (name: string): string => `nginx.environment.${name}`;
  const proxy: Record<string, unknown> = {};
  const take = (name: string, field: string, value: unknown): void => {
    if (!values.isSet(path(name)) || value === undefined) return;
    values.note(path(name), `AppBench spec.proxy.${field}`);
    proxy[field] = value;
  };
  const [, size, unit = ''] = /^(\d+)([kmg]?)$/i.exec(values.text(path('clientMaxBodySize'))) ?? [];
  const units: Readonly<Record<string, string>> = { k: 'Ki', m: 'Mi', g: 'Gi' };
  take('clientMaxBodySize', 'maxBodySize', size && `${size}${units[unit.toLowerCase()] ?? ''}`);
  const [, seconds] = /^(\d+)s?$/.exec(values.text(path('proxyReadTimeout'))) ?? [];
  take('proxyReadTimeout', 'readTimeoutSeconds', seconds && Number(seconds));
  const address = values.text(path('upstreamRealIPAddress'));
  take('upstreamRealIPAddress', 'realIPFrom', address ? [address] : undefined);
  take(
    'upstreamRealIPHeader',
    'realIPHeader',
    values.text(path('upstreamRealIPHeader')) || undefined,
  );
  return proxy;
}

type Component = keyof typeof COMPONENTS;

function byComponent(
  read: (values: Values, part: string, component: Component) => unknown,
  values: Values,
): object {
  const entries = Object.entries(COMPONENTS).map(
    ([component, part]) => [component, read(values, part, component as Component)] as const,
  );
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/** As the chart scales gunicorn by its CPU. */
function webAutoscalingOf(values: Values): object | undefined {
  const part = 'worker.gunicorn.autoscaling';
  for (const name of ['enabled', 'minReplicas', 'maxReplicas', 'targetCPU']) {
    values.note(`${part}.${name}`, 'AppBench spec.webAutoscaling');
  }
  if (!values.isOn(`${part}.enabled`)) return undefined;
  return {
    enabled: true,
    ...given('minReplicas', values.get(`${part}.minReplicas`)),
    ...given('maxReplicas', values.get(`${part}.maxReplicas`)),
    ...given('target', given('value', values.get(`${part}.targetCPU`))),
  };
}

/** With the chart's autoscaling, at least the least of it: KEDA scales no bench with an external Redis. */
function replicasOf(values: Values, part: string, component: Component): number | undefined {
  const scales = values.isOn(`${part}.autoscaling.enabled`);
  if (scales && component === 'gunicorn') return undefined;
  const path = scales ? `${part}.autoscaling.minReplicas` : `${part}.replicaCount`;
  values.note(path, `AppBench spec.componentReplicas.${component}`);
  const count = values.get(path);
  if (!(scales || values.isSet(path)) || typeof count !== 'number') return undefined;
  return component === 'scheduler' ? Math.min(count, 1) : count;
}

function resourcesOf(values: Values, part: string, component: Component): unknown {
  const path = `${part}.resources`;
  values.note(path, `AppBench spec.componentResources.${component}`);
  const resources = values.get(path);
  if (!isMap(resources) || Object.keys(resources).length === 0) return undefined;
  const { requests, limits } = resources;
  return { ...given('requests', requests), ...given('limits', limits) };
}

const POD_FIELDS = ['nodeSelector', 'tolerations', 'affinity'] as const;

function templateOf(values: Values, part: string, component: Component): unknown {
  const here = `AppBench spec.componentPodTemplates.${component}`;
  const read = (name: string): unknown => {
    const path = `${part}.${name}`;
    values.note(path, here);
    return values.isSet(path) ? values.get(path) : undefined;
  };
  const env = read('envVars');
  const container = { name: CONTAINERS[component] ?? component, env };
  const spec = {
    ...Object.assign({}, ...POD_FIELDS.map((field) => given(field, read(field)))),
    ...(listOf(env).length > 0 ? { containers: [container] } : {}),
  } as object;
  const metadata = given('annotations', read('podAnnotations'));
  const template = { ...given('metadata', metadata), ...given('spec', spec) };
  return Object.keys(template).length > 0 ? template : undefined;
}

/** A field, unless its value is empty. */
export function given(name: string, value: unknown): Readonly<Record<string, unknown>> {
  if (value === undefined || value === null || value === '') return {};
  if (Array.isArray(value) && value.length === 0) return {};
  return isMap(value) && Object.keys(value).length === 0 ? {} : { [name]: value };
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
