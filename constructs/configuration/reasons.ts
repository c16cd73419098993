import type { Reasons } from '../kit/reasons.js';

/** Reasons of the condition `ConfigurationApplied`. */
export const CONFIGURATION_REASONS = {
  Applied: 'success',
  Applying: 'progress',
  Restarting: 'progress',
  SecretMissing: 'missing',
  ConfigMapMissing: 'missing',
  KeyMissing: 'missing',
  ValueInvalid: 'invalid',
  SetupFailed: 'failure',
} as const satisfies Reasons;
