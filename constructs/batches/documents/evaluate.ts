import { conditionResult, type ConditionResult } from '../../kit/condition.js';
import type { DocumentResult } from '../../kit/document.js';
import type { StatusResult } from '../../kit/kind.js';
import type { DocumentStatus } from '../../api/site-scoped.js';
import type { DocumentResource, DocumentSync } from './sync.js';

/** The status of a resource whose document the engine writes. */
export function evaluateDocument(
  resource: DocumentResource,
  name: string,
  sync: DocumentSync,
): StatusResult {
  const { status = {} } = resource;
  const { result, hash, known, request } = sync;
  if (result?.outcome === 'Failed') {
    return { ...failed(result.message), ...resultStatus(result, { documentHash: hash }) };
  }
  if (result) {
    // Only a document that was written is removed when the resource is deleted.
    return { ...synced(), ...resultStatus(result, { document: name, documentHash: hash }) };
  }
  if (known) {
    // Between two comparisons, and during one, the last result holds.
    const last = status.conditions?.find(({ type }) => type === 'Ready');
    return {
      ...(status.outcome === 'Failed' ? failed(last?.message ?? '') : synced()),
      conditions: keptConditions(status),
      // Release 0.2.0 has recorded it without the image.
      fields: request ? {} : { documentHash: hash },
      batchObjects: request ? [request] : [],
    };
  }
  return waiting(resource, sync);
}

/** Until the Job has compared the document. */
function waiting(
  { spec, status = {} }: DocumentResource,
  { hash, request, progress }: DocumentSync,
): StatusResult {
  const reason = progress?.reason ?? 'Syncing';
  const message = progress?.message ?? `waiting for Job ${spec.siteRef.name}-documents`;
  return {
    phase: progress ? 'Pending' : 'Syncing',
    ready: conditionResult('Ready', 'False', reason, message),
    conditions: keptConditions(status),
    fields: request ? requestFields(status, hash) : {},
    batchObjects: request ? [request] : [],
  };
}

/** What a result adds to the status, failed or not. */
function resultStatus(
  { ignored, outcome, time }: DocumentResult,
  fields: { readonly documentHash: string; readonly document?: string },
): Pick<StatusResult, 'conditions' | 'fields' | 'reconcileAgain'> {
  return {
    conditions: incomplete(ignored),
    // The next comparison is scheduled from now on.
    reconcileAgain: true,
    fields: {
      ...fields,
      lastSyncTime: time,
      outcome,
      ignoredFields: ignored.length > 0 ? ignored : undefined,
    },
  };
}

/** What the cleanup must know of a request where the resource is deleted before its result. */
function requestFields(
  { lastSyncTime, outcome }: DocumentStatus,
  hash: string,
): Readonly<Record<string, unknown>> {
  if (lastSyncTime === undefined) return { documentHash: hash };
  return outcome === 'Failed' ? { outcome: undefined } : {};
}

function synced(): Pick<StatusResult, 'phase' | 'ready'> {
  const message = 'the document in the site matches the spec';
  return { phase: 'Ready', ready: { type: 'Ready', status: 'True', reason: 'Synced', message } };
}

function failed(message: string): Pick<StatusResult, 'phase' | 'ready'> {
  return {
    phase: 'Failed',
    ready: { type: 'Ready', status: 'False', reason: 'DocumentFailed', message },
  };
}

/** Fields that this version of the framework does not have. */
function incomplete(ignored: readonly string[]): readonly ConditionResult[] {
  if (ignored.length === 0) return [];
  const message = `the site's version of the framework has no field ${ignored.join(', ')}`;
  return [{ type: 'FieldsIgnored', status: 'True', reason: 'UnknownFields', message }];
}

/**
 * Other statuses, such as a pause, drop the condition. Release 0.1 wrote the fields to the
 * condition only.
 */
function keptConditions({ conditions, ignoredFields }: DocumentStatus): readonly ConditionResult[] {
  if (ignoredFields) return incomplete(ignoredFields);
  return (conditions ?? [])
    .filter(({ type }) => type === 'FieldsIgnored')
    .map(({ type, status, reason, message }) => ({ type, status, reason, message }));
}
