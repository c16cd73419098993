import { fieldsOf } from '../cache/json-annotation.js';
import { canonicalJson } from '../../constructs/kit/json/hash.js';
import { isObject } from '../../constructs/kit/json/is-object.js';
import type { MetadataKeys } from '../../constructs/kit/metadata-keys.js';
import { keyOfObject, type Resource } from '../../constructs/kit/object.js';
import { referenceName } from '../../constructs/kit/reference.js';
import type { AnyKind } from '../../constructs/registry.js';
import type { Status } from '../plan/resource-status.js';

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
