import type { AppBench } from '../../api/bench.js';
import { syncConfiguration, type ConfigurationSync } from '../../configuration/sync.js';
import { modelOfValid, type BenchModel } from '../../frappe/bench-model.js';
import { databaseOperatorServer } from '../../frappe/database-operator-server.js';
import { requestedImage } from '../../frappe/image.js';
import { awaitsDigest } from '../../frappe/image-digest.js';
import { COMMON_CONFIG_FILE } from '../../kit/constants.generated.js';
import { refuse } from '../../kit/errors.js';
import type { ClusterReader } from '../../kit/kind.js';
import { benchNames } from '../../kit/names.js';
import { isDeleting } from '../../kit/object.js';
import { requireReferences, resolveData, type BenchData } from './data.js';
import { benchInitTaskHash } from './init-job.js';
import { benchRefusals } from './refusals.js';
import { resolveSites, type BenchSites } from './routed-sites.js';
import { resolveUpgrade, type UpgradePlan } from './upgrade.js';
import { resolveWorkloads, type BenchWorkloads } from './workloads.js';

/** What the tree of a bench depends on. */
export interface BenchInputs {
  readonly model: BenchModel;
  readonly data: BenchData;
  readonly sites: BenchSites;
  readonly workloads: BenchWorkloads;
  /** The upgrade of the sites; undefined where all are on the bench's image. */
  readonly upgrade: UpgradePlan | undefined;
  /** Why only the passwords can be created yet. */
  readonly blockedReason: string | undefined;
  /** What the init Job is created to do. */
  readonly init: string;
  /** Whether that Job finds out what the image refers to: until then no pod runs it. */
  readonly awaitsDigest: boolean;
  /** The keys of common_site_config.json that the spec declares; undefined where it never did. */
  readonly configuration: ConfigurationSync | undefined;
}

/** @throws Stalled or Waiting, see `Kind.resolve` */
export function resolveBench(bench: AppBench, reader: ClusterReader): BenchInputs {
  refuse(benchRefusals(bench, reader));
  requireReferences(bench, reader);
  const model = modelOf(bench, reader);
  const data = resolveData(bench, model, reader);
  const init = benchInitTaskHash(bench, model, data.redisVersion);
  const missing = data.redisVersion === undefined ? benchNames(model.name).redisSecret : undefined;
  return {
    model,
    data,
    sites: resolveSites(model, reader),
    workloads: resolveWorkloads(bench, model, reader),
    upgrade: resolveUpgrade(bench, model, reader),
    blockedReason: missing === undefined ? undefined : `waiting for Secret ${missing}`,
    init,
    // The status of a bench that is being deleted records nothing any more.
    awaitsDigest: !isDeleting(bench) && awaitsDigest(bench, requestedImage(bench.spec), init),
    configuration: configurationOf(bench, model, init, reader),
  };
}

function modelOf(bench: AppBench, reader: ClusterReader): BenchModel {
  const model = modelOfValid(bench, reader);
  if (bench.spec.dbConfig.mode !== 'operator') return model;
  return { ...model, database: databaseOperatorServer(bench, model, reader).server };
}

function configurationOf(
  bench: AppBench,
  model: BenchModel,
  init: string,
  reader: ClusterReader,
): BenchInputs['configuration'] {
  const { configuration: job, init: initJob } = benchNames(model.name);
  return syncConfiguration(
    bench,
    {
      file: COMMON_CONFIG_FILE,
      job,
      initJob,
      init,
    },
    reader,
  );
}
