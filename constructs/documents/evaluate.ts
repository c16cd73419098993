import type { ConditionResult } from '../kit/condition.js';
import type { StatusResult } from '../kit/kind.js';
import type { DocumentStatus } from '../kit/site-api.js';
import type { DocumentResource, DocumentSync } from './sync.js';

/** What is said of a resource whose document the engine writes. */
export function evaluateDocument(
  resource: DocumentResource,
  name: string,
  { hash, known, request, result, progress }: DocumentSync,
): StatusResult {
  const { status = {} } = resource;
  if (result) {
    const { outcome, message, ignored, time } = result;
    return {
      ...(outcome === 'Failed' ? failed(message) : synced()),
      conditions: incomplete(ignored),
      // From now on the next comparison is waited for.
      reconcileAgain: true,
      fields: {
        // Only what was written is removed when the resource is deleted.
        ...(outcome === 'Failed' ? {} : { document: name }),
        documentHash: hash,
        lastSyncTime: time,
        outcome,
        ignoredFields: ignored.length > 0 ? ignored : undefined,
      },
    };
  }
  const kept = keptConditions(status);
  // Between two comparisons, and while one is on its way, what the last one found goes on to hold.
  if (known) {
    const last = status.conditions?.find(({ type }) => type === 'Ready');
    const conditionResult = status.outcome === 'Failed' ? failed(last?.message ?? '') : synced();
    return { ...conditionResult, conditions: kept, batchObjects: request ? [request] : [] };
  }
  const ready: ConditionResult = {
    type: 'Ready',
    status: 'False',
    reason: progress?.reason ?? 'Syncing',
    message: progress?.message ?? `waiting for Job ${resource.spec.siteRef.name}-documents`,
  };
  return {
    phase: progress ? 'Pending' : 'Syncing',
    ready,
    conditions: kept,
    fields: request ? asked(status, hash) : {},
    batchObjects: request ? [request] : [],
  };
}

/** What the teardown has to know where the resource is deleted before anything came of what it asks for. */
function asked(
  { lastSyncTime, outcome }: DocumentStatus,
  hash: string,
): Readonly<Record<string, unknown>> {
  if (lastSyncTime === undefined) return { documentHash: hash };
  return outcome === 'Failed' ? { outcome: undefined } : {};
}

function synced(): Pick<StatusResult, 'phase' | 'ready'> {
  const message = 'the document in the site is as the spec says';
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

/** Others, such as a pause, drop the condition. Release 0.1 has told the fields in it only. */
function keptConditions({ conditions, ignoredFields }: DocumentStatus): readonly ConditionResult[] {
  if (ignoredFields) return incomplete(ignoredFields);
  return (conditions ?? [])
    .filter(({ type }) => type === 'FieldsIgnored')
    .map(({ type, status, reason, message }) => ({ type, status, reason, message }));
}
