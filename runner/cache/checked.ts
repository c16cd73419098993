import type { KindDefinition } from '../../constructs/kit/definition.js';
import type { Problem } from '../../constructs/kit/errors.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import { ANYTHING, opaqueProblem } from '../../constructs/kit/schema/bounds.js';
import { typedSpec, typedStatus } from '../../constructs/kit/schema/typed-fields.js';
import { keptMetadata } from './kept-metadata.js';

/** Where the caches keep what is wrong with a resource: copies of it keep it, and no API gets it. */
const PROBLEMS = Symbol('problems');

/** What of a cached object has not the types of its schema: such an object is invalid. */
export function problemsOf(object: KubeObject): readonly Problem[] {
  return (object as { readonly [PROBLEMS]?: readonly Problem[] })[PROBLEMS] ?? [];
}

/** Status fields that the runner writes with each status: what is wrong with them is overwritten. */
const WRITTEN = ['phase', 'conditions', 'observedGeneration', 'ready', 'appliedHash'];

/**
 * A stored resource as all code may read it: with the defaults of the present schema, and without the
 * fields of its spec that have another type than in the schema, whatever a broken or an old CRD has let
 * in. An invalid field of its status stays, as the status is written as a whole; a status that is no
 * object counts as lost.
 * @param before the resource as it was: an equal generation has an equal spec
 */
export function checked(
  definition: KindDefinition,
  object: KubeObject,
  before?: KubeObject,
): Resource {
  const { apiVersion, kind } = object;
  const metadata = keptMetadata(object);
  const spec = specOf(definition, object as Resource, before);
  const status = statusOf(definition, object as Resource);
  const problems = [...spec.problems, ...status.problems];
  return {
    apiVersion,
    kind,
    metadata,
    spec: spec.fields,
    ...(status.fields ? { status: status.fields } : {}),
    ...(problems.length > 0 ? { [PROBLEMS]: problems } : {}),
  };
}

interface Part {
  readonly fields: unknown;
  readonly problems: readonly Problem[];
}

function specOf(
  definition: KindDefinition,
  { spec, metadata: { uid, generation } }: Resource,
  before: KubeObject | undefined,
): Part {
  const known = before?.metadata;
  const isSame = known?.uid === uid && generation !== undefined && known?.generation === generation;
  if (!before || !isSame) return typedSpec(definition, spec);
  const problems = problemsOf(before).filter(({ path }) => !isOfStatus(path));
  return { fields: (before as Resource).spec, problems };
}

function statusOf(definition: KindDefinition, { status }: Resource): Part {
  const { fields, problems } = typedStatus(definition, status ?? {});
  if (status === undefined || problems.length === 0) return { fields: status, problems };
  if (problems.some(({ path }) => path === 'status')) return { fields: undefined, problems: [] };
  const invalid = problems.filter(({ path }) => !WRITTEN.includes(fieldOf(path)));
  const stored = status as Readonly<Record<string, unknown>>;
  const kept = invalid
    .map(({ path }) => [fieldOf(path), stored[fieldOf(path)]] as const)
    .filter(([, value]) => opaqueProblem(ANYTHING, value) === undefined);
  return { fields: { ...fields, ...Object.fromEntries(kept) }, problems: invalid };
}

/** The field of a spec or a status that a path begins with. */
function fieldOf(path: string): string {
  return path.split(/[.[]/)[1] ?? '';
}

export function isOfStatus(path: string): boolean {
  return /^status\b/.test(path);
}
