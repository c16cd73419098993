import { isObject } from './is-object.js';

/**
 * Whether two values are equal as JSON. The order of fields does not count, nor does a field that is
 * undefined.
 */
export function equal(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, i) => equal(item, b[i]));
  }
  if (!isObject(a) || !isObject(b)) return Number.isNaN(a) && Number.isNaN(b);
  return (
    Object.keys(a).every((name) => equal(a[name], own(b, name))) &&
    Object.keys(b).every((name) => b[name] === undefined || own(a, name) !== undefined)
  );
}

function own(object: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
