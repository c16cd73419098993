import { isObject } from '../json/is-object.js';
import { type SchemaNode } from './node.js';

/** The field's value before, as the API server finds it: by its name. */
export function oldField(old: unknown, name: string): unknown {
  return isObject(old) && Object.hasOwn(old, name) ? old[name] : undefined;
}

/**
 * Finds an item's value before: by its keys in a list of type map. Items of other lists have no identity, so
 * they count as new. Each item is read once, since a list that is too long is validated like any other.
 */
export function oldItems(list: SchemaNode, old: unknown): (item: unknown) => unknown {
  const keys = list.schema['x-kubernetes-list-map-keys'];
  if (!keys || !Array.isArray(old)) return () => undefined;
  const known = new Map<string, unknown>();
  const identityOf = (item: Readonly<Record<string, unknown>>): string =>
    JSON.stringify(keys.map((key) => item[key]));
  for (const item of old as readonly unknown[]) {
    if (!isObject(item)) continue;
    const identity = identityOf(item);
    if (!known.has(identity)) known.set(identity, item);
  }
  return (item) => (isObject(item) ? known.get(identityOf(item)) : undefined);
}
