import { CONFIGURATION_REASONS } from '../../configuration/reasons.js';
import { AUTOSCALING_REASONS, DATABASE_REASONS, WORKLOAD_REASONS } from '../../frappe/reasons.js';
import type { Reasons } from '../../kit/reasons.js';

/** Reasons of the conditions of an AppBench. */
export const benchReasons = {
  ...WORKLOAD_REASONS,
  ...DATABASE_REASONS,
  ...AUTOSCALING_REASONS,
  ...CONFIGURATION_REASONS,
  SitesExist: 'waiting',
  DatabaseTlsFailed: 'failure',
  DatabaseUnsupported: 'failure',
  ExporterFailed: 'failure',
  ProgramMissing: 'failure',
  DigestUnknown: 'failure',
  UntestedVersion: 'invalid',
  SitesMigrating: 'progress',
  SitesFailed: 'failure',
  SitesBlock: 'waiting',
} as const satisfies Reasons;
