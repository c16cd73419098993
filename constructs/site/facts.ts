import type { AppBench } from '../bench/api.js';
import { benchModel, type BenchModel } from '../framework/bench-model.js';
import { publicHosts } from '../framework/domain.js';
import { operatedServer } from '../framework/operated-server.js';
import { redisVersion } from '../framework/redis-version.js';
import { requireSecret } from '../framework/secret.js';
import { refuseSharedName } from '../framework/seniority.js';
import { benchOffer, withTemplate } from '../framework/site-model.js';
import { WORKER_COMPONENTS } from '../framework/worker.js';
import {
  asleep,
  foreignScalers,
  type ForeignScalers,
  type WorkersWanted,
} from '../framework/worker-scaling.js';
import type { Queue } from '../kit/api.js';
import { Stalled, Waiting } from '../kit/errors.js';
import type { World } from '../kit/kind.js';
import { siteNames } from '../kit/names.js';
import { uidOf } from '../kit/object.js';
import { ScaledObject, TraefikMiddleware } from '../kit/object-kind.js';
import type { AppSite } from './api.js';
import { databasePlan, type SiteDatabasePlan } from './database.js';
import { requireDatabaseOperator } from './database-operator.js';
import { refuseLongHost, refuseTakenHosts } from './hosts.js';
import { restoreFacts, type SiteRestoreFacts } from './restore.js';
import { routeFacts, type SiteRouteFacts } from './route.js';
import { tlsFacts, type SiteTlsFacts } from './tls.js';
import { benchBefore, upgradeFacts, type SiteUpgradeFacts } from './upgrade.js';

/** What the tree of a site depends on. */
export interface SiteFacts {
  readonly bench: BenchModel;
  /** Why the site must not be created or changed yet; undefined when the bench is ready, or there only for its sites. */
  readonly hold: string | undefined;
  /** uids of the Secrets that the operator generates: one that was made anew has another value, which the site must learn. */
  readonly generated: readonly string[];
  readonly database: SiteDatabasePlan;
  /** Why the server of a database operator is not ready, in that operator's words. */
  readonly serverTrouble: string | undefined;
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
  readonly tls: SiteTlsFacts | undefined;
  /** Undefined where the site has an Ingress, or neither. */
  readonly route: SiteRouteFacts | undefined;
  /** Whether KEDA is there. */
  readonly keda: boolean;
  /** Whether Traefik's middlewares are there. */
  readonly traefik: boolean;
  /** The queues that nobody but the operator wakes. */
  readonly asleep: readonly Queue[];
  /** The queues whose number somebody else has. */
  readonly foreignScalers: ForeignScalers;
  /** The way to the bench's image; undefined where the site is there. */
  readonly upgrade: SiteUpgradeFacts | undefined;
  /** What `restoreFrom` asks for; undefined where it is not given. */
  readonly restore: SiteRestoreFacts | undefined;
}

/** @throws Stalled or Waiting, see `Kind.gather` */
export function gatherSite(site: AppSite, world: World): SiteFacts {
  refuseSharedName(site, 'AppBench', world);
  const { namespace = 'default', name } = site.metadata;
  const { spec } = site;
  const { model: wanted, ready, goes, rolled, bench, trouble } = readBench(site, world);
  const upgrade = upgradeFacts(site, wanted, rolled, world);
  const waits = upgrade?.begun === false;
  const model = waits ? benchBefore(wanted, bench, upgrade.from) : wanted;
  // First, so that nothing else hides what is taken from who judges a change of it.
  refuseTakenHosts(site, model.domain.suffix, world);
  refuseLongHost(site, model.domain.suffix);
  const admin = spec.adminPasswordSecretRef?.name;
  const database = databasePlan(site, model);
  const adminVersion = admin
    ? requireSecret(world, namespace, admin, 'spec.adminPasswordSecretRef.name')
    : '';
  const databaseVersion =
    spec.dbConfig.mode === 'external'
      ? requireSecret(world, namespace, database.password.secret, 'spec.dbConfig.secretRef.name')
      : '';
  const generated = generatedSecrets(site, world);
  const restore = restoreFacts(site, world);
  // What a bench that goes has lost, such as the password of Redis, it makes anew: a site that is there has to be told.
  const mayChange = ready || upgrade || (goes && site.status?.appliedHash !== undefined);
  const route = routeFacts(site, model, world);
  const keda = world.serves(ScaledObject);
  const hosts = publicHosts(spec, model.domain.suffix);
  return {
    bench: withTemplate(model, spec.podTemplate),
    // One that is closed half way is not touched before its turn: its Job would go back, and then forth again.
    hold:
      waits && upgrade.closed
        ? `waiting for its turn to be brought to ${upgrade.to}`
        : mayChange
          ? (waitingFor(generated) ?? restoreHold(site, restore))
          : `waiting for bench ${model.name} to be ready`,
    generated: generated.map(({ uid = '' }) => uid),
    database,
    serverTrouble: trouble,
    databaseVersion,
    redisVersion: redisVersion(model, world) ?? '',
    // New apps come with the image that holds them.
    apps: (waits ? site.status?.apps : undefined) ?? siteApps(site, model),
    domain: hosts[0] ?? spec.siteName,
    hosts,
    adminPassword: { secret: admin ?? siteNames(name).adminPassword, version: adminVersion },
    tls: route ? undefined : tlsFacts(site, model, world),
    route,
    keda,
    traefik: world.serves(TraefikMiddleware),
    asleep: asleep(site.status?.workerScaling),
    foreignScalers:
      spec.workloads === 'Dedicated'
        ? foreignScalers(world, namespace, siteNames(name).worker, (queue) =>
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
  { bench, keda }: Pick<SiteFacts, 'bench' | 'keda'>,
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

/** A new site begins with its backup; one that is there goes on without. */
function restoreHold(site: AppSite, restore: SiteRestoreFacts | undefined): string | undefined {
  return site.status?.image === undefined ? restore?.problem?.message : undefined;
}

function readBench(
  site: AppSite,
  world: World,
): {
  readonly model: BenchModel;
  readonly bench: AppBench;
  readonly ready: boolean;
  readonly goes: boolean;
  readonly rolled: boolean;
  readonly trouble: string | undefined;
} {
  const { namespace = 'default' } = site.metadata;
  const { name } = site.spec.benchRef;
  const bench = world.get('AppBench', namespace, name, benchOffer);
  if (!bench) {
    throw new Waiting(
      'BenchMissing',
      `spec.benchRef.name: there is no AppBench "${name}" in namespace ${namespace}`,
    );
  }
  const model = benchModel(bench.bench, world);
  const rolled = bench.ready && bench.image === model.image.reference;
  const { ready, goes } = bench;
  const read = { model, bench: bench.bench, ready, goes, rolled, trouble: undefined };
  if (site.spec.dbConfig.mode !== 'operator' || bench.bench.spec.dbConfig.mode !== 'operator') {
    return read;
  }
  requireDatabaseOperator(model.database.provider, world);
  const { server, trouble } = operatedServer(bench.bench, model, world);
  return { ...read, model: { ...model, database: server }, trouble };
}

function generatedSecrets(
  { metadata, spec }: AppSite,
  world: World,
): readonly { readonly name: string; readonly uid: string | undefined }[] {
  const { namespace = 'default' } = metadata;
  const names = siteNames(metadata.name);
  return [
    ...(spec.adminPasswordSecretRef ? [] : [names.adminPassword]),
    ...(spec.dbConfig.mode === 'external' ? [] : [names.databaseSecret]),
    names.encryptionKey,
  ].map((name) => ({ name, uid: world.get('Secret', namespace, name, uidOf) }));
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
