import type { KindDefinition } from '../../constructs/kit/definition.js';
import { cutBelow, MAX_OBJECT_DEPTH } from '../../constructs/kit/json/depth.js';
import type { Problem } from '../../constructs/kit/errors.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import { isObject } from '../../constructs/kit/json/is-object.js';
import { completeSpec, soundStatus } from '../../constructs/kit/schema/sound.js';

/** A resource that every function may read. */
export interface Usable {
  readonly resource: Resource;
  /** What was wrong with it; undefined for nearly all. */
  readonly problem: string | undefined;
}

/** A status that did not fit the schema. */
export interface UnsoundStatus {
  readonly problems: readonly Problem[];
  /** As it is stored. */
  readonly status: unknown;
}

const unsound = new WeakMap<KubeObject, UnsoundStatus>();

/** What of a resource's stored status does not fit the schema; undefined where all does. */
export function unsoundStatusOf(resource: KubeObject): UnsoundStatus | undefined {
  return unsound.get(resource);
}

/** Whether a status is stored that is no object, so that no condition can be added to it. */
export function isStatusLost(resource: KubeObject): boolean {
  const found = unsound.get(resource);
  return found !== undefined && !isObject(found.status);
}

/** Status fields that the runner writes with each status: what is wrong with them is overwritten. */
const OWN_FIELDS = new Set(['phase', 'conditions', 'observedGeneration', 'ready', 'appliedHash']);

/**
 * A stored resource as all code may read it: no deeper than a recursion can go, with the defaults of
 * the present schema, and with the fields of its status that have the schema's types.
 * A broken or an old CRD guarantees none of these.
 * @param before the resource as it was: an equal generation has an equal spec
 */
export function usable(
  definition: KindDefinition,
  object: KubeObject,
  before: KubeObject | undefined,
): Usable {
  const whole = cutBelow(object) as Resource;
  const { status, problems } = soundStatus(definition, whole.status);
  const resource: Resource = { ...whole, spec: specOf(definition, whole, before) };
  if (problems.length > 0 || resource.status === null) {
    Object.assign(resource, { status });
    const lasting = problems.filter(
      ({ path }) => !OWN_FIELDS.has(path.split(/[.[]/)[1] ?? 'status'),
    );
    if (lasting.length > 0) unsound.set(resource, { problems: lasting, status: whole.status });
  }
  const found = [
    ...(whole === object ? [] : [`nests more than ${MAX_OBJECT_DEPTH} levels deep`]),
    ...problems.map(({ path, message }) => `${path}: ${message}`),
  ];
  return { resource, problem: found.length > 0 ? found.join('; ') : undefined };
}

function specOf(
  definition: KindDefinition,
  { spec, metadata }: Resource,
  before: KubeObject | undefined,
): unknown {
  const { uid, generation } = metadata;
  const known = before?.metadata;
  const isSame = known?.uid === uid && generation !== undefined && known?.generation === generation;
  return isSame ? (before as Resource).spec : completeSpec(definition, spec);
}
