import type { Problem } from '../errors.js';
import { equal } from '../json/equal.js';
import { isObject } from '../json/is-object.js';
import { fieldNode, fieldPath, type SchemaNode } from './node.js';
import { oldField, oldItems } from './old-value.js';
import { quoted } from './quote.js';

/** What a value was before. */
export interface Before {
  readonly old?: unknown;
  /** Whether the value is as it is stored, which is no change. */
  readonly isStored?: boolean;
}

/**
 * The validation rules that a value breaks. Transition rules run where an old value exists;
 * the others are skipped where it is unchanged. Of a stored value, rules about changes are skipped.
 */
export function ruleProblems(
  node: SchemaNode,
  value: unknown,
  path: string,
  before: Before = {},
): Problem[] {
  if (!node.ruled) return [];
  const { old } = before;
  const found = own(node, value, path, before);
  if (Array.isArray(value) && node.item) {
    const oldOf = oldItems(node, old);
    for (const [i, item] of value.entries()) {
      found.push(
        ...ruleProblems(node.item, item, `${path}[${i}]`, { ...before, old: oldOf(item) }),
      );
    }
  } else if (isObject(value)) {
    for (const [name, field] of Object.entries(value)) {
      const child = fieldNode(node, name);
      if (!child) continue;
      const inner = { ...before, old: oldField(old, name) };
      found.push(...ruleProblems(child, field, fieldPath(path, name), inner));
    }
  }
  return found;
}

function own(
  node: SchemaNode,
  value: unknown,
  path: string,
  { old, isStored = false }: Before,
): Problem[] {
  if (node.rules.length === 0) return [];
  const unchanged = old !== undefined && equal(old, value);
  const self = celValue(node, value);
  const oldSelf = old === undefined ? undefined : celValue(node, old);
  return node.rules.flatMap((rule) => {
    if (rule.transition ? old === undefined : unchanged) return [];
    if (isStored && rule.ofChange) return [];
    const what = rule.violation(self, oldSelf);
    if (what === undefined) return [];
    // From Kubernetes 1.35 on; earlier versions name the type in place of the value.
    const shown = typeof value === 'object' ? '' : `: ${quoted(value)}`;
    return [
      { path: (path + rule.at).replace(/^[.]/, ''), message: `Invalid value${shown}: ${what}` },
    ];
  });
}

/** The value with its integers as CEL has them: JavaScript's numbers would be doubles there. */
function celValue(node: SchemaNode, value: unknown): unknown {
  if (!node.integers) return value;
  if (typeof value === 'number') {
    return node.schema.type === 'integer' && Number.isInteger(value) ? BigInt(value) : value;
  }
  if (Array.isArray(value)) {
    const { item } = node;
    return item ? value.map((each: unknown) => celValue(item, each)) : value;
  }
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => {
      const child = fieldNode(node, name);
      return [name, child ? celValue(child, field) : field];
    }),
  );
}
