import { Construct } from 'constructs';
import type { BenchModel } from '../../frappe/bench-model.js';
import { tlsPod } from '../../frappe/database-tls.js';
import { FrappeJob } from '../../frappe/job.js';
import { jobCommand, secretEnv } from '../../frappe/pod.js';
import { longerTimeout } from '../../frappe/worker.js';
import { parseDuration } from '../../kit/duration.js';
import type * as k8s from '../../kit/k8s.js';
import { hashOf } from '../../kit/json/hash.js';
import { siteNames } from '../../kit/names.js';
import type { AppSite } from '../../api/site.js';
import { databaseAdmin } from './database-admin.js';
import { identity } from './job-environment.js';
import type { SiteAccess } from './access.js';
import type { SiteData } from './data.js';
import type { SiteUpgradeInputs } from './upgrade.js';
import { restoreEnv, restoreRun } from './restore.js';
import { siteConfig } from './site-config.js';

/** Migrating a large database takes hours. */
const INIT_MS = 21_600_000;
/** How much longer than the longest background job the init Job waits. */
const SPARE_SECONDS = 120;
const RETRIES = 3;

/** What the init Job is created to do. */
export interface SiteInitInputs {
  readonly bench: BenchModel;
  readonly apps: readonly string[];
  readonly data: SiteData;
  readonly access: SiteAccess;
  /** With another value the init Job runs again. */
  readonly runAgain: string | undefined;
}

export interface SiteInitProps {
  readonly site: AppSite;
  readonly inputs: SiteInitInputs & { readonly upgrade: SiteUpgradeInputs | undefined };
}

/** The Job that creates a site, or updates an existing one. */
export class SiteInit extends Construct {
  constructor(scope: Construct, id: string, { site, inputs }: SiteInitProps) {
    super(scope, id);
    const { bench, data } = inputs;
    const { database } = data;
    const names = siteNames(site.metadata.name);
    const config = siteConfig(site, inputs);
    const image = bench.image.reference;
    const admin = databaseAdmin(site, database, 'Create');
    const tls = tlsPod(database.server);
    const store = data.restore?.store;
    const jobsWait = jobsWaitSeconds(bench);
    new FrappeJob(this, 'job', {
      bench,
      owner: site,
      name: names.init,
      component: 'init',
      taskHash: initTaskHash(site, inputs),
      backoffLimit: RETRIES,
      // Each attempt may wait.
      deadlineSeconds: initSeconds(site) + (jobsWait ?? 0) * (RETRIES + 1),
      deadlineField: 'spec.initTimeout',
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
          ...secretsEnv(site, data, admin.env),
          ...restoreEnv(site, data.restore),
          ...(jobsWait ? [{ name: 'JOBS_WAIT_SECONDS', value: String(jobsWait) }] : []),
        ],
        extraMounts: [...admin.mounts, ...tls.mounts, ...(store?.mounts ?? [])],
      },
    });
  }
}

/** A site that is taken over keeps what no Secret has. */
function secretsEnv(
  { metadata, spec }: AppSite,
  { database, adminPassword }: SiteData,
  adminEnv: readonly k8s.EnvVar[],
): readonly k8s.EnvVar[] {
  const { encryptionKey } = siteNames(metadata.name);
  return [
    ...(spec.adopt ? [{ name: 'ADOPT', value: '1' }] : []),
    ...(database.password ? [secretEnv('DB_PASSWORD', database.password)] : []),
    ...adminEnv,
    ...(adminPassword
      ? [secretEnv('ADMIN_PASSWORD', { secret: adminPassword.secret, key: 'password' })]
      : []),
    secretEnv('ENCRYPTION_KEY', { secret: encryptionKey, key: 'key' }),
  ];
}

function initSeconds({ spec }: AppSite): number {
  return Math.ceil((parseDuration(spec.initTimeout ?? '') ?? INIT_MS) / 1000);
}

/** How long an upgrade waits for running background jobs; undefined where the script's default suffices. */
function jobsWaitSeconds({ workers }: BenchModel): number | undefined {
  const longest = longerTimeout(workers);
  return longest === undefined ? undefined : longest + SPARE_SECONDS;
}

/** Hash of what the init Job is created to do. */
export function initTaskHash(site: AppSite, inputs: SiteInitInputs): string {
  const { data } = inputs;
  return hashOf([
    inputs.bench.image.reference,
    inputs.apps,
    data.database,
    data.databaseVersion,
    ...data.databaseTlsVersions,
    data.redisVersion,
    siteConfig(site, inputs),
    data.adminPassword ?? 'kept',
    data.generated,
    ...restoreRun(data.restore),
    ...(site.spec.adopt ? ['adopt'] : []),
    ...(inputs.runAgain === undefined ? [] : [{ runAgain: inputs.runAgain }]),
  ]);
}
