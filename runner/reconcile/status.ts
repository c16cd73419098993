import type { Condition, ConditionResult } from '../../constructs/kit/condition.js';
import type { KindDefinition } from '../../constructs/kit/definition.js';
import { canonicalJson } from '../../constructs/kit/hash.js';
import type { Resource } from '../../constructs/kit/object.js';
import type { Report } from './report.js';

export interface Status {
  readonly observedGeneration?: number;
  readonly phase?: string;
  readonly conditions?: readonly Condition[];
  readonly appliedHash?: string;
  readonly [field: string]: unknown;
}

/**
 * The status that a report makes of a resource: fields that the report does not speak of stay.
 * @param now for conditions whose status has changed
 */
export function statusOf(
  definition: KindDefinition,
  resource: Resource<unknown, Status>,
  report: Report,
  now: Date,
): Status {
  const { statusResult, stalled, appliedHash } = report;
  const before = resource.status ?? {};
  const generation = report.observedGeneration ?? resource.metadata.generation ?? 0;
  const isReady = statusResult.ready.status === 'True';
  const idle = statusResult.conditions?.some(({ type }) => type === 'Paused') ?? false;
  const conditionResults = [
    statusResult.ready,
    ...(isReady || stalled || idle
      ? []
      : [{ ...statusResult.ready, type: 'Reconciling', status: 'True' as const }]),
    ...(stalled ? [{ ...statusResult.ready, type: 'Stalled', status: 'True' as const }] : []),
    ...(statusResult.conditions ?? []),
  ];
  return {
    ...before,
    ...(definition.status.properties?.['ready'] ? { ready: isReady } : {}),
    ...statusResult.fields,
    ...(appliedHash === undefined ? {} : { appliedHash }),
    phase: statusResult.phase,
    observedGeneration: generation,
    conditions: conditionsOf(conditionResults, before, generation, now),
  };
}

function conditionsOf(
  conditionResults: readonly ConditionResult[],
  status: Status,
  observedGeneration: number,
  now: Date,
): readonly Condition[] {
  return conditionResults.map((conditionResult) => {
    const before = status.conditions?.find(({ type }) => type === conditionResult.type);
    return {
      type: conditionResult.type,
      status: conditionResult.status,
      reason: conditionResult.reason,
      message: conditionResult.message.slice(0, 32_000),
      observedGeneration,
      lastTransitionTime:
        before?.status === conditionResult.status
          ? before.lastTransitionTime
          : now.toISOString().replace(/\.\d+Z$/, 'Z'),
    };
  });
}

/** How much two statuses differ: a word in a message can wait a little, the rest cannot. */
export function difference(before: Status | undefined, after: Status): 'none' | 'minor' | 'major' {
  if (canonicalJson(before ?? {}) === canonicalJson(after)) return 'none';
  // That something has an image at all is no news that anybody waits for.
  const { image } = before ?? {};
  const told = image === undefined ? { ...after, image } : after;
  return canonicalJson(essence(before ?? {})) === canonicalJson(essence(told)) ? 'minor' : 'major';
}

/** Fields that are written once for each thing that was done, and would be done again if they were not. */
const RECORDS = [
  'image',
  'upgrade',
  'documentHash',
  'lastSyncTime',
  'passwordVersion',
  'specHash',
  'startTime',
  'completionTime',
  'lastSuccessfulTime',
  'backups',
  'restored',
] as const;

/** What users wait for and scripts read. */
function essence(status: Status): unknown {
  const { phase, observedGeneration, conditions, appliedHash } = status;
  const brief = conditions?.map(({ type, status, reason }) => [type, status, reason]);
  // Without any digest a restart applies everything again.
  const isWhole = appliedHash !== undefined;
  return [phase, observedGeneration, brief, isWhole, RECORDS.map((field) => status[field])];
}
