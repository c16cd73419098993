import { Construct } from 'constructs';
import type { BenchModel } from '../../frappe/bench-model.js';
import { tlsPod } from '../../frappe/database-tls.js';
import { FrappeJob } from '../../frappe/job.js';
import { jobCommand, secretEnv } from '../../frappe/pod.js';
import { longerTimeout } from '../../frappe/worker.js';
import { hashOf } from '../../kit/json/hash.js';
import { siteNames } from '../../kit/names.js';
import type { AppSite } from '../../api/site.js';
import { databaseAdmin } from './database-admin.js';
import { identity } from './job-environment.js';
import type { SiteInputs } from './inputs.js';
import { restoreEnv, restoreRun } from './restore.js';
import { siteConfig } from './site-config.js';

/** Migrating a large database takes hours. */
const MIGRATE_SECONDS = 21_600;
/** How much longer than the longest background job the init Job waits. */
const SPARE_SECONDS = 120;
const RETRIES = 3;

/** The Job that creates a site, or updates an existing one. */
export class SiteInit extends Construct {
  constructor(
    scope: Construct,
    id: string,
    { site, inputs }: { readonly site: AppSite; readonly inputs: SiteInputs },
  ) {
    super(scope, id);
    const { bench, database } = inputs;
    const names = siteNames(site.metadata.name);
    const config = siteConfig(site, inputs);
    const image = bench.image.reference;
    const admin = databaseAdmin(site, database, 'Create');
    const tls = tlsPod(database.server);
    const store = inputs.restore?.store;
    const jobsWait = jobsWaitSeconds(bench);
    new FrappeJob(this, 'job', {
      bench,
      owner: site,
      name: names.init,
      component: 'init',
      run: initRun(site, inputs),
      backoffLimit: RETRIES,
      // Each attempt may wait.
      deadlineSeconds: MIGRATE_SECONDS + (jobsWait ?? 0) * (RETRIES + 1),
      initContainers: [...admin.containers, ...(store?.sidecars ?? [])],
      extraVolumes: [...admin.volumes, ...tls.volumes, ...(store?.volumes ?? [])],
      container: {
        name: 'init',
        command: jobCommand('site_init.py'),
        env: [
          ...identity(site, database),
          ...tls.env,
          { name: 'IMAGE', value: image },
          { name: 'SITE_APPS', value: JSON.stringify(inputs.apps) },
          { name: 'SITE_CONFIG', value: JSON.stringify(config) },
          // The site's pods of the previous image must have terminated first.
          ...(inputs.upgrade?.started ? [{ name: 'KEEP_CLOSED', value: '1' }] : []),
          secretEnv('DB_PASSWORD', database.password),
          ...admin.env,
          secretEnv('ADMIN_PASSWORD', { secret: inputs.adminPassword.secret, key: 'password' }),
          secretEnv('ENCRYPTION_KEY', { secret: names.encryptionKey, key: 'key' }),
          ...restoreEnv(site, inputs.restore),
          ...(jobsWait ? [{ name: 'JOBS_WAIT_SECONDS', value: String(jobsWait) }] : []),
        ],
        extraMounts: [...admin.mounts, ...tls.mounts, ...(store?.mounts ?? [])],
        resources: bench.componentResources.workerDefault,
      },
    });
  }
}

/** How long an upgrade waits for running background jobs; undefined where the script's default suffices. */
function jobsWaitSeconds({ workers }: BenchModel): number | undefined {
  const longest = longerTimeout(workers);
  return longest === undefined ? undefined : longest + SPARE_SECONDS;
}

/** Hash of what the init Job is created to do. */
export function initRun(site: AppSite, inputs: Omit<SiteInputs, 'configuration'>): string {
  return hashOf([
    inputs.bench.image.reference,
    inputs.apps,
    inputs.database,
    inputs.databaseVersion,
    ...inputs.databaseTlsVersions,
    inputs.redisVersion,
    siteConfig(site, inputs),
    inputs.adminPassword,
    inputs.generated,
    ...restoreRun(inputs.restore),
    ...(inputs.runAgain === undefined ? [] : [{ runAgain: inputs.runAgain }]),
  ]);
}
