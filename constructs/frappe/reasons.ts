import type { Reasons } from '../kit/reasons.js';
import type { Reference } from '../kit/reference.js';

/** The site that a resource belongs to. */
export const SITE_REFERENCE: Reference = { field: 'siteRef', kind: 'AppSite', label: 'site' };

/** Reasons of the kinds whose phase depends on their workloads. */
export const WORKLOAD_REASONS = {
  Ready: 'success',
  Provisioning: 'progress',
  Updating: 'progress',
  SecretMissing: 'missing',
  ClaimMissing: 'missing',
  ClaimUnusable: 'invalid',
  WithoutEffect: 'invalid',
  DeploymentFailed: 'failure',
  PersistentVolumeClaimFailed: 'failure',
} as const satisfies Reasons;

/** Reasons of the kinds that use a database server. */
export const DATABASE_REASONS = {
  DatabaseOperatorMissing: 'missing',
  DatabaseServerMissing: 'missing',
  DatabaseServerNotGranted: 'missing',
  DatabaseTlsRequired: 'invalid',
} as const satisfies Reasons;

/** Reasons of the condition `Autoscaling`. */
export const AUTOSCALING_REASONS = {
  Keda: 'success',
  HorizontalPodAutoscaler: 'success',
  KedaMissing: 'missing',
  ScalerNotReady: 'waiting',
  ForeignScaler: 'conflict',
  ScalerPaused: 'waiting',
  ExternalRedis: 'invalid',
} as const satisfies Reasons;

/** Reasons of the kinds that need a ready site. */
export const SITE_REASONS = {
  SiteMissing: 'missing',
  SiteNotReady: 'waiting',
} as const satisfies Reasons;
