import type { Schema } from '../definition.js';
import { compileRule, type Rule } from './cel-rule.js';
import type { RuleAt } from './root.js';

/** A schema node made ready: patterns and rules are compiled, children are looked up once. */
export interface SchemaNode {
  readonly schema: Schema;
  readonly properties: ReadonlyMap<string, SchemaNode>;
  /** Node of every value of a map. */
  readonly values: SchemaNode | undefined;
  /** Node of every item of a list. */
  readonly item: SchemaNode | undefined;
  readonly pattern: RegExp | undefined;
  readonly rules: readonly Rule[];
  /** Whether this node or one below has rules. */
  readonly ruled: boolean;
  /** Whether this node or one below holds integers, which CEL wants apart from other numbers. */
  readonly integers: boolean;
}

/** Compiles a structural schema. Costs milliseconds: do it once a definition. */
export function compile(schema: Schema): SchemaNode {
  const { additionalProperties: values } = schema;
  const properties = new Map(
    Object.entries(schema.properties ?? {}).map(([name, child]) => [name, compile(child)]),
  );
  const node = {
    schema,
    properties,
    values: typeof values === 'object' ? compile(values) : undefined,
    item: schema.items && compile(schema.items),
    pattern: schema.pattern === undefined ? undefined : new RegExp(schema.pattern, 'u'),
    rules: (schema['x-kubernetes-validations'] ?? []).map((rule: RuleAt) => compileRule(rule)),
  };
  const children = [...properties.values(), node.values, node.item].filter((n) => n !== undefined);
  return {
    ...node,
    ruled: node.rules.length > 0 || children.some((child) => child.ruled),
    integers: schema.type === 'integer' || children.some((child) => child.integers),
  };
}

/** The node of a field of an object or of a map's entry; undefined where the schema knows none. */
export function fieldNode(node: SchemaNode, name: string): SchemaNode | undefined {
  return node.properties.get(name) ?? node.values;
}

/** A field's path in the words of a manifest. */
export function fieldPath(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}
