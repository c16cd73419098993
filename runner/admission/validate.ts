import { objectKind } from '../../constructs/kit/definition.js';
import { Stalled, Waiting, type Problem } from '../../constructs/kit/errors.js';
import { canonicalJson } from '../../constructs/kit/hash.js';
import type { ClusterReader } from '../../constructs/kit/kind.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import { problemsOf } from '../../constructs/kit/problems.js';
import { admit } from '../../constructs/kit/schema/admit.js';
import { StaticReader } from '../../constructs/kit/static-reader.js';
import type { AnyKind } from '../../constructs/registry.js';

/** A change of a resource, as the API server is about to store it. */
export interface AdmissionChange {
  readonly kind: AnyKind;
  readonly group: string;
  readonly object: Resource;
  /** The resource as it is stored; undefined where it is new. */
  readonly old: Resource | undefined;
  /** What else there is; undefined where that is not known yet. */
  readonly reader: ClusterReader | undefined;
}

/** What is said of a change. */
export interface AdmissionResult {
  /** Why it is refused; empty where it is not. */
  readonly problems: readonly Problem[];
  /** What its author should know. */
  readonly warnings: readonly Problem[];
  /**
   * Whether it is about other objects, of which is known how they were some milliseconds ago: what is
   * missing may just have been made, and who has what is wanted may just have given it up.
   */
  readonly unsure?: boolean;
}

const NOTHING: AdmissionResult = { problems: [], warnings: [] };

/** Somebody else has what this one wants, and had it first: that does not change by what is applied next. */
const TAKEN = new Set(['NameTaken', 'DuplicateSiteName', 'DocumentTaken', 'DefaultTaken']);

/** What is named is not there. It may come later: the order in which things are applied is free. */
const MISSING = new Set([
  'BackupMissing',
  'BenchMissing',
  'ChartMissing',
  'DatabaseOperatorMissing',
  'DatabaseServerMissing',
  'SecretMissing',
  'SiteMissing',
]);

/**
 * Judges a change by the code of a reconcile: schema and rules first, then what can be made of it. What
 * was wrong before the change is no reason to refuse it, and is not told again.
 */
export function validate({ kind, group, object, old, reader }: AdmissionChange): AdmissionResult {
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
  // What it had before cannot be told from what it takes now: that is left to the reconcile.
  if (old && !earlier) return { problems: [], warnings: pruned.map(unknown) };
  const now = resolveForAdmission(kind, stored, reader);
  const before = earlier ? resolveForAdmission(kind, earlier, reader) : NO_FINDINGS;
  return {
    problems: added(before.problems, now.problems, whatOf),
    warnings: [...pruned.map(unknown), ...added(before.warnings, now.warnings, canonicalJson)],
    unsure: now.unsure,
  };
}

/** What is in the way of a deletion, which waits for it. */
export function deletionWarnings({ kind, old, reader }: AdmissionChange): readonly Problem[] {
  if (!old || !reader || old.metadata.deletionTimestamp !== undefined) return [];
  try {
    kind.cleanup.blockers(old, reader);
  } catch (error) {
    if (error instanceof Waiting) return [{ path: 'metadata.finalizers', message: error.message }];
    throw error;
  }
  return [];
}

type AdmissionFindings = Required<AdmissionResult>;

const NO_FINDINGS: AdmissionFindings = { ...NOTHING, unsure: false };

function resolveForAdmission(
  kind: AnyKind,
  resource: Resource,
  reader: ClusterReader | undefined,
): AdmissionFindings {
  // Whoever changes a claim now is the youngest to have it, also where the object is old.
  const { creationTimestamp: _created, ...metadata } = resource.metadata;
  const claimant = { ...resource, metadata };
  // What is wrong with nothing else there is wrong by itself.
  const alone = troubleOf(kind, claimant, new StaticReader({ objects: [] }));
  if (alone instanceof Stalled) return { ...NO_FINDINGS, problems: problemsOf(alone) };
  if (!reader) return NO_FINDINGS;
  const trouble = troubleOf(kind, claimant, reader);
  if (trouble instanceof Stalled && TAKEN.has(trouble.reason)) {
    return { ...NO_FINDINGS, problems: problemsOf(trouble), unsure: true };
  }
  const missing = trouble instanceof Waiting && MISSING.has(trouble.reason);
  const told = trouble && (missing || trouble instanceof Stalled) ? problemsOf(trouble) : [];
  const warnings = [...told, ...(kind.admissionWarnings?.(resource, reader) ?? [])];
  return { problems: [], warnings, unsure: missing };
}

/** The cluster's schema may be of a newer operator. */
function unknown(path: string): Problem {
  return { path, message: 'this version of the operator does not know the field' };
}

/** Those that were not there before, by what makes two of them the same. */
function added(
  before: readonly Problem[],
  now: readonly Problem[],
  idOf: (problem: Problem) => string,
): readonly Problem[] {
  const known = new Set(before.map(idOf));
  return now.filter((problem) => !known.has(idOf(problem)));
}

/** It names what is taken, which stays the same when it moves in a list or to another field. */
function whatOf({ message }: Problem): string {
  return message;
}

function troubleOf(
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

/** A stored resource with the defaults that have come since; undefined where it would not be taken today. */
function completed(kind: AnyKind, group: string, old: Resource): Resource | undefined {
  const { object, problems } = admit(
    kind.definition,
    { ...old, ...typeOf(kind, group) },
    { group },
  );
  return problems.length > 0 ? undefined : object;
}

function typeOf({ definition }: AnyKind, group: string): Pick<KubeObject, 'apiVersion' | 'kind'> {
  const { apiVersion, kind } = objectKind(definition, group);
  return { apiVersion, kind };
}
