import type { ConditionResult } from '../../constructs/kit/condition.js';
import { kindId, type ObjectKind } from '../../constructs/kit/object-kind.js';
import { BROKEN_MS, type BrokenWatch } from './watches.js';

/** A missing permission is not waited out, as an outage is. Shorter ones are a change of a Role. */
export const FORBIDDEN_SHOWN_MS = 30_000;

/**
 * The condition of resources that depend on watches that do not work; none where all do.
 * @param used the kinds that the resources are made of and read
 */
export function watchConditions(
  used: readonly ObjectKind[],
  broken: readonly BrokenWatch[],
): readonly ConditionResult[] {
  const ids = new Set(used.map(kindId));
  const shown = broken.filter(
    ({ kind, forbidden, brokenMs }) =>
      ids.has(kindId(kind)) && brokenMs >= (forbidden ? FORBIDDEN_SHOWN_MS : BROKEN_MS),
  );
  if (shown.length === 0) return [];
  const reason = shown.some(({ forbidden }) => forbidden) ? 'Forbidden' : 'Error';
  const message = shown.map(messageOf).join('; ');
  return [{ type: 'WatchBroken', status: 'True', reason, message }];
}

function messageOf({ kind, forbidden }: BrokenWatch): string {
  return forbidden
    ? `${kind.kind}: the operator may not watch ${kind.plural}; apply the install manifest of this release`
    : `${kind.kind}: the operator cannot watch ${kind.plural}; read its log`;
}
