import type { Schema } from './definition.js';
import { isObject } from './schema-node.js';
import { quoted } from './schema-quote.js';
import type { Violation } from './schema-violation.js';

/** Items that come twice in a list of type map or set: the second and each further one. */
export function duplicates(schema: Schema, list: readonly unknown[], path: string): Violation[] {
  const type = schema['x-kubernetes-list-type'];
  if (type !== 'map' && type !== 'set') return [];
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const seen = new Set<string>();
  const found: Violation[] = [];
  for (const [i, item] of list.entries()) {
    const identity = type === 'set' ? item : identityOf(item, keys);
    if (identity === undefined) continue;
    const text = JSON.stringify(identity);
    if (seen.has(text)) {
      const message = `Duplicate value: ${quoted(identity)}`;
      found.push({ path: `${path}[${i}]`, message, blocking: false });
    }
    seen.add(text);
  }
  return found;
}

/** The keys of an item in a list of type map; undefined where one is missing, which is reported apart. */
function identityOf(item: unknown, keys: readonly string[]): unknown {
  if (!isObject(item) || !keys.every((key) => Object.hasOwn(item, key))) return undefined;
  return Object.fromEntries([...keys].sort().map((key) => [key, item[key]]));
}
