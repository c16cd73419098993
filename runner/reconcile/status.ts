import type { Condition, ConditionResult } from '../../constructs/kit/condition.js';
import { equal } from '../../constructs/kit/json/equal.js';
import { canonicalJson } from '../../constructs/kit/json/hash.js';
import { isObject } from '../../constructs/kit/json/is-object.js';
import { MANAGED_BY, MANAGED_BY_LABEL } from '../../constructs/kit/labels.js';
import type { MetadataKeys } from '../../constructs/kit/metadata-keys.js';
import { keyOfObject, type Resource } from '../../constructs/kit/object.js';
import { referenceName } from '../../constructs/kit/reference.js';
import type { AnyKind } from '../../constructs/registry.js';
import { fieldsOf } from '../cache/completed-runs.js';
import type { Status } from '../plan/resource-status.js';
import type { Report } from './report.js';

/** What of a kind its statuses depend on. */
type StatusKind = Pick<AnyKind, 'definition' | 'durableStatus' | 'durableOnChange'>;

/**
 * The status of a resource after a reconcile.
 * @param now the transition time of conditions whose status changed
 */
export function statusOf(
  kind: StatusKind,
  resource: Resource<unknown, Status>,
  report: Report,
  now: Date,
): Status {
  const { statusResult, appliedHash } = report;
  const generation = report.observedGeneration ?? resource.metadata.generation ?? 0;
  const before = resource.status ?? {};
  return {
    // What a report does not set stays.
    ...before,
    ...(kind.definition.status.properties?.['ready'] ? { ready: isReady(report) } : {}),
    ...statusResult.fields,
    ...(appliedHash === undefined ? {} : { appliedHash }),
    phase: phaseOf(kind, report),
    observedGeneration: generation,
    conditions: conditionsOf(report).map((result) =>
      conditionOf(result, before.conditions, generation, now),
    ),
  };
}

/** Phases that say of a resource that it is as its spec wants it. */
const READY_PHASES = ['Ready', 'Succeeded', 'Scheduled'];

/** The phase of a report, which never says more than its condition Ready. */
function phaseOf(kind: StatusKind, { statusResult }: Report): string {
  const { phase, ready } = statusResult;
  if (ready.status === 'True' || !READY_PHASES.includes(phase)) return phase;
  const phases = kind.definition.status.properties?.['phase']?.enum ?? [];
  return phases.includes('Updating') ? 'Updating' : 'Pending';
}

/** The conditions of a status, in their order. */
function conditionsOf(report: Report): readonly ConditionResult[] {
  const { statusResult, stalled, altered = [] } = report;
  const { ready, conditions: ofKind = [] } = statusResult;
  const conditions: ConditionResult[] = [ready];
  if (!isReady(report) && !stalled && !isPaused(report)) {
    conditions.push({ ...ready, type: 'Reconciling', status: 'True' });
  }
  if (stalled) conditions.push({ ...ready, type: 'Stalled', status: 'True' });
  if (altered.length > 0) conditions.push(alteredCondition(altered));
  return [...conditions, ...ofKind];
}

function alteredCondition(altered: readonly string[]): ConditionResult {
  const others = altered.length > 1 ? ` (and ${altered.length - 1} more)` : '';
  return {
    type: 'Altered',
    status: 'True',
    reason: 'FieldAltered',
    message: `${altered[0] ?? ''}${others}: an admission policy changes what the operator writes; exempt objects with the label ${MANAGED_BY_LABEL}=${MANAGED_BY} from it`,
  };
}

function conditionOf(
  { type, status, reason, message }: ConditionResult,
  before: Status['conditions'],
  observedGeneration: number,
  now: Date,
): Condition {
  const previous = before?.find((condition) => condition.type === type);
  return {
    type,
    status,
    reason,
    message: message.slice(0, 32_000).toWellFormed(),
    observedGeneration,
    lastTransitionTime:
      previous?.status === status
        ? previous.lastTransitionTime
        : now.toISOString().replace(/\.\d+Z$/, 'Z'),
  };
}

