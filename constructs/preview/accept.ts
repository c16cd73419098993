import { API_VERSION, type KindDefinition } from '../kit/definition.js';
import type { Problem } from '../kit/errors.js';
import { groupOf, keyOf, type KubeObject, type Resource } from '../kit/object.js';
import { admit } from '../kit/schema/admit.js';
import { DEFINITIONS } from '../registry.js';
import { metadataProblems } from './metadata-problems.js';
import type { InputProblem } from './input-problem.js';

/** What is wrong with an object that was given. */
export interface ObjectProblem extends InputProblem {
  /** The object as it was given. */
  readonly object: object;
}

/** Why an object is skipped. */
export interface SkippedObject {
  /** The object as it was given. */
  readonly object: object;
  readonly message: string;
}

/** A custom resource of a kind that the operator works for. */
export interface Accepted {
  /** As it was given. */
  readonly object: object;
  /** As it would be stored. */
  readonly resource: Resource;
}

/** The objects after admission. */
export interface Acceptance {
  readonly accepted: readonly Accepted[];
  /** Keys of the resources that were refused. */
  readonly refused: ReadonlySet<string>;
  readonly problems: readonly ObjectProblem[];
  readonly skipped: readonly SkippedObject[];
}

/** Picks the custom resources of a group, and validates each as the API server would. */
export function accept(objects: readonly object[], group: string): Acceptance {
  const accepted: Accepted[] = [];
  const seen = new Set<string>();
  const refused = new Set<string>();
  const problems: ObjectProblem[] = [];
  const skipped: SkippedObject[] = [];
  for (const object of objects) {
    const { apiVersion, kind } = object as Readonly<Record<string, unknown>>;
    if (typeof apiVersion !== 'string' || groupOf(apiVersion) !== group) {
      skipped.push({ object, message: `skipped: not of the API group ${group}` });
      continue;
    }
    const definition = DEFINITIONS.find((one) => one.kind === kind);
    if (!definition) {
      problems.push({ object, ...unknownKind(kind) });
      continue;
    }
    const { resource, problems: found } = admitObject(definition, object, group);
    const key = resourceKey(resource);
    if (seen.has(key))
      found.push({ path: 'metadata.name', message: 'Duplicate value: given twice' });
    seen.add(key);
    problems.push(...found.map((problem) => ({ object, ...problem })));
    if (found.length > 0) {
      refused.add(key);
    } else {
      accepted.push({ object, resource });
    }
  }
  return { accepted, refused, problems, skipped };
}

/** A resource as admission stores it, in the namespace `default` where it names none. */
export function admitObject(
  definition: KindDefinition,
  object: object,
  group: string,
): { readonly resource: Resource; readonly problems: Problem[] } {
  const { object: stored, problems, pruned } = admit(definition, object, { group });
  // The API server drops these; kubectl and apply refuse them, since they are mostly misspelt.
  const unknown = pruned.map((path) => ({ path, message: 'Unknown field' }));
  const metadata = (stored.metadata as Partial<Resource['metadata']> | undefined) ?? {};
  const { namespace, name = '' } = metadata;
  const resource = {
    ...stored,
    metadata: { ...metadata, name, namespace: namespace ?? 'default' },
  };
  return { resource, problems: [...problems, ...unknown, ...metadataProblems(metadata)] };
}

/** The identity of a resource among all: `<kind>/<namespace>/<name>`. */
export function resourceKey({ kind, metadata }: KubeObject): string {
  return `${kind}/${keyOf(metadata.namespace, metadata.name)}`;
}

function unknownKind(kind: unknown): Problem {
  const known = DEFINITIONS.map((one) => JSON.stringify(one.kind)).join(', ');
  const got = kind === undefined ? 'nothing' : JSON.stringify(kind);
  return {
    path: 'kind',
    message: `Unsupported value: ${got}: supported values in version ${API_VERSION}: ${known}`,
  };
}
