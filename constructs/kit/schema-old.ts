import { isObject, type SchemaNode } from './schema-node.js';

/** The field's value before, as the API server finds it: by its name. */
export function oldField(old: unknown, name: string): unknown {
  return isObject(old) && Object.hasOwn(old, name) ? old[name] : undefined;
}

/**
 * The item's value before: by its keys in a list of type map. Items of other lists have no identity, so
 * they count as new.
 */
export function oldItem(list: SchemaNode, old: unknown, item: unknown): unknown {
  const keys = list.schema['x-kubernetes-list-map-keys'];
  if (!keys || !Array.isArray(old) || !isObject(item)) return undefined;
  return old.find(
    (other: unknown) => isObject(other) && keys.every((key) => other[key] === item[key]),
  ) as unknown;
}
