import { objectKind } from '../../constructs/kit/definition.js';
import { Stalled, Waiting, type Problem } from '../../constructs/kit/errors.js';
import { canonicalJson } from '../../constructs/kit/json/hash.js';
import type { ClusterReader } from '../../constructs/kit/kind.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import { problemsOf } from '../../constructs/kit/problems.js';
import { reasonClass } from '../../constructs/kit/reasons.js';
import { admit } from '../../constructs/kit/schema/admit.js';
import { DEFAULT_SETTINGS, type Settings } from '../../constructs/kit/operator-settings.js';
import { StaticReader } from '../../constructs/kit/static-reader.js';
import type { AnyKind } from '../../constructs/registry.js';
import { OtherNamespace } from './namespace-reader.js';

/** A create, update or delete that the API server asks about. */
export interface AdmissionChange {
  readonly kind: AnyKind;
  readonly group: string;
  readonly object: Resource;
  /** The stored resource; undefined for a create. */
  readonly old: Resource | undefined;
  /** The other objects of the namespace; undefined until the caches are synced. */
  readonly reader: ClusterReader | undefined;
  /** What the operator's administrator decides. @default DEFAULT_SETTINGS */
  readonly settings?: Settings;
}

export interface AdmissionResult {
  /** Why the change is refused; empty if it is allowed. */
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  /**
   * Whether the result depends on other objects, which the caches know with a delay of some
   * milliseconds: a missing object may just have been created, a conflicting one just been deleted.
   */
  readonly unsure?: boolean;
}

const NOTHING: AdmissionResult = { problems: [], warnings: [] };

/**
 * Evaluates a change with the code of a reconcile: first the schema and its rules, then the kind's
 * `resolve`. A problem that the stored resource has already is neither refused nor reported again.
 */
export function validate(change: AdmissionChange): AdmissionResult {
  const { kind, group, object, old } = change;
  if (object.metadata.deletionTimestamp !== undefined) return NOTHING;
  if (old && canonicalJson(old.spec) === canonicalJson(object.spec)) return NOTHING;
  const { definition } = kind;
  const {
    problems,
    object: stored,
    pruned,
  } = admit(definition, object, {
    group,
    ...(old ? { old: { ...old, ...typeOf(kind, group) } } : {}),
  });
  if (problems.length > 0) return { problems, warnings: [] };
  const earlier = old && completed(kind, group, old);
  // Its earlier problems are unknown: the reconcile reports what is wrong.
  if (old && !earlier) return { problems: [], warnings: pruned.map(unknownField) };
  const now = resolveForAdmission(change, stored);
  const before = earlier ? resolveForAdmission(change, earlier) : NO_FINDINGS;
  return {
    problems: added(before.problems, now.problems, messageOf),
    warnings: [...pruned.map(unknownField), ...added(before.warnings, now.warnings, canonicalJson)],
    unsure: now.unsure,
  };
}

/** What blocks a deletion, as warnings: the API server accepts it, and the finalizer waits. */
export function deletionWarnings({ kind, old, reader }: AdmissionChange): readonly Problem[] {
  if (!old || !reader || old.metadata.deletionTimestamp !== undefined) return [];
  try {
    kind.cleanup.blockers(old, reader);
  } catch (error) {
    if (error instanceof OtherNamespace) return [];
    if (!(error instanceof Waiting || error instanceof Stalled)) throw error;
    return [{ path: 'metadata.finalizers', message: error.message }];
  }
  return [];
}

type AdmissionFindings = Required<AdmissionResult>;

const NO_FINDINGS: AdmissionFindings = { ...NOTHING, unsure: false };

function resolveForAdmission(
  { kind, reader, settings }: AdmissionChange,
  resource: Resource,
): AdmissionFindings {
  // Whoever changes a name now is its youngest owner, even if the object is old.
  const { creationTimestamp: _created, ...metadata } = resource.metadata;
  const youngest = { ...resource, metadata };
  // A problem without any other object in the cluster is a problem of the spec alone.
  const alone = resolveError(kind, youngest, emptyReader(settings));
  if (alone instanceof Stalled) return { ...NO_FINDINGS, problems: problemsOf(alone) };
  if (!reader) return NO_FINDINGS;
  try {
    return findingsIn(kind, resource, youngest, reader);
  } catch (error) {
    if (error instanceof OtherNamespace) return NO_FINDINGS;
    throw error;
  }
}

/** What follows from other objects. @throws OtherNamespace */
function findingsIn(
  kind: AnyKind,
  resource: Resource,
  youngest: Resource,
  reader: ClusterReader,
): AdmissionFindings {
  const error = resolveError(kind, youngest, reader);
  const reason = error && reasonClass(kind, error.reason);
  if (error instanceof Stalled && reason === 'conflict') {
    return { ...NO_FINDINGS, problems: problemsOf(error), unsure: true };
  }
  const missing = error instanceof Waiting && reason === 'missing';
  const reported = error && (missing || error instanceof Stalled) ? problemsOf(error) : [];
  const warnings = [...reported, ...(kind.admissionWarnings?.(resource, reader) ?? [])];
  return { problems: [], warnings, unsure: missing };
}

function emptyReader(settings: Settings = DEFAULT_SETTINGS): ClusterReader {
  return new StaticReader({ objects: [], settings });
}

/** The cluster's CRDs may be those of a newer operator. */
function unknownField(path: string): Problem {
  return { path, message: 'unknown field: this version of the operator does not have it' };
}

/** The problems that were not there before; `idOf` decides which two are the same. */
function added(
  before: readonly Problem[],
  now: readonly Problem[],
  idOf: (problem: Problem) => string,
): readonly Problem[] {
  const known = new Set(before.map(idOf));
  return now.filter((problem) => !known.has(idOf(problem)));
}

/** The message stays the same when a value moves in a list or to another field. */
function messageOf({ message }: Problem): string {
  return message;
}

function resolveError(
  kind: AnyKind,
  resource: Resource,
  reader: ClusterReader,
): Stalled | Waiting | undefined {
  try {
    kind.resolve(resource, reader);
    return undefined;
  } catch (error) {
    if (error instanceof Stalled || error instanceof Waiting) return error;
    throw error;
  }
}

/** A stored resource with the present defaults; undefined if today's schema refuses it. */
function completed(kind: AnyKind, group: string, old: Resource): Resource | undefined {
  const { object, problems } = admit(
    kind.definition,
    { ...old, ...typeOf(kind, group) },
    { group, isStored: true },
  );
  return problems.length > 0 ? undefined : object;
}

function typeOf({ definition }: AnyKind, group: string): Pick<KubeObject, 'apiVersion' | 'kind'> {
  const { apiVersion, kind } = objectKind(definition, group);
  return { apiVersion, kind };
}
