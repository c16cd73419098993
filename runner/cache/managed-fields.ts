import { isObject } from '../../constructs/kit/json/is-object.js';
import { canonicalJson, hashOfText, sorted } from '../../constructs/kit/json/hash.js';
import type { KubeObject, ManagedFieldsEntry } from '../../constructs/kit/object.js';

type Fields = Readonly<Record<string, unknown>>;

/**
 * A hash of the fields of a live object that a manager applied, with their present values: the
 * object restricted to its own `managedFields`. It changes when such a field is edited or taken over,
 * and with nothing else: not with status, defaults, or fields of other managers. Undefined if the
 * manager has applied nothing.
 */
export function ownedHash(object: KubeObject, manager: string): string | undefined {
  const entry = object.metadata.managedFields?.find((candidate) => isOurs(candidate, manager));
  return entry?.fieldsV1 && hashOfText(textOf(object, entry.fieldsV1) ?? '');
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
 * The canonical JSON of the part of a value that a fieldset names; of the whole value at a leaf. The
 * part itself is not built: each event of each child needs its text only.
 */
function textOf(value: unknown, fields: Fields): string | undefined {
  const keys = Object.keys(fields).filter((key) => key !== '.');
  if (keys.length === 0) return value === undefined ? undefined : canonicalJson(value);
  let parts = '';
  for (const key of sorted(keys)) {
    const text = selected(value, key, (fields[key] ?? {}) as Fields);
    if (text !== undefined) parts += `${parts && ','}${JSON.stringify(key)}:${text}`;
  }
  return `{${parts}}`;
}

/** Path elements: `f:<field>`, `k:<key of a list item as JSON>`, `v:<value of a set as JSON>`. */
function selected(value: unknown, key: string, fields: Fields): string | undefined {
  const rest = key.slice(2);
  switch (key.slice(0, 2)) {
    case 'f:':
      return isObject(value) ? textOf(value[rest], fields) : undefined;
    case 'k:':
      return textOf(itemOf(value, JSON.parse(rest) as Fields), fields);
    case 'v:':
      return String(Array.isArray(value) && value.includes(JSON.parse(rest)));
    default:
      return undefined;
  }
}

/** The item of a list that has some values. */
function itemOf(list: unknown, key: Fields): unknown {
  const items: readonly unknown[] = Array.isArray(list) ? list : [];
  return items.find(
    (item) => isObject(item) && Object.entries(key).every(([name, part]) => item[name] === part),
  );
}
