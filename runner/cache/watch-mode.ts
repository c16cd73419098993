import { kindId, type ObjectKind } from '../../constructs/kit/object-kind.js';
import type { AnyBatch, AnyKind } from '../../constructs/registry.js';

/** How the objects of a kind reach the caches. */
export type WatchMode =
  /** Objects with our label, for their owners. */
  | 'children'
  /** All objects, since a spec may name any of them; those with our label are children too. */
  | 'any'
  /** Two watches: our children with their content, and of all others the metadata. */
  | 'childrenAndAny'
  /** All objects, of which none is a child. */
  | 'references';

export interface WatchedKind {
  readonly kind: ObjectKind;
  readonly mode: WatchMode;
}

/** The kinds that some kinds and batches own or read, each with how it is watched. */
export function watchedKinds(
  kinds: readonly Pick<AnyKind, 'owns' | 'reads'>[],
  batches: readonly Pick<AnyBatch, 'owns'>[],
): readonly WatchedKind[] {
  const owned = byId([...kinds, ...batches].flatMap(({ owns }) => owns));
  const named = byId(kinds.flatMap(({ reads }) => reads));
  const modeOf = (kind: ObjectKind): WatchMode => {
    if (!named.has(kindId(kind))) return 'children';
    if (!owned.has(kindId(kind))) return 'references';
    return kind.content === 'ofChildren' ? 'childrenAndAny' : 'any';
  };
  return [...new Map([...owned, ...named]).values()].map((kind) => ({ kind, mode: modeOf(kind) }));
}

function byId(kinds: readonly ObjectKind[]): ReadonlyMap<string, ObjectKind> {
  return new Map(kinds.map((kind) => [kindId(kind), kind]));
}
