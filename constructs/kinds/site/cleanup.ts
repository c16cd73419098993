import { Chart } from 'cdk8s';
import type { Construct } from 'constructs';
import type { AppBench } from '../../api/bench.js';
import { benchModel, type BenchModel, DEFAULT_PORTS } from '../../frappe/bench-model.js';
import { bareBench } from '../../frappe/site-model.js';
import { invalid, refuse, Stalled, Waiting } from '../../kit/errors.js';
import type { Cleanup, ClusterReader } from '../../kit/kind.js';
import { retainsData } from '../../kit/deletion-policy.js';
import { skipsCleanup } from '../../kit/annotations.js';
import { metadataKeysOf } from '../../kit/metadata-keys.js';
import { benchNames, isServiceIn, siteNames } from '../../kit/names.js';
import { isDeleting, type KubeObject } from '../../kit/object.js';
import { Stage } from '../../kit/synth.js';
import type { AppSite } from '../../api/site.js';
import { databasePlan, unsupportedMode, type SiteDatabasePlan } from './database.js';
import { SiteDrop, type SiteDropProps } from './drop-job.js';

/**
 * `Delete` drops the database and the files. `Retain` keeps both for a later site of the same name,
 * and disables the site, for which the bench's scheduler would enqueue jobs.
 */
export const siteCleanup: Cleanup<AppSite> = {
  // Also where the Job is skipped: the data is first taken from the site, or the garbage collector deletes it.
  needed: () => true,
  leftOutside(site) {
    const { database } = site.status ?? {};
    const { mode } = site.spec.dbConfig;
    // A prepared database is never dropped, and a database operator drops its own.
    if (
      !database ||
      !drops(site) ||
      skipsCleanup(site) ||
      !['shared', 'dedicated'].includes(mode)
    ) {
      return [];
    }
    const { name, host } = database;
    return isServiceIn(site.metadata.namespace ?? 'default', host)
      ? []
      : [`database and user ${name} on ${host}`];
  },
  retainsData,
  blockers(site, reader) {
    if (drops(site) && mayHaveData(site, reader) && !findBench(site, reader))
      throw benchMissing(site);
  },
  chart(scope, id, site, reader) {
    // A site under Retain that was never Ready has no running jobs: it is deleted at once.
    const needed = drops(site) ? mayHaveData(site, reader) : site.status?.appliedHash !== undefined;
    const bench = needed && !skipsCleanup(site) ? findBench(site, reader) : undefined;
    if (!bench) return undefined;
    const model = withoutCleanup(site, () => benchModel(bench, reader));
    const database = databaseOf(site, model);
    return new DropChart(scope, id, {
      site,
      bench: model,
      database,
      filesDeleted: filesDeleted(site, reader),
    });
  },
};

function drops(site: AppSite): boolean {
  return !retainsData(site);
}

/**
 * Whether data can exist. The status names the database when the site was accepted for the first
 * time; the password is created before everything that uses it. A refused site has neither, and
 * nothing may run under its name.
 */
function mayHaveData(site: AppSite, reader: ClusterReader): boolean {
  const { namespace = 'default', name } = site.metadata;
  const { databaseSecret } = siteNames(name);
  return (
    site.status?.database !== undefined ||
    reader.get('Secret', namespace, databaseSecret, nameOf) !== undefined
  );
}

/**
 * Whether the volume of the bench's sites is being deleted, as after `--cascade=foreground` under
 * `Delete`. No new pod can mount it, and it is deleted after its last pod: the bench, which serves
 * its sites until they are deleted, would wait for the site.
 */
function filesDeleted(site: AppSite, reader: ClusterReader): boolean {
  const { namespace = 'default' } = site.metadata;
  const { sites } = benchNames(site.spec.benchRef.name);
  return reader.get('PersistentVolumeClaim', namespace, sites, isDeleting) ?? false;
}

function nameOf({ metadata }: KubeObject): string {
  return metadata.name;
}

function findBench(site: AppSite, reader: ClusterReader): AppBench | undefined {
  const { namespace = 'default' } = site.metadata;
  return reader.get('AppBench', namespace, site.spec.benchRef.name, bareBench);
}

function benchMissing(site: AppSite): Waiting {
  const { namespace = 'default' } = site.metadata;
  return new Waiting(
    'BenchMissing',
    `the site's data cannot be dropped: there is no AppBench "${site.spec.benchRef.name}" in namespace ${namespace}; to delete the site without dropping it, annotate it with ${metadataKeysOf(site).skipDrop}=true`,
  );
}

/**
 * The site's database, as its status names it: the bench may have changed to a server of another
 * kind since. Only where the Job drops it does it need the bench's server, with the login of its
 * administrator.
 */
function databaseOf(site: AppSite, bench: BenchModel): SiteDatabasePlan {
  const { spec, status } = site;
  const { mode } = spec.dbConfig;
  if (status?.database && !(drops(site) && mode === 'shared')) {
    const { provider, host, name } = status.database;
    const port = spec.dbConfig.port ?? DEFAULT_PORTS[provider];
    const password = { secret: siteNames(site.metadata.name).databaseSecret, key: 'password' };
    return { mode, name, password, server: { provider, host, port } };
  }
  withoutCleanup(site, () => refuse(invalid(unsupportedMode(site, bench))));
  return databasePlan(site, bench);
}

/** Adds to an error how the site can be deleted in spite of it. */
function withoutCleanup<T>(site: AppSite, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Stalled)) throw error;
    const advice = `to delete the site without dropping its data, annotate it with ${metadataKeysOf(site).skipDrop}=true`;
    throw new Stalled(error.reason, `${error.message}; ${advice}`, error.retryAfterMs);
  }
}

class DropChart extends Chart {
  constructor(scope: Construct, id: string, props: SiteDropProps) {
    super(scope, id, { disableResourceNameHashes: true });
    new SiteDrop(new Stage(this, 'drop', { waitForReady: true }), 'drop', props);
  }
}
