import { isObject } from '../json/is-object.js';
import { fieldNode, fieldPath, type SchemaNode } from './node.js';

/**
 * A copy of a value as the API server would store it: without unknown fields (their paths are added
 * to `pruned`), without nulls where the schema does not allow them, with defaults. Values of the wrong
 * type stay as they are, for the validation to name, and so does what the schema does not list.
 */
export function stored(node: SchemaNode, value: unknown, path: string, pruned: string[]): unknown {
  if (Array.isArray(value)) {
    return value.map((item: unknown, i) =>
      node.item ? stored(node.item, item, `${path}[${i}]`, pruned) : item,
    );
  }
  return isObject(value) ? storedObject(node, value, path, pruned) : value;
}

function storedObject(
  node: SchemaNode,
  value: Readonly<Record<string, unknown>>,
  path: string,
  pruned: string[],
): unknown {
  const keepsUnknown = node.schema['x-kubernetes-preserve-unknown-fields'] === true;
  const fields = new Map<string, unknown>();
  for (const [name, field] of Object.entries(value)) {
    const child = fieldNode(node, name);
    const keepsAsIs = child ? child.schema.nullable === true : keepsUnknown;
    if (child && field !== null && field !== undefined) {
      fields.set(name, stored(child, field, fieldPath(path, name), pruned));
    } else if (keepsAsIs) {
      fields.set(name, field);
    } else if (!child) {
      pruned.push(fieldPath(path, name));
    }
  }
  for (const [name, child] of node.properties) {
    if (fields.has(name) || child.schema.default === undefined) continue;
    fields.set(name, stored(child, child.schema.default, fieldPath(path, name), pruned));
  }
  return Object.fromEntries(fields);
}
