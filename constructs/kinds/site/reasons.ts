import { CONFIGURATION_REASONS } from '../../configuration/reasons.js';
import { AUTOSCALING_REASONS, DATABASE_REASONS, WORKLOAD_REASONS } from '../../frappe/reasons.js';
import type { Reasons } from '../../kit/reasons.js';

/** Reasons of the conditions of an AppSite. */
export const siteReasons = {
  ...WORKLOAD_REASONS,
  ...DATABASE_REASONS,
  ...AUTOSCALING_REASONS,
  ...CONFIGURATION_REASONS,
  BenchMissing: 'missing',
  DuplicateSiteName: 'conflict',
  HostTaken: 'conflict',
  // CertificateReady
  Issued: 'success',
  Issuing: 'progress',
  CertManagerMissing: 'missing',
  IssuerMissing: 'missing',
  OperatorSilent: 'waiting',
  SecretFound: 'success',
  RouterCertificate: 'success',
  ControllerCertificate: 'success',
  GatewayCertificate: 'success',
  ListenerMissing: 'missing',
  // RouteAccepted
  Accepted: 'success',
  NotAccepted: 'failure',
  RefsNotResolved: 'failure',
  GatewayMissing: 'missing',
  GatewayApiMissing: 'missing',
  // DatabaseReady
  Prepared: 'success',
  Preparing: 'progress',
  DatabaseServerNotReady: 'waiting',
  // RealtimeReady
  EventReceived: 'success',
  NoEvent: 'failure',
  // Upgrading
  Waiting: 'waiting',
  Running: 'progress',
  Migrated: 'progress',
  Failed: 'failure',
  // Maintenance
  Requested: 'success',
  Upgrading: 'progress',
  // Restored
  Restored: 'success',
  RestoredBefore: 'success',
  Restoring: 'progress',
  RestoreNotConfirmed: 'waiting',
  RestoreFailed: 'failure',
  RestoreUnknown: 'waiting',
  BackupMissing: 'missing',
} as const satisfies Reasons;
