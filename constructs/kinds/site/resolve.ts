import type { AppBench } from '../../api/bench.js';
import { benchModel, type BenchModel } from '../../frappe/bench-model.js';
import { firstLoginOf, firstLoginProblems } from '../../configuration/first-login.js';
import { syncConfiguration } from '../../configuration/sync.js';
import { publicHosts } from '../../frappe/domain.js';
import { databaseOperatorServer } from '../../frappe/database-operator-server.js';
import { ONE_POD, requireClaims } from '../../frappe/existing-claim.js';
import { settingProblems } from '../../frappe/database-settings.js';
import { certificateVersion, tlsVersions } from '../../frappe/database-tls.js';
import { redisVersion } from '../../frappe/redis-version.js';
import { requireSecret } from '../../frappe/secret.js';
import { refuseSharedName } from '../../frappe/name-conflict.js';
import { benchOffer, siteTemplateProblems, withTemplates } from '../../frappe/site-model.js';
import { isKnownQueue, WORKER_COMPONENTS, workerGroups } from '../../frappe/worker.js';
import { scaledToZero, foreignScalers, type WorkersWanted } from '../../frappe/worker-scaling.js';
import { INTEGRATIONS } from '../../integrations/index.js';
import { servesKeda } from '../../integrations/keda/autoscaling.js';
import type { Integration } from '../../kit/integration.js';
import { Stalled, Waiting } from '../../kit/errors.js';
import type { ClusterReader } from '../../kit/kind.js';
import { runAgainOf } from '../../kit/annotations.js';
import { namedSecretOf, valuesIdOf } from '../../kit/secret-values.js';
import { metadataKeysOf } from '../../kit/metadata-keys.js';
import { siteNames } from '../../kit/names.js';
import type { AppSite } from '../../api/site.js';
import { databasePlan, type SiteDatabasePlan } from './database.js';
import { requireDatabaseOperator } from './database-ready.js';
import { refuseForeignHosts } from './foreign-hosts.js';
import { refuseLongHost, refuseTakenHosts } from './hosts.js';
import { initRun } from './init-job.js';
import type { SiteInputs, SiteUpgradeInputs, SiteRestoreInputs } from './inputs.js';
import { resolveRestore } from './restore.js';
import { resolveRoute, type RouteSources } from './routes.js';
import { resolveTls } from './tls.js';
import { benchBefore, resolveUpgrade } from './upgrade.js';

/** @throws Stalled or Waiting, see `Kind.resolve` */
export function resolveSite(
  site: AppSite,
  reader: ClusterReader,
  integrations: readonly Integration[] = INTEGRATIONS,
): SiteInputs {
  refuseInvalidTemplates(site);
  refuseSharedName(site, 'AppBench', reader);
  const read = readBench(site, reader);
  const upgrade = resolveUpgrade(site, read.model, read.rolledOut, reader);
  const waitsForTurn = upgrade?.started === false;
  const model = waitsForTurn ? benchBefore(read.model, read.bench, upgrade.from) : read.model;
  // First, so that no other problem hides a host name that is taken from admission.
  refuseTakenHosts(site, model.domain.suffix, reader);
  refuseForeignHosts(site, model.domain.suffix, reader);
  refuseLongHost(site, model.domain.suffix);
  refuseUnknownWorkers(site, model);
  const settings = settingProblems(model.database.provider, site.spec.dbConfig.settings);
  if (settings.length > 0) throw Stalled.invalid(settings);
  const database = databasePlan(site, model);
  requireClaims(
    site,
    [
      {
        name: site.spec.dbConfig.storage?.existingClaim,
        path: 'spec.dbConfig.storage.existingClaim',
        accessModes: ONE_POD,
      },
    ],
    reader,
  );
  const secrets = resolveSecrets(site, database, reader);
  const restore = resolveRestore(site, reader);
  const inputs = {
    bench: withTemplates(model, site.spec),
    blockedReason: blockedReason(site, { bench: read, upgrade, restore, missing: secrets.missing }),
    generated: secrets.generated,
    database,
    serverNotReady: read.notReady,
    databaseVersion: secrets.databaseVersion,
    databaseTlsVersions: databaseTls(site, database, reader),
    databaseCertificate: certificateVersion(site.spec.dbConfig.tls, model.namespace, reader),
    redisVersion: redisVersion(model, reader) ?? '',
    // Added apps are in the new image only.
    apps: (waitsForTurn ? site.status?.apps : undefined) ?? siteApps(site, model),
    adminPassword: secrets.adminPassword,
    generatesPassword: secrets.generatesPassword,
    ...resolveAccess(site, { bench: model, reader, integrations }),
    ...resolveScaling(site, model, reader),
    upgrade,
    restore,
    runAgain: runAgainOf(site),
  };
  return { ...inputs, configuration: configurationOf(site, inputs, reader) };
}

