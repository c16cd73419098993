import type { Schema } from '../../constructs/kit/definition.js';

/**
 * The half of an object that a schema describes: users write specs, only the operator writes
 * status.
 */
export type Half = 'spec' | 'status';

type Check = (node: Schema, half: Half, path: string) => string | undefined;

/**
 * Required of every node. Specs need bounds: the cost of CEL and the size in etcd depend on them.
 */
const CHECKS: readonly Check[] = [
  // A plain value in a list or a map is described by the list or the map.
  (node, _, path) =>
    node.description || (path.endsWith(']') && node.type !== 'object')
      ? undefined
      : 'has no description',
  (node) =>
    node.type || node['x-kubernetes-preserve-unknown-fields']
      ? undefined
      : 'has no type: a union, or something that TypeScript alone knows',
  (node) =>
    node.type === 'number' ? 'is a bare number: give it @type integer and @format' : undefined,
  (node) => (node.type === 'integer' && !node.format ? 'is an integer without @format' : undefined),
  (node) =>
    node.type !== undefined && node.default !== undefined && !fits(node.type, node.default)
      ? `is of type ${node.type}, and its default is not: quote it where it is text`
      : undefined,
  (node) =>
    node.type === 'array' && !node['x-kubernetes-list-type'] && node.maxItems === undefined
      ? 'is a list without @listType or @maxItems'
      : undefined,
  (node) =>
    node['x-kubernetes-list-type'] === 'map' && !node['x-kubernetes-list-map-keys']
      ? 'is a list of type map without @listMapKey'
      : undefined,
  (node, half) =>
    half === 'spec' && node.type === 'array' && node.maxItems === undefined
      ? 'is a list without @maxItems'
      : undefined,
  (node, half) =>
    half === 'spec' &&
    node.type === 'string' &&
    !node.enum &&
    !node.format &&
    node.maxLength === undefined
      ? 'is a string without @maxLength'
      : undefined,
  (node, half) =>
    half === 'spec' &&
    typeof node.additionalProperties === 'object' &&
    node.maxProperties === undefined
      ? 'is a map without @maxProperties'
      : undefined,
];

/** Everything that is wrong with a schema: `<path> <what>`. Empty where all is well. */
export function structuralProblems(schema: Schema, half: Half, path: string = half): string[] {
  const own = CHECKS.map((check) => check(schema, half, path)).filter(
    (found) => found !== undefined,
  );
  return [
    ...own.map((found) => `${path} ${found}`),
    ...children(schema).flatMap(([step, node]) => structuralProblems(node, half, path + step)),
  ];
}

function children(schema: Schema): (readonly [string, Schema])[] {
  return [
    ...Object.entries(schema.properties ?? {}).map(([name, node]) => [`.${name}`, node] as const),
    ...(schema.items ? [['[]', schema.items] as const] : []),
    ...(typeof schema.additionalProperties === 'object'
      ? [['[*]', schema.additionalProperties] as const]
      : []),
  ];
}

function fits(type: NonNullable<Schema['type']>, value: unknown): boolean {
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'array') return Array.isArray(value);
  return typeof value === type && value !== null && !Array.isArray(value);
}
