import { Stalled } from '../../constructs/kit/errors.js';
import type { Resource } from '../../constructs/kit/object.js';
import { doubledMs } from '../kit/backoff.js';
import type { Child } from '../cache/child.js';
import { digestOf, type ChildCache } from '../cache/child-cache.js';
import { plannedOf, type Plan, type PlannedChild, type PlannedStage } from '../plan/plan.js';
import type { ReconcileState } from '../plan/state.js';
import type { Applier, ChangeSetEntry } from './applier.js';
import { blocksOthers, Pruner } from './prune.js';
import { isRecorded } from '../plan/recorded-runs.js';

/** The result of applying a plan as far as its stages allow. */
export interface Progress {
  readonly changes: ChangeSetEntry[];
  /** Whether every stage was reached and matches the plan. */
  readonly complete: boolean;
}

const JOB_RETRY_MS = { first: 30_000, most: 600_000 };

/** Applies plans stage by stage, retries failed Jobs, and prunes. */
export class ResourceManager {
  readonly pruner: Pruner;

  constructor(
    private readonly props: {
      readonly children: ChildCache;
      readonly applier: Applier;
      /** Milliseconds since 1970. */
      readonly now: () => number;
    },
  ) {
    this.pruner = new Pruner(props);
  }

  /** After a start: children whose digest is the one in the status need no write. */
  trustAppliedHash(plan: Plan, appliedHash: string | undefined): void {
    const { children } = this.props;
    const planned = plannedOf(plan);
    if (appliedHash === undefined || planned.some(({ id }) => children.applied(id))) return;
    if (this.digest(plan) !== appliedHash) return;
    for (const { id, hash, createOnly } of planned) {
      // What a policy alters is written once more, to find out what it is.
      if (createOnly === children.get(id)?.createOnly) children.trustAppliedHash(id, hash);
    }
  }

  /** One hash of the planned children and of their present state. */
  digest(plan: Plan): string {
    return digestOf(
      plannedOf(plan).map((planned) => {
        const { id, hash } = planned;
        const child = this.props.children.get(id);
        // A Job that has succeeded may be deleted.
        if (!child && isRecorded(this.props.children, plan, planned))
          return [id, hash, planned.createOnly];
        return [id, hash, child?.createOnly ?? child?.owned];
      }),
    );
  }

  /** Applies the stages in their order. It never waits: the next event continues. */
  async apply(resource: Resource, plan: Plan): Promise<Progress> {
    const { records } = this.props.applier;
    const changes: ChangeSetEntry[] = [];
    await records.record(plan);
    for (const stage of plan.stages) {
      const wanted = stage.children.filter((planned) => !this.#matches(plan, planned));
      if (wanted.length > 0) {
        if (stage.blockedReason !== undefined) return { changes, complete: false };
        changes.push(...(await this.#applyAll(resource, plan, wanted)));
      }
      // A Job may have succeeded while the stage was applied.
      if (stage.children.some(({ run }) => run !== undefined)) await records.record(plan);
      if (!this.#isPassed(plan, stage)) return { changes, complete: false };
    }
    return { changes, complete: true };
  }

  /**
   * Deletes failed Jobs after a backoff, so that they are created again: the cause may be gone.
   * @returns milliseconds until the next one is due
   */
  async retryFailedJobs(plan: Plan, { retries }: ReconcileState): Promise<number | undefined> {
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

  /** The live Job of a plan, if it runs what the plan wants. */
  #jobOf({ id, run }: PlannedChild): Child | undefined {
    const child = run === undefined ? undefined : this.props.children.get(id);
    return child && !child.deleting && child.run === run ? child : undefined;
  }

  async #applyAll(
    resource: Resource,
    plan: Plan,
    wanted: readonly PlannedChild[],
  ): Promise<readonly ChangeSetEntry[]> {
    const results = await Promise.allSettled(
      wanted.map((planned) => this.props.applier.apply(resource, plan, planned)),
    );
    const errors: unknown[] = [];
    const changes: ChangeSetEntry[] = [];
    for (const result of results) {
      if (result.status === 'fulfilled') changes.push(result.value);
      else errors.push(result.reason);
    }
    // An error that the user must fix comes before a transient one.
    if (errors.length > 0) throw errors.find((error) => error instanceof Stalled) ?? errors[0];
    return changes;
  }

  /** @param holder id of the child that records which Jobs have succeeded */
  forgetRuns(holder: string | undefined): Promise<void> {
    return this.props.applier.records.forget(holder);
  }

  /** The fields of children that an admission policy changes: `<kind> <name>: <field>`. */
  altered(plan: Plan): readonly string[] {
    return plannedOf(plan).flatMap(({ id, kind, name, hash }) => {
      const applied = this.props.children.applied(id);
      if (applied?.hash !== hash || applied.altered === undefined) return [];
      return [`${kind.kind} ${name}: ${applied.altered}`];
    });
  }

  #isPassed(plan: Plan, stage: PlannedStage): boolean {
    return stage.children.every(
      (planned) =>
        isRecorded(this.props.children, plan, planned) ||
        this.#isTerminatingAdvisory(planned) ||
        (this.#matches(plan, planned) &&
          (!stage.waitForReady ||
            planned.kind.optional === 'advisory' ||
            this.props.children.get(planned.id)?.health.state === 'Ready')),
    );
  }

  /** It may terminate forever: later stages do not wait for it. */
  #isTerminatingAdvisory({ id }: PlannedChild): boolean {
    const child = this.props.children.get(id);
    return child !== undefined && !blocksOthers(child);
  }

  #matches(plan: Plan, planned: PlannedChild): boolean {
    const { applier, children } = this.props;
    const live = children.get(planned.id);
    if (!live || live.deleting) return isRecorded(children, plan, planned);
    return applier.matches(planned, live);
  }
}
