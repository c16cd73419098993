import type { Kind } from '../kit/kind.js';
import { CronJob, Job, Secret } from '../kit/object-kind.js';
import { adviseBackup } from './advice.js';
import type { SiteBackup } from './api.js';
import { BackupChart } from './chart.js';
import { siteBackup } from './definition.js';
import { type BackupFacts, gatherBackup } from './facts.js';
import { observeBackup } from './observe.js';
import { backupTeardown } from './teardown.js';

/** Backups of a site. */
export const backup: Kind<SiteBackup, BackupFacts> = {
  definition: siteBackup,
  owns: [Job, CronJob],
  reads: [Secret],
  readsRuns: () => true,
  indexes: [],
  gather: gatherBackup,
  advise: adviseBackup,
  chart: (scope, id, props) => new BackupChart(scope, id, props),
  probes: () => [],
  observe: observeBackup,
  teardown: backupTeardown,
};
