import { doubledMs } from '../kit/backoff.js';
import type { Child } from '../cache/child.js';
import type { ChildCache } from '../cache/child-cache.js';
import { plannedOf, type Plan, type PlannedChild } from '../plan/plan.js';
import type { ReconcileState } from '../plan/reconcile-state.js';
import type { Applier } from './applier.js';

const JOB_RETRY_MS = { first: 30_000, most: 600_000 };

/** Runs failed Jobs of a plan again. A Job that runs once stays as it is. */
export class JobRetry {
  constructor(
    private readonly props: {
      readonly children: ChildCache;
      readonly applier: Pick<Applier, 'delete'>;
      /** Milliseconds since 1970. */
      readonly now: () => number;
    },
  ) {}

  /**
   * Deletes failed Jobs after a backoff, so that they are created again: the cause may be gone.
   * @returns milliseconds until the next one is due
   */
  async retry(plan: Plan, { retries }: ReconcileState): Promise<number | undefined> {
    const { applier, now } = this.props;
    let next: number | undefined;
    for (const planned of plannedOf(plan)) {
      const job = this.#jobOf(planned);
      if (job?.health.state === 'Ready') retries.delete(planned.id);
      if (job?.failedAt === undefined || job.job?.once) continue;
      const count = retries.get(planned.id) ?? 0;
      const left = job.failedAt + doubledMs(count, JOB_RETRY_MS) - now();
      if (left > 0) {
        next = Math.min(left, next ?? Infinity);
      } else {
        retries.set(planned.id, count + 1);
        await applier.delete(job);
      }
    }
    return next;
  }

  /** The live Job of a plan, if it does the task that the plan wants. */
  #jobOf({ id, taskHash }: PlannedChild): Child | undefined {
    const child = taskHash === undefined ? undefined : this.props.children.get(id);
    return child && !child.deleting && child.taskHash === taskHash ? child : undefined;
  }
}
