import type { KindDefinition } from '../definition.js';
import type { Problem } from '../errors.js';
import { compiled } from './admit.js';
import { isObject } from '../json/is-object.js';
import { fieldNode, fieldPath, type SchemaNode } from './node.js';
import { stored } from './stored-value.js';
import { typeProblem } from './value.js';

/** A status whose fields have the types of the schema. */
export interface SoundStatus {
  /** The status without the fields that do not fit; undefined where nothing is left. */
  readonly status: Readonly<Record<string, unknown>> | undefined;
  readonly problems: readonly Problem[];
}

/**
 * The fields of a stored status that have the types of the kind's schema. The API server guarantees
 * them as long as the CRD has its schema. Bounds are not checked: they may have become stricter.
 */
export function soundStatus(definition: KindDefinition, status: unknown): SoundStatus {
  const node = compiled(definition).properties.get('status');
  if (status === undefined || status === null || !node) return { status: undefined, problems: [] };
  if (!isObject(status)) {
    const message = typeProblem({ type: 'object' }, status, 'status') ?? '';
    return { status: undefined, problems: [{ path: 'status', message }] };
  }
  const problems = Object.entries(status).flatMap(([name, value]) => {
    const child = fieldNode(node, name);
    return (child && misfit(child, value, fieldPath('status', name))) ?? [];
  });
  if (problems.length === 0) return { status, problems };
  const unsound = new Set(problems.map(({ path }) => path.split(/[.[]/)[1]));
  const fields = Object.entries(status).filter(([name]) => !unsound.has(name));
  return { status: Object.fromEntries(fields), problems };
}

/** The spec as the API server would store it by this schema: an old CRD lacks the newer defaults. */
export function completeSpec(definition: KindDefinition, spec: unknown): unknown {
  const node = compiled(definition).properties.get('spec');
  return node && isObject(spec) ? stored(node, spec, 'spec', []) : spec;
}

/**
 * Why some fields of a stored spec cannot be read: the spec is no object, or one of them lacks a part
 * or has another type than in the schema. Undefined where all can be read. Bounds are not checked.
 */
export function specProblem(
  definition: KindDefinition,
  spec: unknown,
  fields: readonly string[],
): Problem | undefined {
  const node = compiled(definition).properties.get('spec');
  if (!node) return undefined;
  if (spec === undefined) return { path: 'spec', message: 'Required value' };
  if (!isObject(spec)) {
    return { path: 'spec', message: typeProblem({ type: 'object' }, spec, 'spec') ?? '' };
  }
  return first(fields, (name) => {
    const path = fieldPath('spec', name);
    const child = fieldNode(node, name);
    if (child && Object.hasOwn(spec, name)) return misfit(child, spec[name], path);
    const isRequired = node.schema.required?.includes(name) === true;
    return isRequired ? { path, message: 'Required value' } : undefined;
  });
}

/** The first thing below a value, or the value itself, that has another type than in the schema. */
function misfit(node: SchemaNode, value: unknown, path: string): Problem | undefined {
  if (value === null && node.schema.nullable) return undefined;
  const message = typeProblem(node.schema, value, path);
  if (message !== undefined) return { path, message };
  if (Array.isArray(value)) {
    const { item } = node;
    return item && first(value.entries(), ([i, each]) => misfit(item, each, `${path}[${i}]`));
  }
  if (!isObject(value)) return undefined;
  const missing = node.schema.required?.find((name) => !Object.hasOwn(value, name));
  if (missing !== undefined) return { path: fieldPath(path, missing), message: 'Required value' };
  return first(Object.entries(value), ([name, field]) => {
    const child = fieldNode(node, name);
    return child && misfit(child, field, fieldPath(path, name));
  });
}

function first<T>(
  items: Iterable<T>,
  problemOf: (item: T) => Problem | undefined,
): Problem | undefined {
  for (const item of items) {
    const problem = problemOf(item);
    if (problem) return problem;
  }
  return undefined;
}
