import type { ChildCache, EndedJob } from '../cache/child-cache.js';
import type { Plan, PlannedChild } from './plan.js';

/** Whether a Job's run is known to have succeeded: it need not exist. */
export function isRecorded(children: ChildCache, plan: Plan, planned: PlannedChild): boolean {
  const { name, taskHash, advisory } = planned;
  if (taskHash === undefined || advisory || isDeletedByUser(children, plan, planned)) return false;
  const holder = plan.holder && children.get(plan.holder.id);
  return holder ? holder.runs[name] === taskHash : endedJob(children, plan, planned) !== undefined;
}

/**
 * Whether a user has deleted the Job of a plan after it had succeeded: it runs again. What the operator
 * has not seen, such as a deletion while it did not run, counts as one by the TTL.
 */
export function isDeletedByUser(children: ChildCache, plan: Plan, planned: PlannedChild): boolean {
  const ended = endedJob(children, plan, planned);
  return ended !== undefined && ended.deletedByUser && ended.job?.once !== true;
}

/** The deleted Job of a plan that had succeeded. */
export function endedJob(
  children: ChildCache,
  { owner }: Plan,
  { id, taskHash }: PlannedChild,
): EndedJob | undefined {
  const ended = taskHash === undefined || owner === undefined ? undefined : children.ended(id);
  const isLive = children.get(id) !== undefined;
  return !isLive && ended?.taskHash === taskHash && ended?.controller === owner ? ended : undefined;
}
