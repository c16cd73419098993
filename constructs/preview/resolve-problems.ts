import { Stalled, Waiting, type Problem } from '../kit/errors.js';
import type { ClusterReader } from '../kit/kind.js';
import { identity, type Resource } from '../kit/object.js';
import { problemsOf } from '../kit/problems.js';
import { reasonClass } from '../kit/reasons.js';
import { referenceName } from '../kit/reference.js';
import type { AnyKind } from '../registry.js';
import { resourceKey } from './accept.js';
import type { InputProblem } from './input-problem.js';

/** A resource whose inputs were to be resolved. */
export interface ResolveRequest {
  readonly kind: AnyKind;
  readonly resource: Resource;
  readonly reader: ClusterReader;
  /** Keys of resources that have problems themselves. @default none */
  readonly refused?: ReadonlySet<string>;
}

/**
 * The problems in an error that `resolve` threw: the message of the Ready condition, by field.
 * @throws the error where it is no problem of the input
 */
export function resolveProblems(error: unknown, request: ResolveRequest): readonly InputProblem[] {
  if (!(error instanceof Stalled || error instanceof Waiting)) throw error;
  const problems = problemsOf(error);
  if (reasonClass(request.kind, error.reason) !== 'missing') return problems;
  return problems.flatMap((problem) => missingReference(problem, request) ?? [problem]);
}

/**
 * A preview takes a resource with all that it refers to. A refused one has its own problems.
 * @returns undefined if the problem is not about a reference to a missing resource
 */
function missingReference(
  { path }: Problem,
  { kind, resource, reader, refused }: ResolveRequest,
): readonly InputProblem[] | undefined {
  const reference = kind.references.find(({ field }) => path === `spec.${field}.name`);
  const name = reference && referenceName(resource, reference);
  if (!reference || name === undefined) return undefined;
  const { namespace = 'default' } = resource.metadata;
  const named = { apiVersion: '', kind: reference.kind, metadata: { namespace, name } };
  if (reader.get(named.kind, namespace, name, identity)) return undefined;
  if (refused?.has(resourceKey(named))) return [];
  const message = `there is no ${named.kind} ${JSON.stringify(name)} in namespace ${namespace} in the input: add it to the input`;
  return [{ path, message, missing: { kind: named.kind, namespace, name } }];
}