function configurationOf(
  site: AppSite,
  inputs: Omit<SiteInputs, 'configuration'>,
  reader: ClusterReader,
): SiteInputs['configuration'] {
  const { configuration: job, init: initJob } = siteNames(site.metadata.name);
  const login = firstLoginOf(site);
  const problems = login ? firstLoginProblems(login, inputs.apps) : [];
  if (problems.length > 0) throw Stalled.invalid(problems);
  return syncConfiguration(
    site,
    {
      file: 'site_config.json',
      request: 'SiteConfigurationRequest',
      progress: 'SiteConfigurationProgress',
      job,
      initJob,
      init: initRun(site, inputs),
      login,
    },
    reader,
  );
}

/** @throws Stalled */
function refuseInvalidTemplates(site: AppSite): void {
  const problems = siteTemplateProblems(site.spec, {
    benchName: site.spec.benchRef.name,
    metadataKeys: metadataKeysOf(site),
  });
  if (problems.length > 0) throw Stalled.invalid(problems);
}

/** How the site is reached from outside of the cluster. */
function resolveAccess(
  site: AppSite,
  sources: RouteSources,
): Pick<SiteInputs, 'domain' | 'hosts' | 'tls' | 'route' | 'ingressExtensions'> {
  const { bench, reader, integrations } = sources;
  const hosts = publicHosts(site.spec, bench.domain.suffix);
  const route = resolveRoute(site, sources);
  return {
    domain: hosts[0] ?? site.spec.siteName,
    hosts,
    tls: route ? undefined : resolveTls(site, bench, reader),
    route,
    ingressExtensions: integrations
      .filter(({ ingress }) => ingress && reader.serves(ingress.kind))
      .map(({ name }) => name),
  };
}

/** Who scales the site's own workers. */
function resolveScaling(
  site: AppSite,
  bench: BenchModel,
  reader: ClusterReader,
): Pick<SiteInputs, 'keda' | 'scaledToZero' | 'foreignScalers'> {
  const { namespace = 'default', name } = site.metadata;
  const keda = servesKeda(reader);
  return {
    keda,
    scaledToZero: scaledToZero(site.status?.workerScaling, site.status?.workers),
    foreignScalers:
      site.spec.workloads === 'Dedicated'
        ? foreignScalers(reader, namespace, {
            groups: workerGroups(bench.workers).map((group) => group.name),
            deployment: siteNames(name).worker,
            wanted: (group) => siteWorkersWanted(site, { bench, keda }, group),
          })
        : {},
  };
}

