import { SITE_REASONS } from '../../frappe/reasons.js';
import type { Reasons } from '../../kit/reasons.js';

/** Reasons of every kind that stands for a document of a site. */
export const DOCUMENT_REASONS = {
  ...SITE_REASONS,
  Syncing: 'progress',
  Synced: 'success',
  DocumentFailed: 'failure',
  DocumentTaken: 'conflict',
  UnknownFields: 'invalid',
} as const satisfies Reasons;

/** Reasons of the kinds whose documents show charts. */
export const CHART_REASONS = {
  ChartMissing: 'missing',
  WaitingForChart: 'waiting',
} as const satisfies Reasons;

/** Status fields of every kind that stands for a document: see `Kind.durableStatus`. */
export const DOCUMENT_STATUS = ['documentHash', 'lastSyncTime'] as const;
