import { configurationProblems } from '../../configuration/problems.js';
import { syncConfiguration, type ConfigurationSync } from '../../configuration/sync.js';
import { resolveApps } from '../../frappe/apps.js';
import {
  benchModel,
  benchTemplateProblems,
  DEFAULT_PORTS,
  type BenchModel,
} from '../../frappe/bench-model.js';
import { LONGEST_HOST, publicHosts } from '../../frappe/domain.js';
import { COMMON_CONFIG_FILE, GUNICORN_PORT } from '../../kit/constants.generated.js';
import { sitesOfBench } from '../../frappe/indexes.js';
import { databaseOperatorServer } from '../../frappe/database-operator-server.js';
import { ONE_POD, requireClaims, type ExistingClaim } from '../../frappe/existing-claim.js';
import { settingProblems } from '../../frappe/database-settings.js';
import { certificateVersion, tlsSecrets } from '../../frappe/database-tls.js';
import { redisVersion } from '../../frappe/redis-version.js';
import { requireSecret } from '../../frappe/secret.js';
import { userProblems } from '../../frappe/security.js';
import { nameOwnerOf, isOlder, takenName, type NameOwner } from '../../frappe/oldest-wins.js';
import { isKnownQueue, WORKER_COMPONENTS, workerGroups } from '../../frappe/worker.js';
import {
  scaledToZero,
  foreignScalers,
  type ForeignScalers,
  type WorkersWanted,
} from '../../frappe/worker-scaling.js';
import { servesKeda, servesKedaLogins } from '../../integrations/keda/autoscaling.js';
import { invalid, refuse, type Problem } from '../../kit/errors.js';
import type { ClusterReader } from '../../kit/kind.js';
import { runAgainOf } from '../../kit/annotations.js';
import { benchNames, serviceHost, siteNames } from '../../kit/names.js';
import { keyOf, uidOf } from '../../kit/object.js';
import type { AppSite } from '../../api/site.js';
import type { AppBench } from '../../api/bench.js';
import { resolveTlsFailure, type TlsFailure } from './database-tls-failure.js';
import { benchConfigHash, benchInitRun } from './init-job.js';
import type { OutsideServer } from './network-policies.js';
import type { NginxSite } from './nginx-input.js';
import { proxyProblems } from './proxy-settings.js';
import { workersProblems } from './worker-problems.js';
import { planUpgrade, progressOf, type UpgradePlan } from './upgrade.js';

/** What the tree of a bench depends on. */
export interface BenchInputs {
  /** Changes with the login to Redis, see `redisVersion`. */
  readonly redisVersion: string | undefined;
  /** Changes with the certificate of the managed database server. */
  readonly databaseCertificate: string | undefined;
  /** Why only the passwords can be created yet. */
  readonly blockedReason: string | undefined;
  readonly model: BenchModel;
  /** Number of all sites, refused ones included. */
  readonly siteCount: number;
  /** The sites that requests are routed to. */
  readonly sites: readonly SiteEntry[];
  /** Whether the cluster serves KEDA's API. */
  readonly keda: boolean;
  /** Whether KEDA can log in to Redis: its CRDs are installed one after the other. */
  readonly logins: boolean;
  /** The queues that only the operator scales from zero. */
  readonly scaledToZero: readonly string[];
  /** The HorizontalPodAutoscalers of other owners that scale the bench's workers. */
  readonly foreignScalers: ForeignScalers;
  /**
   * The database servers of the bench and of its sites that are none of its pods. Read only where
   * egress is limited.
   */
  readonly databases: readonly OutsideServer[];
  /** Why a site makes no encrypted connection to the bench's server; undefined where none fails. */
  readonly tlsFailure: TlsFailure | undefined;
  /** The upgrade of the sites; undefined where all are on the bench's image. */
  readonly upgrade: UpgradePlan | undefined;
  /** With another value the init Job runs again. */
  readonly runAgain: string | undefined;
  /** The keys of common_site_config.json that the spec declares; undefined where it never did. */
  readonly configuration: ConfigurationSync | undefined;
}

/** A site, as far as requests are routed to it. */
export interface SiteEntry extends NameOwner {
  readonly siteName: string;
  /** The public host names. */
  readonly hosts: readonly string[];
  readonly dedicated: boolean;
}

