import type { Kind } from '../kit/kind.js';
import { CronJob, Job, Secret } from '../kit/object-kind.js';
import { backupWarnings } from './advice.js';
import type { SiteBackup } from './api.js';
import { BackupChart } from './chart.js';
import { siteBackup } from './definition.js';
import { type BackupInputs, resolveBackup } from './facts.js';
import { evaluateBackup } from './observe.js';
import { backupCleanup } from './teardown.js';

/** Backups of a site. */
export const backup: Kind<SiteBackup, BackupInputs> = {
  definition: siteBackup,
  owns: [Job, CronJob],
  reads: [Secret],
  readsRuns: () => true,
  indexes: [],
  resolve: resolveBackup,
  admissionWarnings: backupWarnings,
  chart: (scope, id, props) => new BackupChart(scope, id, props),
  probes: () => [],
  evaluate: evaluateBackup,
  cleanup: backupCleanup,
};
