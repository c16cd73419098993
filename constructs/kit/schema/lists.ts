import type { Schema } from '../definition.js';
import { isObject } from '../json/is-object.js';
import { quoted } from './quote.js';
import type { Violation } from './violation.js';

/**
 * What is wrong with the items of a list of type map or set: the second and each further one of the
 * same identity. An item of a map that is no object ends the search, as it has none.
 */
export function itemViolations(
  schema: Schema,
  list: readonly unknown[],
  path: string,
): Violation[] {
  const type = schema['x-kubernetes-list-type'];
  if (type !== 'map' && type !== 'set') return [];
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const seen = new Set<string>();
  const found: Violation[] = [];
  const report = (i: number, message: string): void => {
    found.push({ path: `${path}[${i}]`, message, blocking: false });
  };
  for (const [i, item] of list.entries()) {
    if (item === null) continue;
    if (type === 'map' && !isObject(item)) {
      const what = 'must be an object for an array of list-type map';
      report(i, `Invalid value: ${quoted(item)}: ${what}`);
      return found;
    }
    const identity = isObject(item) ? identityOf(item, keys) : item;
    const text = JSON.stringify(identity);
    if (seen.has(text)) report(i, `Duplicate value: ${quoted(identity)}`);
    seen.add(text);
  }
  return found;
}

/** The keys of an item in a list of type map. One that is missing is reported apart. */
function identityOf(item: Readonly<Record<string, unknown>>, keys: readonly string[]): unknown {
  return Object.fromEntries([...keys].sort().map((key) => [key, item[key]]));
}
