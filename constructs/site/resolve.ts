import type { AppBench } from '../bench/api.js';
import { benchModel, type BenchModel } from '../frappe/bench-model.js';
import { publicHosts } from '../frappe/domain.js';
import { databaseOperatorServer } from '../frappe/database-operator-server.js';
import { redisVersion } from '../frappe/redis-version.js';
import { requireSecret } from '../frappe/secret.js';
import { refuseSharedName } from '../frappe/name-conflict.js';
import { benchOffer, withTemplate } from '../frappe/site-model.js';
import { WORKER_COMPONENTS } from '../frappe/worker.js';
import {
  scaledToZero,
  foreignScalers,
  type ForeignScalers,
  type WorkersWanted,
} from '../frappe/worker-scaling.js';
import { INTEGRATIONS } from '../integrations/index.js';
import { servesKeda } from '../integrations/keda/autoscaling.js';
import type { Queue } from '../kit/api.js';
import type { Integration } from '../kit/integration.js';
import { Stalled, Waiting } from '../kit/errors.js';
import type { ClusterReader } from '../kit/kind.js';
import { siteNames } from '../kit/names.js';
import { uidOf } from '../kit/object.js';
import type { AppSite } from './api.js';
import { databasePlan, type SiteDatabasePlan } from './database.js';
import { requireDatabaseOperator } from './database-ready.js';
import { refuseLongHost, refuseTakenHosts } from './hosts.js';
import { resolveRestore, type SiteRestoreInputs } from './restore.js';
import { resolveRoute, type SiteRouteInputs } from './routes.js';
import { resolveTls, type SiteTlsInputs } from './tls.js';
import { benchBefore, resolveUpgrade, type SiteUpgradeInputs } from './upgrade.js';

/** What the tree of a site depends on. */
export interface SiteInputs {
  readonly bench: BenchModel;
  /** Why the site must not be created or changed yet; undefined when the bench is ready, or there only for its sites. */
  readonly blockedReason: string | undefined;
  /** uids of the Secrets that the operator generates: one that was made anew has another value, which the site must learn. */
  readonly generated: readonly string[];
  readonly database: SiteDatabasePlan;
  /** Why the server of a database operator is not ready, in that operator's words. */
  readonly serverNotReady: string | undefined;
  /** Version of the Secret of a prepared database. */
  readonly databaseVersion: string;
  /** What the site's pods read of Redis at their start, see `redisVersion`. */
  readonly redisVersion: string;
  readonly apps: readonly string[];
  /** The public host name. */
  readonly domain: string;
  /** All public host names, `domain` first. */
  readonly hosts: readonly string[];
  readonly adminPassword: { readonly secret: string; readonly version: string };
  /** Undefined also where a Route has the router's certificate. */
  readonly tls: SiteTlsInputs | undefined;
  /** Undefined where the site has an Ingress, or neither. */
  readonly route: SiteRouteInputs | undefined;
  /** Whether KEDA is there. */
  readonly keda: boolean;
  /** The integrations that add to the site's Ingress, and whose API is served. */
  readonly ingressExtensions: readonly string[];
  /** The queues that nobody but the operator wakes. */
  readonly scaledToZero: readonly Queue[];
  /** The queues whose number somebody else has. */
  readonly foreignScalers: ForeignScalers;
  /** The way to the bench's image; undefined where the site is there. */
  readonly upgrade: SiteUpgradeInputs | undefined;
  /** What `restoreFrom` asks for; undefined where it is not given. */
  readonly restore: SiteRestoreInputs | undefined;
}

