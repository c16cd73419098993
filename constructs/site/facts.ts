import type { AppBench } from '../bench/api.js';
import { benchModel, type BenchModel } from '../framework/bench-model.js';
import { publicDomain } from '../framework/domain.js';
import { hostKey, sitesByHost } from '../framework/indexes.js';
import { redisVersion } from '../framework/redis-version.js';
import { requireSecret } from '../framework/secret.js';
import { claimOf, isOlder, refuseSharedName } from '../framework/seniority.js';
import { benchOffer, withTemplate } from '../framework/site-model.js';
import { Stalled, Waiting } from '../kit/errors.js';
import type { World } from '../kit/kind.js';
import { siteNames } from '../kit/names.js';
import { uidOf } from '../kit/object.js';
import { Certificate, MariaDbDatabase, ScaledObject } from '../kit/object-kind.js';
import type { AppSite } from './api.js';
import { databasePlan, type SiteDatabasePlan } from './database.js';
import { restoreFacts, type SiteRestoreFacts } from './restore.js';
import { benchBefore, upgradeFacts, type SiteUpgradeFacts } from './upgrade.js';

/** What the tree of a site depends on. */
export interface SiteFacts {
  readonly bench: BenchModel;
  /** Why the site must not be created or changed yet; undefined when the bench is ready. */
  readonly hold: string | undefined;
  /** uids of the Secrets that the operator generates: one that was made anew has another value, which the site must learn. */
  readonly generated: readonly string[];
  readonly database: SiteDatabasePlan;
  /** Version of the Secret of a prepared database. */
  readonly databaseVersion: string;
  /** What the site's pods read of Redis at their start, see `redisVersion`. */
  readonly redisVersion: string;
  readonly apps: readonly string[];
  /** The public host name. */
  readonly domain: string;
  readonly adminPassword: { readonly secret: string; readonly version: string };
  readonly tls: SiteTlsFacts | undefined;
  readonly keda: boolean;
  /** The way to the bench's image; undefined where the site is there. */
  readonly upgrade: SiteUpgradeFacts | undefined;
  /** What `restoreFrom` asks for; undefined where it is not given. */
  readonly restore: SiteRestoreFacts | undefined;
}

/** How the site's traffic is encrypted. */
export interface SiteTlsFacts {
  readonly secretName: string;
  /** Who issues the certificate; undefined where the Secret is the user's own. */
  readonly issuer: { readonly kind: string; readonly name: string } | undefined;
  /** Whether cert-manager is there. */
  readonly certManager: boolean;
  readonly secretExists: boolean;
}

/** @throws Stalled or Waiting, see `Kind.gather` */
export function gatherSite(site: AppSite, world: World): SiteFacts {
  refuseSharedName(site, 'AppBench', world);
  const { namespace = 'default', name } = site.metadata;
  const { spec } = site;
  const { model: wanted, ready, rolled, bench } = readBench(site, world);
  const upgrade = upgradeFacts(site, wanted, rolled, world);
  const waits = upgrade?.begun === false;
  const model = waits ? benchBefore(wanted, bench, upgrade.from) : wanted;
  refuseTakenHosts(site, model.domain.suffix, world);
  const admin = spec.adminPasswordSecretRef?.name;
  const database = databasePlan(site, model);
  const adminVersion = admin
    ? requireSecret(world, namespace, admin, 'spec.adminPasswordSecretRef.name')
    : '';
  const databaseVersion =
    spec.dbConfig.mode === 'external'
      ? requireSecret(world, namespace, database.password.secret, 'spec.dbConfig.secretRef.name')
      : '';
  if (spec.dbConfig.mode === 'operator' && !world.serves(MariaDbDatabase)) {
    throw new Waiting(
      'DatabaseOperatorMissing',
      `spec.dbConfig.mode: the cluster does not serve ${MariaDbDatabase.apiVersion}: install the MariaDB operator`,
    );
  }
  const generated = generatedSecrets(site, world);
  const restore = restoreFacts(site, world);
  return {
    bench: withTemplate(model, spec.podTemplate),
    // One that is closed half way is not touched before its turn: its Job would go back, and then forth again.
    hold:
      waits && upgrade.closed
        ? `waiting for its turn to be brought to ${upgrade.to}`
        : ready || upgrade
          ? (waitingFor(generated) ?? restoreHold(site, restore))
          : `waiting for bench ${model.name} to be ready`,
    generated: generated.map(({ uid = '' }) => uid),
    database,
    databaseVersion,
    redisVersion: redisVersion(model, world) ?? '',
    // New apps come with the image that holds them.
    apps: (waits ? site.status?.apps : undefined) ?? siteApps(site, model),
    domain: publicDomain(spec, model.domain.suffix),
    adminPassword: { secret: admin ?? siteNames(name).adminPassword, version: adminVersion },
    tls: tlsFacts(site, model, world),
    keda: world.serves(ScaledObject),
    upgrade,
    restore,
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
  readonly rolled: boolean;
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
  const model = benchModel(bench.bench, world.settings);
  const rolled = bench.ready && bench.image === model.image.reference;
  return { model, bench: bench.bench, ready: bench.ready, rolled };
}

/** Two sites of one host name on a bench would answer each other's requests: the younger is refused. */
function refuseTakenHosts(site: AppSite, suffix: string | undefined, world: World): void {
  const { namespace, name } = site.metadata;
  const { benchRef } = site.spec;
  const mine = hostsOf(site.spec, suffix);
  for (const { path, host } of mine) {
    // A site without a domain gets this host from its name and the bench's suffix.
    const tail = `.${suffix ?? ''}`;
    const stem = suffix !== undefined && host.endsWith(tail) ? [host.slice(0, -tail.length)] : [];
    const rival = [host, ...stem]
      .flatMap((key) => world.list(sitesByHost, hostKey(namespace, benchRef.name, key), rivalOf))
      .find(
        (other) =>
          other.name !== name &&
          isOlder(other, claimOf(site)) &&
          hostsOf(other, suffix).some((claimed) => claimed.host === host),
      );
    if (rival) {
      throw new Stalled(
        'DuplicateSiteName',
        `${path}: Invalid value: "${host}": AppSite ${rival.name} on bench ${benchRef.name} has this host name already`,
      );
    }
  }
}

function rivalOf(site: AppSite) {
  const { siteName, domain } = site.spec;
  return { ...claimOf(site), siteName, ...(domain === undefined ? {} : { domain }) };
}

/** The host names that a site answers to, and where each comes from. */
function hostsOf(
  spec: { readonly siteName: string; readonly domain?: string },
  suffix: string | undefined,
): readonly { readonly path: string; readonly host: string }[] {
  const domain = publicDomain(spec, suffix);
  const name = { path: 'spec.siteName', host: spec.siteName };
  if (domain === spec.siteName) return [name];
  return [name, { path: spec.domain ? 'spec.domain' : 'spec.siteName', host: domain }];
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

function tlsFacts(site: AppSite, bench: BenchModel, world: World): SiteTlsFacts | undefined {
  const { ingress } = site.spec;
  if (!ingress?.enabled || !ingress.tls?.enabled) return undefined;
  const { namespace = 'default', name } = site.metadata;
  const secretName = ingress.tls.secretName ?? siteNames(name).tls;
  const issuer = ingress.tls.certManagerIssuer ?? bench.domain.issuer;
  return {
    secretName,
    issuer: issuer === undefined ? undefined : { kind: ingress.tls.issuerKind, name: issuer },
    certManager: world.serves(Certificate),
    secretExists: world.get('Secret', namespace, secretName, uidOf) !== undefined,
  };
}
