import { isObject } from '../../constructs/kit/json/is-object.js';
import { CanonicalWriter, sorted } from '../../constructs/kit/json/canonical.js';
import type { KubeObject, ManagedFieldsEntry } from '../../constructs/kit/object.js';

type Fields = Readonly<Record<string, unknown>>;

const writer = new CanonicalWriter();

/**
 * A hash of the fields of a live object that a manager applied, with their present values: the
 * object restricted to its own `managedFields`. It changes when such a field is edited or taken over,
 * and with nothing else: not with status, defaults, or fields of other managers. Undefined if the
 * manager has applied nothing.
 */
export function ownedHash(object: KubeObject, manager: string): string | undefined {
  const entry = object.metadata.managedFields?.find((candidate) => isOurs(candidate, manager));
  if (!entry?.fieldsV1) return undefined;
  // An earlier object may have ended with an error.
  writer.truncate(0);
  writePart(object, entry.fieldsV1);
  return writer.takeHash();
}

/** The fields that a manager has applied; undefined if it has applied nothing. */
export function appliedFields(object: KubeObject, manager: string): Fields | undefined {
  return object.metadata.managedFields?.find((candidate) => isOurs(candidate, manager))?.fieldsV1;
}

/** Whether a manager applied the field at a path of names. */
export function owns(object: KubeObject, manager: string, path: readonly string[]): boolean {
  const entry = object.metadata.managedFields?.find((candidate) => isOurs(candidate, manager));
  let fields: unknown = entry?.fieldsV1;
  for (const name of path) fields = isObject(fields) ? fields[`f:${name}`] : undefined;
  return fields !== undefined;
}

/** The keys of maps that a manager has not applied, by the field of the map. */
export function foreignKeys(
  object: KubeObject,
  manager: string,
  maps: readonly string[] = [],
): Readonly<Record<string, readonly string[]>> {
  const applied = appliedFields(object, manager) ?? {};
  const entries = maps.flatMap((field) => {
    const map = (object as unknown as Fields)[field];
    const keys = isObject(map) ? sorted(Object.keys(map)) : [];
    const ours = applied[`f:${field}`];
    const foreign = keys.filter((key) => !isObject(ours) || ours[`f:${key}`] === undefined);
    return foreign.length > 0 ? [[field, foreign] as const] : [];
  });
  return Object.fromEntries(entries);
}

/** The manager that the API server gives to fields that were not applied when apply came first. */
export const BEFORE_APPLY = 'before-first-apply';

/** Whether an object has fields of `BEFORE_APPLY`. */
export function isBeforeApply({ metadata }: KubeObject): boolean {
  return metadata.managedFields?.some(({ manager }) => manager === BEFORE_APPLY) ?? false;
}

function isOurs(entry: ManagedFieldsEntry, manager: string): boolean {
  return entry.manager === manager && entry.operation === 'Apply' && !entry.subresource;
}

/**
 * Writes the canonical JSON of the part of a value that a fieldset names; of the whole value at a leaf. The
 * part itself is not built: each event of each child needs its hash only.
 * @returns false where there is no such part
 */
function writePart(value: unknown, fields: Fields): boolean {
  const keys = sorted(Object.keys(fields));
  if (keys.length === 0 || (keys.length === 1 && keys[0] === '.')) return writer.value(value);
  writer.raw('{');
  let isFirst = true;
  for (const key of keys) {
    if (key === '.') continue;
    const before = writer.length;
    if (!isFirst) writer.raw(',');
    writer.text(key);
    writer.raw(':');
    if (writeSelected(value, key, (fields[key] ?? {}) as Fields)) isFirst = false;
    else writer.truncate(before);
  }
  writer.raw('}');
  return true;
}

/** Path elements: `f:<field>`, `k:<key of a list item as JSON>`, `v:<value of a set as JSON>`. */
function writeSelected(value: unknown, key: string, fields: Fields): boolean {
  const rest = key.slice(2);
  switch (key.slice(0, 2)) {
    case 'f:':
      return isObject(value) && writePart(value[rest], fields);
    case 'k:':
      return writePart(itemOf(value, JSON.parse(rest) as Fields), fields);
    case 'v:':
      writer.raw(String(Array.isArray(value) && value.includes(JSON.parse(rest))));
      return true;
    default:
      return false;
  }
}

/** The item of a list that has some values. */
function itemOf(list: unknown, key: Fields): unknown {
  const items: readonly unknown[] = Array.isArray(list) ? list : [];
  const names = Object.keys(key);
  return items.find((item) => isObject(item) && names.every((name) => item[name] === key[name]));
}
