import { storeNames } from '../../frappe/pod-fields.js';
import { SITE_REFERENCE } from '../../frappe/reasons.js';
import type { Kind } from '../../kit/kind.js';
import { CronJob, Job, Secret } from '../../kit/object-kind.js';
import { backupWarnings } from './warnings.js';
import type { SiteBackup } from '../../api/backup.js';
import { BackupChart } from './chart.js';
import { siteBackup } from './definition.js';
import { type BackupInputs, resolveBackup } from './resolve.js';
import { evaluateBackup } from './evaluate.js';
import { backupCleanup } from './cleanup.js';
import { backupStatusView } from './status-view.js';
import { backupReasons } from './reasons.js';

/** Backups of a site. */
export const backup: Kind<SiteBackup, BackupInputs> = {
  definition: siteBackup,
  owns: [Job, CronJob],
  reads: [Secret],
  readsRuns: () => true,
  references: [SITE_REFERENCE],
  reasons: backupReasons,
  durableStatus: ['backups', 'lastSuccessfulTime'],
  recordedStatus: ['endedRun', 'bench', 'refusedJob'],
  lastSuccess: 'lastSuccessfulTime',
  indexes: [],
  resolve: resolveBackup,
  admissionWarnings: backupWarnings,
  podFields: { names: storeNames('destination') },
  chart: (scope, id, props) => new BackupChart(scope, id, props),
  probes: () => [],
  evaluate: evaluateBackup,
  cleanup: backupCleanup,
  statusView: backupStatusView,
};
