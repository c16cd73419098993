import type { Condition, Verdict } from '../../constructs/kit/condition.js';
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
  const { judgement, stalled, appliedHash } = report;
  const before = resource.status ?? {};
  const generation = report.observedGeneration ?? resource.metadata.generation ?? 0;
  const isReady = judgement.ready.status === 'True';
  const idle = judgement.conditions?.some(({ type }) => type === 'Paused') ?? false;
  const verdicts = [
    judgement.ready,
    ...(isReady || stalled || idle
      ? []
      : [{ ...judgement.ready, type: 'Reconciling', status: 'True' as const }]),
    ...(stalled ? [{ ...judgement.ready, type: 'Stalled', status: 'True' as const }] : []),
    ...(judgement.conditions ?? []),
  ];
  return {
    ...before,
    ...(definition.status.properties?.['ready'] ? { ready: isReady } : {}),
    ...judgement.fields,
    ...(appliedHash === undefined ? {} : { appliedHash }),
    phase: judgement.phase,
    observedGeneration: generation,
    conditions: conditionsOf(verdicts, before, generation, now),
  };
}

function conditionsOf(
  verdicts: readonly Verdict[],
  status: Status,
  observedGeneration: number,
  now: Date,
): readonly Condition[] {
  return verdicts.map((verdict) => {
    const before = status.conditions?.find(({ type }) => type === verdict.type);
    return {
      type: verdict.type,
      status: verdict.status,
      reason: verdict.reason,
      message: verdict.message.slice(0, 32_000),
      observedGeneration,
      lastTransitionTime:
        before?.status === verdict.status
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