/** Why the site must not be created or changed yet. */
function blockedReason(
  { status }: AppSite,
  props: {
    readonly bench: SiteBench;
    readonly upgrade: SiteUpgradeInputs | undefined;
    readonly restore: SiteRestoreInputs | undefined;
    /** The first Secret that is not generated yet. */
    readonly missing: string | undefined;
  },
): string | undefined {
  const { bench, upgrade, restore, missing } = props;
  if (upgrade && isClosedBeforeTurn(upgrade)) {
    return `waiting for its turn to be upgraded to ${upgrade.to}`;
  }
  if (!isUsable(bench, status) && !upgrade)
    return `waiting for bench ${bench.model.name} to be ready`;
  if (missing !== undefined) return `waiting for Secret ${missing}`;
  // A new site begins with its backup; an existing one runs without it.
  return status?.image === undefined ? restore?.problem?.message : undefined;
}

/**
 * What the specs say about the site's own workers of a queue: its number overrides its bench's
 * scaling and number.
 */
export function siteWorkersWanted(
  { spec }: AppSite,
  { bench, keda }: Pick<SiteInputs, 'bench' | 'keda'>,
  group: string,
): WorkersWanted {
  const served = keda && !bench.redis.external;
  if (!isKnownQueue(group)) {
    const isGroup = ({ name }: { readonly name: string }) => name === group;
    const { replicas } = spec.workers?.find(isGroup) ?? {};
    const offered = bench.workers.find(isGroup);
    return {
      scaling: replicas === undefined ? offered?.autoscaling : undefined,
      replicas: replicas ?? offered?.replicas,
      served,
    };
  }
  const component = WORKER_COMPONENTS[group];
  const own = spec.componentReplicas?.[component];
  return {
    scaling: own === undefined ? bench.workerAutoscaling[group] : undefined,
    replicas: own ?? bench.componentReplicas[component],
    served,
  };
}

/** A bench that is being deleted generates lost Secrets again: an existing site must get them. */
function isUsable({ ready, deleting }: SiteBench, status: AppSite['status']): boolean {
  return ready || (deleting && status?.appliedHash !== undefined);
}

/** The Job of such a site would go back to the previous image, and then forward again. */
function isClosedBeforeTurn({ started, closed }: SiteUpgradeInputs): boolean {
  return !started && closed;
}

/** The bench of a site. */
interface SiteBench {
  readonly model: BenchModel;
  readonly bench: AppBench;
  readonly ready: boolean;
  readonly deleting: boolean;
  /** Whether the bench's own pods run its image. */
  readonly rolledOut: boolean;
  /** Why the server of a database operator is not ready. */
  readonly notReady: string | undefined;
}

/** @throws Waiting where the bench does not exist, or its database server cannot be used */
function readBench(site: AppSite, reader: ClusterReader): SiteBench {
  const { namespace = 'default' } = site.metadata;
  const { name } = site.spec.benchRef;
  const read = reader.get('AppBench', namespace, name, benchOffer);
  if (!read) {
    throw new Waiting(
      'BenchMissing',
      `spec.benchRef.name: there is no AppBench "${name}" in namespace ${namespace}`,
    );
  }
  const { bench, ready, deleting, image } = read;
  const model = benchModel(bench, reader);
  const rolledOut = ready && image === model.image.reference;
  const common = { model, bench, ready, deleting, rolledOut, notReady: undefined };
  if (site.spec.dbConfig.mode !== 'operator' || bench.spec.dbConfig.mode !== 'operator') {
    return common;
  }
  requireDatabaseOperator(model.database.provider, reader);
  const { server, notReady } = databaseOperatorServer(bench, model, reader);
  return { ...common, model: { ...model, database: server }, notReady };
}

/** @throws Waiting where a Secret of the encrypted connections does not exist */
function databaseTls(
  { metadata, spec }: AppSite,
  { mode, server }: SiteDatabasePlan,
  reader: ClusterReader,
): readonly string[] {
  const { namespace = 'default', name } = metadata;
  const isOwn = mode === 'external' || mode === 'dedicated';
  const owner = isOwn ? `AppSite ${name}` : `AppBench ${spec.benchRef.name}`;
  return tlsVersions(server, { namespace, owner }, reader);
}

