import type { k8s } from 'cdk8s-plus-28';
import { Construct } from 'constructs';
import type { BenchModel, DatabaseServer } from '../frappe/bench-model.js';
import { SCRIPTS_DIR } from '../kit/constants.generated.js';
import { FrappeJob } from '../frappe/job.js';
import { PYTHON, secretEnv } from '../frappe/pod.js';
import { hashOf } from '../kit/hash.js';
import { siteNames } from '../kit/names.js';
import type { AppSite } from './api.js';
import type { SiteDatabasePlan } from './database.js';
import type { SiteInputs, SiteUpgradeInputs } from './inputs.js';
import { restoreEnv, restoreRun } from './restore.js';

/** Migrating a large database takes hours. */
const MIGRATE_SECONDS = 21_600;

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
    new FrappeJob(this, 'job', {
      bench,
      owner: site,
      name: names.init,
      component: 'init',
      run: hashOf([
        image,
        inputs.apps,
        database,
        inputs.databaseVersion,
        inputs.redisVersion,
        config,
        inputs.adminPassword,
        inputs.generated,
        ...restoreRun(inputs.restore),
      ]),
      deadlineSeconds: MIGRATE_SECONDS,
      ...(inputs.restore?.store ? { extraVolumes: inputs.restore.store.volumes } : {}),
      container: {
        name: 'init',
        command: [PYTHON, `${SCRIPTS_DIR}/site_init.py`],
        env: [
          ...identity(site, database),
          { name: 'IMAGE', value: image },
          { name: 'SITE_APPS', value: JSON.stringify(inputs.apps) },
          { name: 'SITE_CONFIG', value: JSON.stringify(config) },
          // The site's pods of the previous image must have terminated first.
          ...(inputs.upgrade?.started ? [{ name: 'KEEP_CLOSED', value: '1' }] : []),
          secretEnv('DB_PASSWORD', database.password),
          ...rootEnv(database.server),
          secretEnv('ADMIN_PASSWORD', { secret: inputs.adminPassword.secret, key: 'password' }),
          secretEnv('ENCRYPTION_KEY', { secret: names.encryptionKey, key: 'key' }),
          ...restoreEnv(site, inputs.restore),
        ],
        ...(inputs.restore?.store
          ? { extraMounts: inputs.restore.store.mounts.map((it) => ({ ...it, readOnly: true })) }
          : {}),
        resources: bench.componentResources.workerDefault,
      },
    });
  }
}

/** The Job that opens a site after its migration, when all its pods run the new image. */
export class SiteReopen extends Construct {
  constructor(
    scope: Construct,
    id: string,
    props: {
      readonly site: AppSite;
      readonly inputs: SiteInputs;
      readonly upgrade: SiteUpgradeInputs;
    },
  ) {
    super(scope, id);
    const { site, inputs, upgrade } = props;
    const { bench, database } = inputs;
    const config = siteConfig(site, inputs);
    new FrappeJob(this, 'job', {
      bench,
      owner: site,
      name: siteNames(site.metadata.name).reopen,
      component: 'reopen',
      run: hashOf([upgrade.from, upgrade.to, config]),
      container: {
        name: 'reopen',
        command: [PYTHON, `${SCRIPTS_DIR}/site_reopen.py`],
        env: [
          ...identity(site, database),
          { name: 'IMAGE', value: bench.image.reference },
          { name: 'SITE_CONFIG', value: JSON.stringify(config) },
        ],
        resources: bench.componentResources.workerDefault,
      },
    });
  }
}

export interface SiteDropProps {
  readonly site: AppSite;
  readonly bench: BenchModel;
  readonly database: SiteDatabasePlan;
  /** Whether the volume of the site's files is being deleted. */
  readonly filesDeleted: boolean;
}

/** The Job that removes a site's database and files, or disables the site where they are kept. */
export class SiteDrop extends Construct {
  constructor(scope: Construct, id: string, props: SiteDropProps) {
    super(scope, id);
    const { site, bench, database, filesDeleted } = props;
    const drops = site.spec.deletionPolicy === 'Delete';
    new FrappeJob(this, 'job', {
      bench,
      owner: site,
      name: siteNames(site.metadata.name).drop,
      component: 'drop',
      run: filesDeleted ? `${site.spec.deletionPolicy} without files` : site.spec.deletionPolicy,
      withoutSites: filesDeleted,
      container: {
        name: 'drop',
        command: [PYTHON, `${SCRIPTS_DIR}/site_drop.py`],
        env: [
          ...identity(site, database),
          ...(drops ? [] : [{ name: 'KEEP_DATA', value: '1' }]),
          // A prepared database belongs to its creator; a dedicated server is deleted as a whole.
          ...(drops && database.mode === 'shared' ? rootEnv(database.server) : []),
          ...(drops && site.status?.appliedHash !== undefined
            ? [{ name: 'WAS_READY', value: '1' }]
            : []),
        ],
        resources: bench.componentResources.workerDefault,
      },
    });
  }
}

function identity(site: AppSite, { server, name }: SiteDatabasePlan): k8s.EnvVar[] {
  return [
    { name: 'SITE_NAME', value: site.spec.siteName },
    { name: 'SITE_OWNER', value: `${site.metadata.namespace ?? 'default'}/${site.metadata.name}` },
    { name: 'DB_TYPE', value: server.provider },
    { name: 'DB_HOST', value: server.host },
    { name: 'DB_PORT', value: String(server.port) },
    { name: 'DB_NAME', value: name },
    { name: 'DB_USER', value: name },
  ];
}

function rootEnv({ root }: DatabaseServer): k8s.EnvVar[] {
  if (!root) return [];
  return [
    typeof root.user === 'string'
      ? { name: 'DB_ROOT_USER', value: root.user }
      : secretEnv('DB_ROOT_USER', root.user, true),
    secretEnv('DB_ROOT_PASSWORD', root.password),
  ];
}

/** The keys of site_config.json that the spec decides; null takes a key away. */
function siteConfig(site: AppSite, inputs: SiteInputs): Readonly<Record<string, unknown>> {
  const encrypted = inputs.tls !== undefined || inputs.route?.encrypted === true;
  return {
    bench_id: queuePrefix(site, inputs.bench) ?? null,
    // The framework's own guess is http and the site's name.
    host_name:
      !encrypted && inputs.domain === site.spec.siteName ? null : siteUrl(encrypted, inputs.domain),
    maintenance_mode: site.spec.maintenance ? 1 : 0,
  };
}

/** Prefix of a Dedicated site's own queues; undefined for a Shared one, which uses the bench's. */
export function queuePrefix(site: AppSite, bench: BenchModel): string | undefined {
  return site.spec.workloads === 'Dedicated'
    ? `${bench.queuePrefix}.${site.metadata.name}`
    : undefined;
}

export function siteUrl(encrypted: boolean, domain: string): string {
  return `${encrypted ? 'https' : 'http'}://${domain}`;
}