/** @throws Stalled or Waiting, see `Kind.resolve` */
export function resolveSite(
  site: AppSite,
  reader: ClusterReader,
  integrations: readonly Integration[] = INTEGRATIONS,
): SiteInputs {
  refuseSharedName(site, 'AppBench', reader);
  const { namespace = 'default', name } = site.metadata;
  const { spec } = site;
  const { model: wanted, ready, deleting, rolled, bench, notReady } = readBench(site, reader);
  const upgrade = resolveUpgrade(site, wanted, rolled, reader);
  const waits = upgrade?.begun === false;
  const model = waits ? benchBefore(wanted, bench, upgrade.from) : wanted;
  // First, so that nothing else hides what is taken from who judges a change of it.
  refuseTakenHosts(site, model.domain.suffix, reader);
  refuseLongHost(site, model.domain.suffix);
  const admin = spec.adminPasswordSecretRef?.name;
  const database = databasePlan(site, model);
  const adminVersion = admin
    ? requireSecret(reader, namespace, admin, 'spec.adminPasswordSecretRef.name')
    : '';
  const databaseVersion =
    spec.dbConfig.mode === 'external'
      ? requireSecret(reader, namespace, database.password.secret, 'spec.dbConfig.secretRef.name')
      : '';
  const generated = generatedSecrets(site, reader);
  const restore = resolveRestore(site, reader);
  // What a bench that deleting has lost, such as the password of Redis, it makes anew: a site that is there has to be told.
  const mayChange = ready || upgrade || (deleting && site.status?.appliedHash !== undefined);
  const route = resolveRoute(site, { bench: model, reader, integrations });
  const keda = servesKeda(reader);
  const hosts = publicHosts(spec, model.domain.suffix);
  return {
    bench: withTemplate(model, spec.podTemplate),
    // One that is closed half way is not touched before its turn: its Job would go back, and then forth again.
    blockedReason:
      waits && upgrade.closed
        ? `waiting for its turn to be brought to ${upgrade.to}`
        : mayChange
          ? (waitingFor(generated) ?? restoreBlockedReason(site, restore))
          : `waiting for bench ${model.name} to be ready`,
    generated: generated.map(({ uid = '' }) => uid),
    database,
    serverNotReady: notReady,
    databaseVersion,
    redisVersion: redisVersion(model, reader) ?? '',
    // New apps come with the image that holds them.
    apps: (waits ? site.status?.apps : undefined) ?? siteApps(site, model),
    domain: hosts[0] ?? spec.siteName,
    hosts,
    adminPassword: { secret: admin ?? siteNames(name).adminPassword, version: adminVersion },
    tls: route ? undefined : resolveTls(site, model, reader),
    route,
    keda,
    ingressExtensions: integrations
      .filter(({ ingress }) => ingress && reader.serves(ingress.kind))
      .map((integration) => integration.name),
    scaledToZero: scaledToZero(site.status?.workerScaling),
    foreignScalers:
      spec.workloads === 'Dedicated'
        ? foreignScalers(reader, namespace, siteNames(name).worker, (queue) =>
            siteWorkersWanted(site, { bench: model, keda }, queue),
          )
        : {},
    upgrade,
    restore,
  };
}

/** What is asked for the site's own workers of a queue: its own number is before its bench's scaling. */
export function siteWorkersWanted(
  { spec }: AppSite,
  { bench, keda }: Pick<SiteInputs, 'bench' | 'keda'>,
  queue: Queue,
): WorkersWanted {
  const scaling = bench.workerAutoscaling[queue];
  const replicas = spec.componentReplicas?.[WORKER_COMPONENTS[queue]];
  return {
    scaling: scaling?.enabled && replicas === undefined ? scaling : undefined,
    replicas,
    served: keda && !bench.redis.external,
  };
}

/** A new site begins with its backup; one that is there deleting on without. */
function restoreBlockedReason(
  site: AppSite,
  restore: SiteRestoreInputs | undefined,
): string | undefined {
  return site.status?.image === undefined ? restore?.problem?.message : undefined;
}

function readBench(
  site: AppSite,
  reader: ClusterReader,
): {
  readonly model: BenchModel;
  readonly bench: AppBench;
  readonly ready: boolean;
  readonly deleting: boolean;
  readonly rolled: boolean;
  readonly notReady: string | undefined;
} {
  const { namespace = 'default' } = site.metadata;
  const { name } = site.spec.benchRef;
  const bench = reader.get('AppBench', namespace, name, benchOffer);
  if (!bench) {
    throw new Waiting(
      'BenchMissing',
      `spec.benchRef.name: there is no AppBench "${name}" in namespace ${namespace}`,
    );
  }
  const model = benchModel(bench.bench, reader);
  const rolled = bench.ready && bench.image === model.image.reference;
  const { ready, deleting } = bench;
  const read = { model, bench: bench.bench, ready, deleting, rolled, notReady: undefined };
  if (site.spec.dbConfig.mode !== 'operator' || bench.bench.spec.dbConfig.mode !== 'operator') {
    return read;
  }
  requireDatabaseOperator(model.database.provider, reader);
  const { server, notReady } = databaseOperatorServer(bench.bench, model, reader);
  return { ...read, model: { ...model, database: server }, notReady };
}

function generatedSecrets(
  { metadata, spec }: AppSite,
  reader: ClusterReader,
): readonly { readonly name: string; readonly uid: string | undefined }[] {
  const { namespace = 'default' } = metadata;
  const names = siteNames(metadata.name);
  return [
    ...(spec.adminPasswordSecretRef ? [] : [names.adminPassword]),
    ...(spec.dbConfig.mode === 'external' ? [] : [names.databaseSecret]),
    names.encryptionKey,
  ].map((name) => ({ name, uid: reader.get('Secret', namespace, name, uidOf) }));
}

function waitingFor(
  generated: readonly { readonly name: string; readonly uid: string | undefined }[],
): string | undefined {
  const missing = generated.find(({ uid }) => uid === undefined);
  return missing && `waiting for Secret ${missing.name}`;
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