interface SiteSecrets extends Pick<
  SiteInputs,
  'adminPassword' | 'generatesPassword' | 'databaseVersion' | 'generated'
> {
  /** The first generated Secret that does not exist yet. */
  readonly missing: string | undefined;
}

/** @throws Waiting where a Secret that the spec names does not exist */
function resolveSecrets(
  { metadata, spec }: Pick<AppSite, 'metadata' | 'spec'>,
  database: SiteDatabasePlan,
  reader: ClusterReader,
): SiteSecrets {
  const { namespace = 'default' } = metadata;
  const names = siteNames(metadata.name);
  const version = (name: string, path: string): string =>
    requireSecret({ namespace, name, path }, reader);
  const external = spec.dbConfig.mode === 'external';
  const admin = adminPassword({ metadata, spec }, reader);
  const databaseVersion = external
    ? version(database.password.secret, 'spec.dbConfig.secretRef.name')
    : '';
  const others = [...(external ? [] : [names.databaseSecret]), names.encryptionKey].map((name) => ({
    name,
    id: reader.get('Secret', namespace, name, valuesIdOf),
  }));
  const generated = [
    ...(admin.generated ? [{ name: names.adminPassword, id: admin.id }] : []),
    ...others,
  ];
  return {
    adminPassword: { secret: admin.secret, version: admin.version },
    generatesPassword: admin.generated,
    databaseVersion,
    generated: generated.map(({ id = '' }) => id),
    missing: generated.find(({ id }) => id === undefined)?.name,
  };
}

/** The Secret of the administrator's password, and whether the operator generates it. */
interface AdminPassword {
  readonly secret: string;
  readonly version: string;
  readonly generated: boolean;
  /** See `valuesIdOf`; undefined for a Secret that does not exist. */
  readonly id: string | undefined;
}

/**
 * A Secret of the generated name that a user has created is the user's, and counts as referenced.
 * @throws Waiting where the Secret that the spec names does not exist
 */
function adminPassword(
  { metadata, spec }: Pick<AppSite, 'metadata' | 'spec'>,
  reader: ClusterReader,
): AdminPassword {
  const { namespace = 'default', name } = metadata;
  const reference = spec.adminPasswordSecretRef?.name;
  if (reference !== undefined) {
    const path = 'spec.adminPasswordSecretRef.name';
    const version = requireSecret({ namespace, name: reference, path }, reader);
    return { secret: reference, version, generated: false, id: undefined };
  }
  const secret = siteNames(name).adminPassword;
  const found = reader.get('Secret', namespace, secret, namedSecretOf);
  if (!found) return { secret, version: '', generated: true, id: undefined };
  const { version, generated, id } = found;
  return { secret, version, generated, id };
}

function siteApps(site: AppSite, bench: BenchModel): readonly string[] {
  const wanted = site.spec.apps?.map((app) => app.name);
  if (!wanted) return bench.apps;
  const missing = wanted.filter((app) => app !== 'frappe' && !bench.apps.includes(app));
  if (missing.length === 0) return wanted;
  throw Stalled.invalid(
    missing.map((app) => ({
      path: `spec.apps[${wanted.indexOf(app)}].name`,
      message: `Unsupported value: "${app}": the apps of bench ${bench.name} are: ${bench.apps.join(', ') || 'none'}`,
    })),
  );
}

/** @throws Stalled where the site sets numbers of workers that its bench does not have */
function refuseUnknownWorkers({ spec }: AppSite, bench: BenchModel): void {
  const offered = bench.workers.map(({ name }) => name);
  const problems = (spec.workers ?? []).flatMap(({ name }, index) => {
    if (offered.includes(name)) return [];
    const path = `spec.workers[${index}].name`;
    const message = `Unsupported value: "${name}": the workers of bench ${bench.name} are: ${offered.join(', ') || 'none'}`;
    return [{ path, message }];
  });
  if (problems.length > 0) throw Stalled.invalid(problems);
}