/** @throws Stalled or Waiting, see `Kind.resolve` */
export function resolveBench(bench: AppBench, reader: ClusterReader): BenchInputs {
  refuse([...takenName(bench, 'AppSite', reader), ...invalid(benchProblems(bench))]);
  const { namespace = 'default', name } = bench.metadata;
  for (const secret of referencedSecrets(bench)) {
    requireSecret({ namespace, ...secret }, reader, uidOf);
  }
  requireClaims(bench, existingClaims(bench), reader);
  const model = modelOf(bench, reader);
  const version = redisVersion(model, reader);
  const keda = servesKeda(reader);
  const entries = reader.list(sitesOfBench, keyOf(namespace, name), siteEntry);
  const progress = reader.list(sitesOfBench, keyOf(namespace, name), progressOf);
  return {
    redisVersion: version,
    databaseCertificate: serverCertificate(bench, reader),
    blockedReason:
      version === undefined ? `waiting for Secret ${benchNames(name).redisSecret}` : undefined,
    model,
    siteCount: entries.length,
    sites: firstOfEachHost(entries, bench.spec.domainConfig?.suffix),
    keda,
    logins: servesKedaLogins(reader),
    scaledToZero: scaledToZero(bench.status?.workerScaling, bench.status?.workers),
    foreignScalers: foreignScalers(reader, namespace, {
      groups: workerGroups(model.workers).map((group) => group.name),
      deployment: benchNames(name).worker,
      wanted: (group) => benchWorkersWanted(bench, { model, keda }, group),
    }),
    databases: outsideDatabases(bench, model, reader),
    tlsFailure: resolveTlsFailure(model, reader),
    upgrade: planUpgrade(bench, model.image.reference, progress),
    runAgain: runAgainOf(bench),
    configuration: configurationOf(bench, model, version, reader),
  };
}

function configurationOf(
  bench: AppBench,
  model: BenchModel,
  version: string | undefined,
  reader: ClusterReader,
): BenchInputs['configuration'] {
  const { configuration: job, init: initJob } = benchNames(model.name);
  return syncConfiguration(
    bench,
    {
      file: COMMON_CONFIG_FILE,
      request: 'BenchConfigurationRequest',
      progress: 'BenchConfigurationProgress',
      job,
      initJob,
      init: benchInitRun(model, benchConfigHash(model, version), runAgainOf(bench)),
    },
    reader,
  );
}

/** @throws Waiting where the Secret does not exist */
function serverCertificate(
  { metadata, spec }: AppBench,
  reader: ClusterReader,
): string | undefined {
  const { namespace = 'default' } = metadata;
  return certificateVersion(spec.dbConfig.tls, namespace, reader);
}

function outsideDatabases(
  { spec }: AppBench,
  { name, namespace, database }: BenchModel,
  reader: ClusterReader,
): readonly OutsideServer[] {
  if (!spec.networkPolicy?.egress?.enabled) return [];
  const { host, port, provider } = database;
  const servers = [
    ...(spec.dbConfig.mode === 'managed' ? [] : [{ host, port }]),
    ...reader.list(sitesOfBench, keyOf(namespace, name), preparedDatabase),
  ];
  const known = servers.flatMap((server) =>
    server ? [{ host: server.host, port: server.port ?? DEFAULT_PORTS[provider] }] : [],
  );
  const byAddress = new Map(known.map((server) => [`${server.host}:${server.port}`, server]));
  return [...byAddress].sort(([a], [b]) => compare(a, b)).map(([, server]) => server);
}

/** The server of a site's prepared database; undefined in other modes. */
function preparedDatabase({ spec }: AppSite) {
  const { mode, host, port } = spec.dbConfig;
  return mode === 'external' && host !== undefined ? { host, port } : undefined;
}

/** What the spec says about workers of the bench, of a queue of the framework or of others. */
export function benchWorkersWanted(
  { spec }: AppBench,
  { model, keda }: Pick<BenchInputs, 'model' | 'keda'>,
  group: string,
): WorkersWanted {
  const served = keda && !model.redis.external;
  if (!isKnownQueue(group)) {
    const own = spec.workers?.find(({ name }) => name === group);
    return { scaling: own?.autoscaling, replicas: own?.replicas, served };
  }
  return {
    scaling: spec.workerAutoscaling?.[group],
    replicas: spec.componentReplicas?.[WORKER_COMPONENTS[group]],
    served,
  };
}

