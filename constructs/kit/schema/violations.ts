import { opaqueProblem } from './bounds.js';
import { equal } from '../json/equal.js';
import { isObject } from '../json/is-object.js';
import { fieldNode, fieldPath, type SchemaNode } from './node.js';
import { oldField, oldItems } from './old-value.js';
import { itemViolations } from './lists.js';
import { quoted } from './quote.js';
import type { Violation } from './violation.js';
import { boundProblem, enumProblem, typeProblem } from './value.js';

/**
 * Everything in which a value does not fit its schema, validation rules apart, in the words of the
 * API server. Values that are unchanged are not validated again, so that objects stored before a
 * stricter schema came can still be edited.
 */
export function violations(
  node: SchemaNode,
  value: unknown,
  at: string | Place,
  old?: unknown,
): Violation[] {
  const place = placeOf(at);
  const { path, listPath } = place;
  if (old !== undefined && equal(old, value)) return [];
  const found: Violation[] = [...own(node, value, path)];
  if (Array.isArray(value) && node.item) {
    const before = oldItems(node, old);
    for (const [i, item] of value.entries()) {
      found.push(...violations(node.item, item, itemOf(place, i), before(item)));
    }
    found.push(...itemViolations(node.schema, value, listPath));
  } else if (isObject(value)) {
    for (const name of node.schema.required ?? []) {
      if (!Object.hasOwn(value, name)) {
        found.push({ path: fieldPath(path, name), message: 'Required value', blocking: true });
      }
    }
    for (const [name, field] of Object.entries(value)) {
      const child = fieldNode(node, name);
      if (child)
        found.push(...violations(child, field, fieldOf(node, place, name), oldField(old, name)));
    }
  }
  return found;
}

/** Where a value is. */
interface Place {
  readonly path: string;
  /** The same in messages about items of lists: there the API server writes entries of maps as `[key]`. */
  readonly listPath: string;
}

function placeOf(at: string | Place): Place {
  return typeof at === 'string' ? { path: at, listPath: at } : at;
}

function itemOf({ path, listPath }: Place, index: number): Place {
  return { path: `${path}[${index}]`, listPath: `${listPath}[${index}]` };
}

function fieldOf({ properties }: SchemaNode, { path, listPath }: Place, name: string): Place {
  return {
    path: fieldPath(path, name),
    listPath: properties.has(name) ? fieldPath(listPath, name) : `${listPath}[${name}]`,
  };
}

function own({ schema, pattern }: SchemaNode, value: unknown, path: string): Violation[] {
  if (value === null && schema.nullable) return [];
  // Nothing else reads a value that is too deep or too long.
  const opaque = opaqueProblem(schema, value);
  if (opaque) return [{ path, message: opaque, blocking: true }];
  const found: Violation[] = [];
  const type = typeProblem(schema, value, path);
  if (type) found.push({ path, message: type, blocking: true });
  if (schema.enum && !schema.enum.includes(value)) {
    found.push({ path, message: enumProblem(schema.enum, value), blocking: true });
  }
  const bound = boundProblem(schema, value, pattern);
  if (bound) {
    const { message, blocking } = bound;
    found.push({ path, message: blocking ? message : invalid(value, path, message), blocking });
  }
  return found;
}

function invalid(value: unknown, path: string, what: string): string {
  const shown = Array.isArray(value) ? value.length : quoted(value);
  return `Invalid value: ${shown}: ${path} in body ${what}`;
}
