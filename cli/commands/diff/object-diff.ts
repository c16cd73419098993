import type { KubeObject } from '../../../constructs/kit/object.js';
import { patchOf } from './patch.js';

/** A change of one object. `diff -o json` prints it, so it is public API. */
export interface ObjectDiff {
  readonly action: 'create' | 'change' | 'replace' | 'prune';
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** The resource that owns the object, as `<kind>/<name>`; null for an object of the files. */
  readonly owner: string | null;
  /** Unified; values of Secrets are masked. */
  readonly patch: string;
}

export interface Differences {
  readonly changes: readonly ObjectDiff[];
  /** What could not be compared because of an error, one line each. */
  readonly problems: readonly string[];
  readonly notes: readonly string[];
}

/** The diff of an object; undefined without a difference. */
export function objectDiff(
  action: ObjectDiff['action'],
  owner: string | null,
  before: KubeObject | undefined,
  after: KubeObject | undefined,
): ObjectDiff | undefined {
  const { kind = '', metadata } = after ?? before ?? {};
  const { namespace = '', name = '' } = metadata ?? {};
  const patch = patchOf([kind, namespace, name].filter(Boolean).join('.'), before, after);
  return patch === '' ? undefined : { action, kind, namespace, name, owner, patch };
}

export function joinDifferences(parts: readonly Differences[]): Differences {
  return {
    changes: parts.flatMap(({ changes }) => changes),
    problems: parts.flatMap(({ problems }) => problems),
    notes: parts.flatMap(({ notes }) => notes),
  };
}
