import { Chart } from 'cdk8s';
import type { Construct } from 'constructs';
import type { AppBench } from '../bench/api.js';
import { benchModel } from '../framework/bench-model.js';
import { Waiting } from '../kit/errors.js';
import type { Teardown, World } from '../kit/kind.js';
import { markersOf } from '../kit/labels.js';
import { Stage } from '../kit/stage.js';
import type { AppSite } from './api.js';
import { databasePlan } from './database.js';
import { SiteDrop } from './job.js';

/** `Delete` drops the database and the files; `Retain` leaves both to a later site of the same name. */
export const siteTeardown: Teardown<AppSite> = {
  needed: drops,
  blockers(site, world) {
    if (drops(site)) readBench(site, world);
  },
  chart(scope, id, site, world) {
    return drops(site) ? new DropChart(scope, id, site, world) : undefined;
  },
};

function drops(site: AppSite): boolean {
  return (
    site.spec.deletionPolicy === 'Delete' &&
    site.metadata.annotations?.[markersOf(site).skipDrop] !== 'true'
  );
}

function readBench(site: AppSite, world: World): AppBench {
  const { namespace = 'default' } = site.metadata;
  const { name } = site.spec.benchRef;
  const bench = world.get('AppBench', namespace, name, specOf);
  if (bench) return bench;
  throw new Waiting(
    'BenchMissing',
    `the site's data cannot be dropped: there is no AppBench "${name}" in namespace ${namespace}; the annotation ${markersOf(site).skipDrop}=true lets the site go without it`,
  );
}

function specOf({ apiVersion, kind, metadata, spec }: AppBench): AppBench {
  const { name, namespace } = metadata;
  return {
    apiVersion,
    kind,
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
    spec,
  };
}

class DropChart extends Chart {
  constructor(scope: Construct, id: string, site: AppSite, world: World) {
    super(scope, id, { disableResourceNameHashes: true });
    const bench = benchModel(readBench(site, world), world.settings);
    new SiteDrop(new Stage(this, 'drop', { gate: true }), 'drop', {
      site,
      bench,
      database: databasePlan(site, bench),
    });
  }
}
