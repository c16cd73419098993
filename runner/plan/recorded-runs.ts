import type { Child } from '../cache/child.js';
import type { ChildCache } from '../cache/child-cache.js';
import type { Plan, PlannedChild } from './plan.js';

/** Whether a Job's run is known to have succeeded: it need not exist. */
export function isRecorded(children: ChildCache, plan: Plan, planned: PlannedChild): boolean {
  const { name, run } = planned;
  if (run === undefined) return false;
  const holder = plan.holder && children.get(plan.holder.id);
  return holder ? holder.runs[name] === run : endedJob(children, plan, planned) !== undefined;
}

/** The deleted Job of a plan that had succeeded. */
export function endedJob(
  children: ChildCache,
  { owner }: Plan,
  { id, run }: PlannedChild,
): Child | undefined {
  const ended = run === undefined || owner === undefined ? undefined : children.ended(id);
  const isLive = children.get(id) !== undefined;
  return !isLive && ended?.run === run && ended?.controller === owner ? ended : undefined;
}