function modelOf(bench: AppBench, reader: ClusterReader): BenchModel {
  const model = benchModel(bench, reader);
  if (bench.spec.dbConfig.mode !== 'operator') return model;
  return { ...model, database: databaseOperatorServer(bench, model, reader).server };
}

/** Problems in a spec that a schema cannot find. */
export function benchProblems(bench: AppBench): readonly Problem[] {
  const { provider, settings } = bench.spec.dbConfig;
  return [
    ...resolveApps(bench).problems,
    ...settingProblems(provider, settings),
    ...userProblems(bench.spec.security, bench.status?.ids),
    ...benchTemplateProblems(bench),
    ...proxyProblems(bench),
    ...workersProblems(bench),
    ...configurationProblems(bench.spec.siteConfig),
  ];
}

function existingClaims({ spec }: AppBench): readonly ExistingClaim[] {
  const { storage, redisConfig, dbConfig } = spec;
  return [
    {
      name: storage.existingClaim,
      path: 'spec.storage.existingClaim',
      accessModes: [storage.accessMode],
    },
    {
      name: redisConfig?.storage?.existingClaim,
      path: 'spec.redisConfig.storage.existingClaim',
      accessModes: ONE_POD,
    },
    {
      name: dbConfig.storage?.existingClaim,
      path: 'spec.dbConfig.storage.existingClaim',
      accessModes: ONE_POD,
    },
  ];
}

function referencedSecrets({ spec }: AppBench): { readonly path: string; readonly name: string }[] {
  const root = spec.dbConfig.rootSecretRef;
  const redis = spec.redisConfig?.external?.urlsSecretRef;
  return [
    ...(spec.dbConfig.mode === 'external' && root
      ? [{ path: 'spec.dbConfig.rootSecretRef.name', name: root.name }]
      : []),
    ...tlsSecrets(spec.dbConfig.tls),
    ...(redis ? [{ path: 'spec.redisConfig.external.urlsSecretRef.name', name: redis.name }] : []),
  ];
}

/** A site as its spec has it: its hosts depend on the bench's suffix. */
interface WantedEntry extends Omit<SiteEntry, 'hosts'> {
  readonly domain?: string;
  readonly aliases?: readonly string[];
}

function siteEntry(site: AppSite): WantedEntry {
  const { siteName, domain, aliases, workloads } = site.spec;
  return {
    ...nameOwnerOf(site),
    siteName,
    ...(domain ? { domain } : {}),
    ...(aliases ? { aliases } : {}),
    dedicated: workloads === 'Dedicated',
  };
}

/**
 * A host name of two sites belongs to the older one. The status of the other names the conflict.
 */
function firstOfEachHost(
  entries: readonly WantedEntry[],
  suffix: string | undefined,
): readonly SiteEntry[] {
  const taken = new Set<string>();
  const oldestFirst = [...entries].sort((a, b) => (isOlder(a, b) ? -1 : 1));
  const kept: SiteEntry[] = [];
  for (const { domain, aliases, ...entry } of oldestFirst) {
    const { siteName } = entry;
    const wanted = { siteName, ...(domain ? { domain } : {}), ...(aliases ? { aliases } : {}) };
    if (taken.has(siteName)) continue;
    const hosts = publicHosts(wanted, suffix).filter(
      (host) => host.length <= LONGEST_HOST && !taken.has(host),
    );
    for (const host of [siteName, ...hosts]) taken.add(host);
    kept.push({ ...entry, hosts });
  }
  return kept.sort((a, b) => compare(a.name, b.name));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The bench's sites as its proxy routes them. */
export function nginxSites({ model, sites }: BenchInputs): readonly NginxSite[] {
  return sites.map((site) => ({
    siteName: site.siteName,
    domains: site.hosts.filter((host) => host !== site.siteName),
    ...(site.dedicated ? { backend: backend(siteNames(site.name).gunicorn, model) } : {}),
  }));
}

/** Address of a web Service, for nginx. */
export function backend(service: string, model: BenchModel, port = GUNICORN_PORT): string {
  return `${serviceHost(service, model.namespace, model.clusterDomain)}:${port}`;
}
