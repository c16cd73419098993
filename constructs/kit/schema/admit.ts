import { defined } from '../json/defined.js';
import { API_VERSION, DEFAULT_API_GROUP, type KindDefinition } from '../definition.js';
import type { Problem } from '../errors.js';
import type { Resource } from '../object.js';
import { isObject } from '../json/is-object.js';
import { compile, type SchemaNode } from './node.js';
import { quoted } from './quote.js';
import { rootSchema } from './root.js';
import { ruleProblems } from './rule-problems.js';
import { stored } from './stored-value.js';
import type { Violation } from './violation.js';
import { violations } from './violations.js';

/** What became of an object at admission. */
export interface AdmitResult {
  /**
   * The object as it would be stored. It is of the kind's types only where there are no problems.
   */
  readonly object: Resource;
  /**
   * What is wrong, in the API server's words: `spec.x: Unsupported value: "a": supported values:
   * …`.
   */
  readonly problems: readonly Problem[];
  /** Paths of the fields that the schema does not know and that were dropped. */
  readonly pruned: readonly string[];
}

export interface AdmitOptions {
  /** The API group that the kinds are installed in. */
  readonly group?: string;
  /** The object as it is stored, where this is an update: transition rules compare with it. */
  readonly old?: Resource;
  /** Whether the object is as it is stored: rules about a change or a creation say nothing of it. @default false */
  readonly isStored?: boolean;
}

/**
 * Does with an object what the API server does by the kind's CRD: drops unknown fields, fills in
 * defaults, validates types, bounds and patterns, and runs the CEL rules where all of these left
 * the object valid. The object passed is left as it is. Metadata beyond the name, and the status,
 * which only the operator writes, pass through as they are.
 */
export function admit(
  definition: KindDefinition,
  object: object,
  { group = DEFAULT_API_GROUP, old, isStored = false }: AdmitOptions = {},
): AdmitResult {
  const root = compiled(definition);
  const { apiVersion, kind, metadata, spec, status, ...rest } = object as Readonly<
    Record<string, unknown>
  >;
  const pruned = Object.keys(rest);
  const evaluated = defined({
    apiVersion,
    kind,
    metadata,
    ...(stored(root, { spec }, '', pruned) as object),
  });
  // What was stored before a default came has it when it is read.
  const before = old && { ...old, ...(stored(root, { spec: old.spec }, '', []) as object) };
  const found = [
    ...identityProblems(definition, evaluated, group),
    ...violations(root, evaluated, '', before),
  ];
  if (!found.some((problem) => problem.blocking)) {
    found.push(
      ...ruleProblems(root, evaluated, '', { old: before, isStored }).map((problem) => ({
        ...problem,
        blocking: false,
      })),
    );
  }
  return {
    object: defined({ ...evaluated, status }) as unknown as Resource,
    problems: found.map(({ path, message }) => ({ path, message })),
    pruned,
  };
}

const cache = new WeakMap<KindDefinition, SchemaNode>();

/** The schema of a kind's whole object, compiled once. */
export function compiled(definition: KindDefinition): SchemaNode {
  const known = cache.get(definition);
  if (known) return known;
  const node = compile(rootSchema(definition));
  cache.set(definition, node);
  return node;
}

/**
 * Whether the object is of this kind and has a name, which the API server knows by the request's
 * path.
 */
function identityProblems(
  definition: KindDefinition,
  { apiVersion, kind, metadata }: Readonly<Record<string, unknown>>,
  group: string,
): Violation[] {
  const found: Violation[] = [];
  const expect = (path: string, value: unknown, wanted: string): void => {
    if (value === wanted) return;
    const message =
      value === undefined
        ? 'Required value'
        : `Unsupported value: ${quoted(value)}: supported values: ${quoted(wanted)}`;
    found.push({ path, message, blocking: true });
  };
  expect('apiVersion', apiVersion, `${group}/${API_VERSION}`);
  expect('kind', kind, definition.kind);
  if (!isObject(metadata) || !metadata['name']) {
    const message = 'Required value: name or generateName is required';
    found.push({ path: 'metadata.name', message, blocking: true });
  }
  return found;
}