function isReady({ statusResult }: Report): boolean {
  return statusResult.ready.status === 'True';
}

function isPaused({ statusResult }: Report): boolean {
  return statusResult.conditions?.some(({ type }) => type === 'Paused') ?? false;
}

/** How much two statuses differ: a `minor` difference may be written later, a `major` one may not. */
export type Difference = 'none' | 'minor' | 'major';

export function difference(
  kind: StatusKind,
  before: Status | undefined = {},
  after: Status,
): Difference {
  if (equal(before, after)) return 'none';
  const differ = (field: string): boolean => !equal(before[field], after[field]);
  // What users and scripts wait for.
  if (!equal(summaryOf(before), summaryOf(after))) return 'major';
  // A record of work that was done.
  if (kind.durableStatus.some(differ)) return 'major';
  const isChanged = (field: string): boolean => before[field] !== undefined && differ(field);
  if (kind.durableOnChange?.some(isChanged)) return 'major';
  return 'minor';
}

function summaryOf({ phase, observedGeneration, conditions, appliedHash }: Status): unknown {
  const reasons = conditions?.map(({ type, status, reason }) => [type, status, reason]);
  // Without any digest an operator that starts applies everything again.
  return [phase, observedGeneration, reasons, appliedHash !== undefined];
}

type RecordingKind = Pick<AnyKind, 'recordedStatus' | 'references'>;

/** What the annotation holds, as JSON. */
interface StatusRecord {
  /** Namespace and name of the resource that did the work. */
  readonly resource: string;
  /** The names in its references, by field. */
  readonly references: Readonly<Record<string, string>>;
  readonly status: Status;
}

/** The longest text that a recorded field can be. */
const LONGEST = 1_024;

/**
 * A resource with the fields of its status that its annotation repeats, if the status has none of
 * them: it was lost. The record of another resource is ignored: a copied manifest has it, too.
 */
export function withRecordedStatus<R extends Resource<unknown, Status>>(
  kind: RecordingKind,
  { recordedStatus: key }: MetadataKeys,
  resource: R,
): R {
  const annotation = resource.metadata.annotations?.[key];
  if (annotation === undefined) return resource;
  const { status = {} } = resource;
  if (kind.recordedStatus?.some((field) => status[field] !== undefined)) return resource;
  const record = fieldsOf(annotation);
  if (!isOf(kind, resource, record) || !isObject(record['status'])) return resource;
  return { ...resource, status: { ...status, ...recordedFields(kind, record['status']) } };
}

/** The annotation for the status of a resource; undefined where it has none of the fields. */
export function recordOf(
  kind: RecordingKind,
  resource: Resource,
  status: Status,
): string | undefined {
  const fields = recordedFields(kind, status);
  if (Object.keys(fields).length === 0) return undefined;
  return canonicalJson({
    resource: keyOfObject(resource),
    references: namesIn(kind, resource),
    status: fields,
  } satisfies StatusRecord);
}

/** Whether a record was written for this resource. */
function isOf(
  kind: RecordingKind,
  resource: Resource,
  { resource: key, references }: Readonly<Record<string, unknown>>,
): boolean {
  if (key !== keyOfObject(resource) || !isObject(references)) return false;
  return Object.entries(namesIn(kind, resource)).every(
    ([field, name]) => references[field] === name,
  );
}

function namesIn({ references }: RecordingKind, resource: Resource): StatusRecord['references'] {
  return Object.fromEntries(
    references.map((reference) => [reference.field, referenceName(resource, reference) ?? '']),
  );
}

function recordedFields({ recordedStatus = [] }: RecordingKind, status: Status): Status {
  const fields = recordedStatus.flatMap((field) =>
    isValue(status[field]) ? [[field, status[field]] as const] : [],
  );
  return Object.fromEntries(fields);
}

function isValue(value: unknown): value is string | number {
  return Number.isInteger(value) || (typeof value === 'string' && value.length <= LONGEST);
}
