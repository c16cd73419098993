import { isObject } from '../../constructs/kit/is-object.js';
import { hashOf } from '../../constructs/kit/hash.js';
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
  return entry?.fieldsV1 && hashOf(project(object, entry.fieldsV1));
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

/** The manager that the API server gives to fields that were not applied when apply came first. */
export const BEFORE_APPLY = 'before-first-apply';

/** Whether an object has fields of `BEFORE_APPLY`. */
export function isBeforeApply({ metadata }: KubeObject): boolean {
  return metadata.managedFields?.some(({ manager }) => manager === BEFORE_APPLY) ?? false;
}

function isOurs(entry: ManagedFieldsEntry, manager: string): boolean {
  return entry.manager === manager && entry.operation === 'Apply' && !entry.subresource;
}

/** The part of a value that a fieldset names; the whole value at a leaf. */
function project(value: unknown, fields: Fields): unknown {
  const keys = Object.keys(fields).filter((key) => key !== '.');
  if (keys.length === 0) return value;
  return Object.fromEntries(
    keys.map((key) => [key, select(value, key, (fields[key] ?? {}) as Fields)]),
  );
}

/** Path elements: `f:<field>`, `k:<key of a list item as JSON>`, `v:<value of a set as JSON>`. */
function select(value: unknown, key: string, fields: Fields): unknown {
  const rest = key.slice(2);
  switch (key.slice(0, 2)) {
    case 'f:':
      return isObject(value) ? project(value[rest], fields) : undefined;
    case 'k:': {
      const wanted = JSON.parse(rest) as Fields;
      const items: readonly unknown[] = Array.isArray(value) ? value : [];
      const item = items.find(
        (candidate) =>
          isObject(candidate) &&
          Object.entries(wanted).every(([name, part]) => candidate[name] === part),
      );
      return project(item, fields);
    }
    case 'v:':
      return Array.isArray(value) && value.includes(JSON.parse(rest));
    default:
      return undefined;
  }
}
