import { Chart } from 'cdk8s';
import type { Construct } from 'constructs';
import { backupStore, folderOf } from '../../frappe/backup-store.js';
import { FrappeCronJob, FrappeJob, type FrappeJobProps } from '../../frappe/job.js';
import { jobCommand } from '../../frappe/pod.js';
import { siteEnv, type SiteModel } from '../../frappe/site-model.js';
import { parseDuration } from '../../kit/duration.js';
import type { ChartProps } from '../../kit/kind.js';
import { Stage } from '../../kit/synth.js';
import type { SiteBackup } from '../../api/backup.js';
import { backupNames } from './names.js';
import type { BackupInputs } from './resolve.js';

/** Time for a backup that is stopped to take away what it has stored. */
const GRACE_SECONDS = 60;
/** Stored backups are removed by a few requests each. */
const DELETE_SECONDS = 3600;

/** The Job of a single backup, or the CronJob of a schedule. */
export class BackupChart extends Chart {
  constructor(
    scope: Construct,
    id: string,
    { resource: backup, inputs }: ChartProps<SiteBackup, BackupInputs>,
  ) {
    super(scope, id, { disableResourceNameHashes: true });
    const { site, blocked, taskHash, ended } = inputs;
    if (!site || ended) return;
    const { schedule, timeZone, suspend = false } = backup.spec;
    const job = { ...backupJob(backup, site), taskHash };
    if (schedule === undefined) {
      new FrappeJob(new Stage(this, 'backup', { blocked: blocked?.message }), 'backup', job);
      return;
    }
    new FrappeCronJob(new Stage(this, 'backup'), 'backup', {
      ...job,
      schedule,
      timeZone,
      // A time that is missed meanwhile is made up for: there is no deadline for starting.
      suspend: suspend || blocked !== undefined,
      concurrencyPolicy: 'Forbid',
      successfulJobsHistoryLimit: 1,
      failedJobsHistoryLimit: 1,
    });
  }
}

/** The Job that removes what a SiteBackup has stored. */
export class BackupDeleteChart extends Chart {
  constructor(scope: Construct, id: string, backup: SiteBackup, site: SiteModel) {
    super(scope, id, { disableResourceNameHashes: true });
    const store = backupStore(backup.spec.destination, folderOf(site), 'Write');
    new FrappeJob(new Stage(this, 'delete', { waitForReady: true }), 'delete', {
      bench: site.bench,
      owner: backup,
      name: backupNames(backup.metadata.name).delete,
      component: 'backup-delete',
      taskHash: 'delete',
      deadlineSeconds: DELETE_SECONDS,
      extraVolumes: store.volumes,
      initContainers: store.sidecars,
      container: {
        name: 'backup-delete',
        command: jobCommand('site_backup_delete.py'),
        env: [...identity(backup, site), ...store.env],
        resources: backup.spec.resources,
        extraMounts: store.mounts,
      },
    });
  }
}

function backupJob(backup: SiteBackup, site: SiteModel): Omit<FrappeJobProps, 'taskHash'> {
  const { spec, metadata } = backup;
  const store = backupStore(spec.destination, folderOf(site), 'Write');
  const { keepLast, keepDays } = spec.retention ?? {};
  const timeout = Math.ceil((parseDuration(spec.timeout) ?? 0) / 1000);
  return {
    bench: site.bench,
    owner: backup,
    name: backupNames(metadata.name).backup,
    component: 'backup',
    deadlineSeconds: timeout,
    deadlineField: 'spec.timeout',
    backoffLimit: spec.backoffLimit,
    once: true,
    terminationGracePeriodSeconds: GRACE_SECONDS,
    extraVolumes: store.volumes,
    initContainers: store.sidecars,
    container: {
      name: 'backup',
      command: jobCommand('site_backup.py'),
      env: [
        ...identity(backup, site),
        { name: 'IMAGE', value: site.bench.image.reference },
        { name: 'WITH_FILES', value: spec.withFiles ? '1' : '0' },
        { name: 'COMPRESS', value: spec.compress ? '1' : '0' },
        ...(spec.include ? [{ name: 'INCLUDE', value: JSON.stringify(spec.include) }] : []),
        ...(spec.exclude ? [{ name: 'EXCLUDE', value: JSON.stringify(spec.exclude) }] : []),
        ...(keepLast === undefined ? [] : [{ name: 'KEEP_LAST', value: String(keepLast) }]),
        ...(keepDays === undefined ? [] : [{ name: 'KEEP_DAYS', value: String(keepDays) }]),
        { name: 'TIMEOUT_SECONDS', value: String(timeout) },
        {
          name: 'JOB_NAME',
          valueFrom: { fieldRef: { fieldPath: "metadata.labels['batch.kubernetes.io/job-name']" } },
        },
        ...store.env,
      ],
      resources: spec.resources,
      extraMounts: store.mounts,
    },
  };
}

function identity({ metadata }: SiteBackup, site: SiteModel) {
  return [...siteEnv(site), { name: 'BACKUP_OWNER', value: `${site.namespace}/${metadata.name}` }];
}
