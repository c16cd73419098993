import type { Condition, ConditionResult } from '../../constructs/kit/condition.js';
import { equal } from '../../constructs/kit/json/equal.js';
import { MANAGED_BY, MANAGED_BY_LABEL } from '../../constructs/kit/labels.js';
import type { Resource } from '../../constructs/kit/object.js';
import type { AnyKind } from '../../constructs/registry.js';
import { unsoundStatusOf } from '../cache/usable.js';
import type { Report } from './report.js';
import type { Status } from './resource-status.js';

/** What of a kind its statuses depend on. */
type StatusKind = Pick<AnyKind, 'definition' | 'durableStatus' | 'durableOnChange'>;

interface StatusInput {
  readonly kind: StatusKind;
  readonly report: Report;
  readonly before: Status;
  readonly generation: number;
  readonly now: Date;
}

/** A rule that adds something to a status if its condition holds. */
interface StatusPolicy<T> {
  readonly name: string;
  readonly applies: (input: StatusInput) => boolean;
  readonly result: (input: StatusInput) => T;
}

const always = (): boolean => true;

/** The conditions of a status, in their order. */
const CONDITIONS: readonly StatusPolicy<readonly ConditionResult[]>[] = [
  { name: 'Ready', applies: always, result: ({ report }) => [report.statusResult.ready] },
  {
    name: 'Reconciling',
    applies: ({ report }) => !isReady(report) && !report.stalled && !isPaused(report),
    result: ({ report }) => [{ ...report.statusResult.ready, type: 'Reconciling', status: 'True' }],
  },
  {
    name: 'Stalled',
    applies: ({ report }) => report.stalled,
    result: ({ report }) => [{ ...report.statusResult.ready, type: 'Stalled', status: 'True' }],
  },
  {
    name: 'Altered',
    applies: ({ report }) => (report.altered ?? []).length > 0,
    result: ({ report: { altered = [] } }) => [alteredCondition(altered)],
  },
  {
    name: 'conditions of the kind',
    applies: always,
    result: ({ report }) => report.statusResult.conditions ?? [],
  },
];

/** The fields of a status. A later policy overrides the fields of the earlier ones. */
const FIELDS: readonly StatusPolicy<Status>[] = [
  { name: 'fields that the report does not set', applies: always, result: ({ before }) => before },
  {
    name: 'ready',
    applies: ({ kind }) => kind.definition.status.properties?.['ready'] !== undefined,
    result: ({ report }) => ({ ready: isReady(report) }),
  },
  {
    name: 'fields of the kind',
    applies: always,
    result: ({ report }) => report.statusResult.fields ?? {},
  },
  {
    name: 'digest of the children',
    applies: ({ report }) => report.appliedHash !== undefined,
    result: ({ report: { appliedHash = '' } }) => ({ appliedHash }),
  },
  {
    name: 'phase, generation and conditions',
    applies: always,
    result: (input) => ({
      phase: phaseOf(input),
      observedGeneration: input.generation,
      conditions: conditionsOf(input),
    }),
  },
];

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
  const generation = report.observedGeneration ?? resource.metadata.generation ?? 0;
  const before = { ...unsoundFieldsOf(resource), ...resource.status };
  const input = { kind, report, before, generation, now };
  return Object.assign({}, ...apply(FIELDS, input)) as Status;
}

/** Phases that say of a resource that it is as its spec wants it. */
const READY_PHASES = ['Ready', 'Succeeded', 'Scheduled'];

/** The phase of a report, which never says more than its condition Ready. */
function phaseOf({ kind, report: { statusResult } }: StatusInput): string {
  const { phase, ready } = statusResult;
  if (ready.status === 'True' || !READY_PHASES.includes(phase)) return phase;
  const phases = kind.definition.status.properties?.['phase']?.enum ?? [];
  return phases.includes('Updating') ? 'Updating' : 'Pending';
}

/**
 * Fields that do not fit the schema stay as they are stored: the status is applied as a whole, and one
 * of them may be the only record of work that was done.
 */
function unsoundFieldsOf(resource: Resource): Status {
  const stored = unsoundStatusOf(resource)?.status;
  return typeof stored === 'object' && stored !== null && !Array.isArray(stored)
    ? (stored as Status)
    : {};
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

function conditionsOf(input: StatusInput): readonly Condition[] {
  const { before, generation, now } = input;
  return apply(CONDITIONS, input)
    .flat()
    .map(({ type, status, reason, message }) => {
      const previous = before.conditions?.find((condition) => condition.type === type);
      return {
        type,
        status,
        reason,
        message: message.slice(0, 32_000).toWellFormed(),
        observedGeneration: generation,
        lastTransitionTime:
          previous?.status === status
            ? previous.lastTransitionTime
            : now.toISOString().replace(/\.\d+Z$/, 'Z'),
      };
    });
}

function apply<T>(policies: readonly StatusPolicy<T>[], input: StatusInput): readonly T[] {
  return policies.filter(({ applies }) => applies(input)).map(({ result }) => result(input));
}

function isReady({ statusResult }: Report): boolean {
  return statusResult.ready.status === 'True';
}

function isPaused({ statusResult }: Report): boolean {
  return statusResult.conditions?.some(({ type }) => type === 'Paused') ?? false;
}

/** How much two statuses differ: a `minor` difference may be written later, a `major` one may not. */
export type Difference = 'none' | 'minor' | 'major';

interface Comparison {
  readonly kind: StatusKind;
  readonly before: Status;
  readonly after: Status;
}

/** The first that applies decides. */
const DIFFERENCES: readonly {
  readonly name: string;
  readonly applies: (comparison: Comparison) => boolean;
  readonly result: Difference;
}[] = [
  {
    name: 'equal',
    applies: ({ before, after }) => equal(before, after),
    result: 'none',
  },
  {
    name: 'what users and scripts wait for',
    applies: ({ before, after }) => differ(summaryOf(before), summaryOf(after)),
    result: 'major',
  },
  {
    name: 'a record of work that was done',
    applies: ({ kind, before, after }) =>
      kind.durableStatus.some((field) => differ(before[field], after[field])),
    result: 'major',
  },
  {
    name: 'a changed record',
    applies: ({ kind: { durableOnChange = [] }, before, after }) =>
      durableOnChange.some(
        (field) => before[field] !== undefined && differ(before[field], after[field]),
      ),
    result: 'major',
  },
  { name: 'anything else', applies: always, result: 'minor' },
];

export function difference(
  kind: StatusKind,
  before: Status | undefined,
  after: Status,
): Difference {
  const comparison = { kind, before: before ?? {}, after };
  return DIFFERENCES.find(({ applies }) => applies(comparison))?.result ?? 'minor';
}

function summaryOf({ phase, observedGeneration, conditions, appliedHash }: Status): unknown {
  const reasons = conditions?.map(({ type, status, reason }) => [type, status, reason]);
  // Without any digest an operator that starts applies everything again.
  return [phase, observedGeneration, reasons, appliedHash !== undefined];
}

function differ(a: unknown, b: unknown): boolean {
  return !equal(a, b);
}
