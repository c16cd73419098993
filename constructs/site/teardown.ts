import { Chart } from 'cdk8s';
import type { Construct } from 'constructs';
import type { AppBench } from '../bench/api.js';
import { benchModel, type BenchModel } from '../framework/bench-model.js';
import { bareBench } from '../framework/site-model.js';
import { Waiting } from '../kit/errors.js';
import type { Teardown, World } from '../kit/kind.js';
import { isReleased, keepsData, markersOf } from '../kit/labels.js';
import { siteNames } from '../kit/names.js';
import type { KubeObject } from '../kit/object.js';
import { Stage } from '../kit/stage.js';
import type { AppSite } from './api.js';
import { databasePlan } from './database.js';
import { SiteDrop } from './job.js';

/**
 * `Delete` drops the database and the files. `Retain` keeps both for a later site of the same name,
 * and puts the site to rest: the bench's scheduler would go on working for it.
 */
export const siteTeardown: Teardown<AppSite> = {
  needed: (site) => !isReleased(site),
  keeps: keepsData,
  blockers(site, world) {
    if (drops(site) && hasBegun(site, world) && !findBench(site, world)) throw benchMissing(site);
  },
  chart(scope, id, site, world) {
    // A site that was never Ready under Retain has nothing that goes on: it may go at once.
    const needed = drops(site) ? hasBegun(site, world) : site.status?.appliedHash !== undefined;
    const bench = needed && !isReleased(site) ? findBench(site, world) : undefined;
    return bench && new DropChart(scope, id, site, benchModel(bench, world));
  },
};

function drops(site: AppSite): boolean {
  return site.spec.deletionPolicy === 'Delete' && !isReleased(site);
}

/**
 * Whether there can be data. The status tells of the database when the site was accepted for the
 * first time; the password comes before anything that uses it. A refused site has neither, and
 * nothing may run under its name.
 */
function hasBegun(site: AppSite, world: World): boolean {
  const { namespace = 'default', name } = site.metadata;
  const { databaseSecret } = siteNames(name);
  return (
    site.status?.database !== undefined ||
    world.get('Secret', namespace, databaseSecret, nameOf) !== undefined
  );
}

function nameOf({ metadata }: KubeObject): string {
  return metadata.name;
}

function findBench(site: AppSite, world: World): AppBench | undefined {
  const { namespace = 'default' } = site.metadata;
  return world.get('AppBench', namespace, site.spec.benchRef.name, bareBench);
}

function benchMissing(site: AppSite): Waiting {
  const { namespace = 'default' } = site.metadata;
  return new Waiting(
    'BenchMissing',
    `the site's data cannot be dropped: there is no AppBench "${site.spec.benchRef.name}" in namespace ${namespace}; the annotation ${markersOf(site).skipDrop}=true lets the site go without it`,
  );
}

class DropChart extends Chart {
  constructor(scope: Construct, id: string, site: AppSite, bench: BenchModel) {
    super(scope, id, { disableResourceNameHashes: true });
    new SiteDrop(new Stage(this, 'drop', { gate: true }), 'drop', {
      site,
      bench,
      database: databasePlan(site, bench),
    });
  }
}
