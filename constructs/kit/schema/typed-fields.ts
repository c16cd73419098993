import type { KindDefinition, Schema } from '../definition.js';
import { isObject } from '../json/is-object.js';
import type { Problem } from '../errors.js';
import { compiled } from './admit.js';
import { ANYTHING, opaqueProblem } from './bounds.js';
import { compile, fieldNode, fieldPath, type SchemaNode } from './node.js';
import { stored } from './stored-value.js';
import { enumProblem, typeProblem } from './value.js';

/**
 * The fields of a stored spec or status that have the types of the schema. The API server guarantees
 * them as long as the CRD has its schema. Bounds and rules are not checked: they may have become
 * stricter.
 */
export interface TypedFields {
  readonly fields: Readonly<Record<string, unknown>>;
  /** What is wrong with the others. */
  readonly problems: readonly Problem[];
}

const OBJECT: Schema = { type: 'object' };
/** A field that the schema does not have: no more than its depth and length is read. */
const UNKNOWN = compile(ANYTHING);

/** The spec as the API server would store it by this schema: an old CRD lacks the newer defaults. */
export function typedSpec(definition: KindDefinition, spec: unknown): TypedFields {
  const node = compiled(definition).properties.get('spec');
  if (!node) throw new Error(`${definition.kind}: no schema of its spec`);
  if (spec === undefined) return { fields: {}, problems: [required('spec')] };
  const complete = stored(node, spec, 'spec', []);
  const { fields, problems } = typedFields(node, complete, 'spec', { problemOf: specProblem });
  if (!isObject(complete)) return { fields, problems };
  const missing = (node.schema.required ?? []).filter((name) => !Object.hasOwn(complete, name));
  return { fields, problems: [...problems, ...missing.map((name) => required(`spec.${name}`))] };
}

/** The status. A field that the schema does not have stays: a newer release may have written it. */
export function typedStatus(definition: KindDefinition, status: unknown): TypedFields {
  const node = compiled(definition).properties.get('status');
  return node
    ? typedFields(node, status, 'status', { unknown: UNKNOWN, problemOf: typeProblem })
    : { fields: {}, problems: [] };
}

type ProblemOf = typeof typeProblem;

/** The types of a spec are closed: code relies on the values of an enum. */
function specProblem(schema: Schema, value: unknown, path: string): string | undefined {
  const problem = typeProblem(schema, value, path);
  if (problem !== undefined || !schema.enum || schema.enum.includes(value)) return problem;
  return enumProblem(schema.enum, value);
}

function typedFields(
  node: SchemaNode,
  value: unknown,
  part: string,
  { unknown, problemOf }: { readonly unknown?: SchemaNode; readonly problemOf: ProblemOf },
): TypedFields {
  const message = typeProblem(OBJECT, value, part);
  if (message !== undefined) return { fields: {}, problems: [{ path: part, message }] };
  const problems: Problem[] = [];
  const fields = Object.entries(value as TypedFields['fields']).filter(([name, field]) => {
    const child = fieldNode(node, name) ?? unknown;
    const problem = child && misfit(child, field, fieldPath(part, name), problemOf);
    if (problem) problems.push(problem);
    return !problem;
  });
  return { fields: Object.fromEntries(fields), problems };
}

/** The first thing below a value, or the value itself, that has another type than in the schema. */
function misfit(
  node: SchemaNode,
  value: unknown,
  path: string,
  problemOf: ProblemOf,
): Problem | undefined {
  const message = problemOf(node.schema, value, path) ?? opaqueProblem(node.schema, value);
  if (message !== undefined) return { path, message };
  const below = (child: SchemaNode | undefined, inner: unknown, at: string) =>
    child && misfit(child, inner, at, problemOf);
  if (Array.isArray(value)) {
    return first(value.entries(), ([i, item]) => below(node.item, item, `${path}[${i}]`));
  }
  if (!isObject(value)) return undefined;
  const missing = node.schema.required?.find((name) => !Object.hasOwn(value, name));
  if (missing !== undefined) return required(fieldPath(path, missing));
  return first(Object.entries(value), ([name, field]) =>
    below(fieldNode(node, name), field, fieldPath(path, name)),
  );
}

function required(path: string): Problem {
  return { path, message: 'Required value' };
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
