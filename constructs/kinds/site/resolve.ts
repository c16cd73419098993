import type { AppSite } from '../../api/site.js';
import { firstLoginOf } from '../../configuration/first-login.js';
import { syncConfiguration, type ConfigurationSync } from '../../configuration/sync.js';
import { invalidBench, modelOfValid, type BenchModel } from '../../frappe/bench-model.js';
import { databaseOperatorServer } from '../../frappe/database-operator-server.js';
import { benchOffer, withTemplates, type BenchOffer } from '../../frappe/site-model.js';
import { runAgainOf } from '../../kit/annotations.js';
import { refuse, Waiting } from '../../kit/errors.js';
import type { ClusterReader } from '../../kit/kind.js';
import { siteNames } from '../../kit/names.js';
import { resolveAccess, type SiteAccess } from './access.js';
import { resolveData, type SiteData } from './data.js';
import { requireDatabaseOperator } from './database-ready.js';
import { keptRecord } from './foreign-hosts.js';
import { initTaskHash, type SiteInitInputs } from './init-job.js';
import { siteRefusals, type OfferedBench } from './refusals.js';
import { benchBefore, resolveUpgrade, type SiteUpgradeInputs } from './upgrade.js';
import { resolveWorkloads, type SiteWorkloads } from './workloads.js';

/** What the tree of a site depends on. */
export interface SiteInputs {
  /** The bench, with the image that the site runs and its own pod template. */
  readonly bench: BenchModel;
  /** The upgrade to the bench's image; undefined where the site's data is of it. */
  readonly upgrade: SiteUpgradeInputs | undefined;
  readonly apps: readonly string[];
  readonly data: SiteData;
  readonly access: SiteAccess;
  readonly workloads: SiteWorkloads;
  /** Why the server of a database operator is not ready, in that operator's words. */
  readonly serverNotReady: string | undefined;
  /**
   * Why the site must not be created or changed yet; undefined when the bench is ready, or is kept
   * for its sites only.
   */
  readonly blockedReason: string | undefined;
  /** With another value the init Job runs again. */
  readonly runAgain: string | undefined;
  /** The keys of site_config.json that the spec declares; undefined where it never did. */
  readonly configuration: ConfigurationSync | undefined;
}

/** @throws Stalled or Waiting, see `Kind.resolve` */
export function resolveSite(site: AppSite, reader: ClusterReader): SiteInputs {
  const { namespace = 'default' } = site.metadata;
  const { name } = site.spec.benchRef;
  const offer = reader.get('AppBench', namespace, name, benchOffer);
  const benchProblems = offer ? invalidBench(offer.bench) : [];
  const plan = offer && benchProblems.length === 0 ? planOn(offer, site, reader) : undefined;
  const fields = keptRecord(site);
  refuse([...siteRefusals(site, plan?.offered, reader), ...benchProblems], fields);
  if (plan) return resolveOn(plan, site, reader);
  const message = `spec.benchRef.name: there is no AppBench "${name}" in namespace ${namespace}`;
  throw new Waiting('BenchMissing', message, { fields });
}

/** What a site runs on: until its turn to be upgraded, the bench with the image before. */
interface SitePlan {
  readonly offer: BenchOffer;
  readonly offered: OfferedBench;
  readonly upgrade: SiteUpgradeInputs | undefined;
}

function planOn(offer: BenchOffer, site: AppSite, reader: ClusterReader): SitePlan {
  const model = modelOfValid(offer.bench, reader);
  const upgrade = resolveUpgrade(site, model, offer, reader);
  const apps = site.spec.apps?.map(({ name }) => name) ?? model.apps;
  if (upgrade?.started !== false) {
    const isWanted = upgrade === undefined || upgrade.to === model.image.reference;
    const bench = isWanted ? model : benchBefore(model, offer.bench, upgrade.to);
    return { offer, offered: { bench, apps, keptApps: [] }, upgrade };
  }
  // Added apps are in the new image only.
  const keptApps = site.status?.apps ?? [];
  const bench = benchBefore(model, offer.bench, upgrade.from);
  const offered = { bench, apps: keptApps.length > 0 ? keptApps : apps, keptApps };
  return { offer, offered, upgrade };
}

function resolveOn(plan: SitePlan, site: AppSite, reader: ClusterReader): SiteInputs {
  const { offer, offered, upgrade } = plan;
  const { bench, notReady } = withServer(site, offer, offered.bench, reader);
  const data = resolveData(site, bench, reader);
  const inputs = {
    bench: withTemplates(bench, site.spec),
    upgrade,
    apps: offered.apps,
    data,
    access: resolveAccess(site, bench, reader),
    workloads: resolveWorkloads(site, bench, reader),
    serverNotReady: notReady,
    blockedReason: blockedReason(site, { offer, upgrade, data }),
    runAgain: runAgainOf(site),
  };
  return { ...inputs, configuration: resolveConfiguration(site, inputs, reader) };
}

/**
 * The bench, with the server that its database operator reports.
 * @throws Waiting where that server cannot be used
 */
function withServer(
  site: AppSite,
  offer: BenchOffer,
  model: BenchModel,
  reader: ClusterReader,
): { readonly bench: BenchModel; readonly notReady: string | undefined } {
  if (site.spec.dbConfig.mode !== 'operator') return { bench: model, notReady: undefined };
  requireDatabaseOperator(model.database.provider, reader);
  const { server, notReady } = databaseOperatorServer(offer.bench, model, reader);
  return { bench: { ...model, database: server }, notReady };
}

/** Why the site must not be created or changed yet. */
function blockedReason(
  site: AppSite,
  props: {
    readonly offer: BenchOffer;
    readonly upgrade: SiteUpgradeInputs | undefined;
    readonly data: SiteData;
  },
): string | undefined {
  const { offer, upgrade, data } = props;
  const waits = upgrade ? turnReason(upgrade) : benchReason(site, offer);
  if (waits !== undefined) return waits;
  if (data.missing !== undefined) return `waiting for Secret ${data.missing}`;
  // A new site begins with its backup; an existing one runs without it.
  return site.status?.image === undefined ? data.restore?.problem?.message : undefined;
}

/** The Job of a closed site would go back to the previous image, and then forward again. */
function turnReason({ started, closed, to }: SiteUpgradeInputs): string | undefined {
  return !started && closed ? `waiting for its turn to be upgraded to ${to}` : undefined;
}

/** A bench that is being deleted generates lost Secrets again: an existing site must get them. */
function benchReason({ status }: AppSite, { bench, ready, deleting }: BenchOffer) {
  const isUsable = ready || (deleting && status?.appliedHash !== undefined);
  return isUsable ? undefined : `waiting for bench ${bench.metadata.name} to be ready`;
}

function resolveConfiguration(
  site: AppSite,
  inputs: SiteInitInputs,
  reader: ClusterReader,
): ConfigurationSync | undefined {
  const { configuration: job, init: initJob } = siteNames(site.metadata.name);
  return syncConfiguration(
    site,
    {
      file: 'site_config.json',
      job,
      initJob,
      init: initTaskHash(site, inputs),
      login: firstLoginOf(site),
    },
    reader,
  );
}
