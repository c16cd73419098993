import { SITE_REASONS } from '../../frappe/reasons.js';
import type { Reasons } from '../../kit/reasons.js';

/** Reasons of the conditions of a SiteBackup. */
export const backupReasons = {
  ...SITE_REASONS,
  BenchMissing: 'missing',
  SecretMissing: 'missing',
  Provisioning: 'progress',
  BackedUp: 'success',
  BackupFailed: 'failure',
  Scheduled: 'success',
  Suspended: 'success',
} as const satisfies Reasons;
