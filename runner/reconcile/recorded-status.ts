import { fieldsOf } from '../cache/json-annotation.js';
import { canonicalJson } from '../../constructs/kit/hash.js';
import type { MetadataKeys } from '../../constructs/kit/labels.js';
import type { Resource } from '../../constructs/kit/object.js';
import type { AnyKind } from '../../constructs/registry.js';
import type { Status } from './resource-status.js';

type RecordingKind = Pick<AnyKind, 'recordedStatus'>;

/** The longest text that a recorded field can be. */
const LONGEST = 1_024;

/**
 * A resource with the fields of its status that its annotation repeats, if the status has none of
 * them: it was lost.
 */
export function withRecordedStatus<R extends Resource<unknown, Status>>(
  { recordedStatus = [] }: RecordingKind,
  { recordedStatus: key }: MetadataKeys,
  resource: R,
): R {
  const annotation = resource.metadata.annotations?.[key];
  if (annotation === undefined) return resource;
  const { status = {} } = resource;
  if (recordedStatus.some((field) => status[field] !== undefined)) return resource;
  const recorded = fieldsOf(annotation);
  const fields = recordedStatus.flatMap((field) =>
    isValue(recorded[field]) ? [[field, recorded[field]] as const] : [],
  );
  return { ...resource, status: { ...status, ...Object.fromEntries(fields) } };
}

/** The annotation for a status; undefined where it has none of the fields. */
export function recordOf(
  { recordedStatus = [] }: RecordingKind,
  status: Status,
): string | undefined {
  const fields = recordedStatus.flatMap((field) =>
    isValue(status[field]) ? [[field, status[field]] as const] : [],
  );
  return fields.length === 0 ? undefined : canonicalJson(Object.fromEntries(fields));
}

function isValue(value: unknown): value is string | number {
  return Number.isInteger(value) || (typeof value === 'string' && value.length <= LONGEST);
}
