import { Stalled } from '../../constructs/kit/errors.js';
import type { Resource } from '../../constructs/kit/object.js';
import type { Child } from '../cache/child.js';
import { digestOf, type ChildCache } from '../cache/child-cache.js';
import { plannedOf, type Plan, type PlannedChild, type PlannedStage } from '../plan/plan.js';
import type { Applier, ChangeSetEntry } from './applier.js';
import { JobRetry } from './job-retry.js';
import { blocksOthers, Pruner } from './prune.js';
import { isRecorded } from '../plan/recorded-runs.js';

/** The result of applying a plan as far as its stages allow. */
export interface Progress {
  readonly changes: ChangeSetEntry[];
  /** Whether every stage was reached and matches the plan. */
  readonly complete: boolean;
}

/** One apply of a plan. */
interface Course {
  readonly resource: Resource;
  readonly plan: Plan;
  readonly isWritten: boolean;
  /** So far. */
  readonly changes: ChangeSetEntry[];
}

/** Applies plans stage by stage, retries failed Jobs, and prunes. */
export class ResourceManager {
  readonly pruner: Pruner;
  readonly jobRetry: JobRetry;

  constructor(
    private readonly props: {
      readonly children: ChildCache;
      readonly applier: Applier;
      /** Milliseconds since 1970. */
      readonly now: () => number;
    },
  ) {
    this.pruner = new Pruner(props);
    this.jobRetry = new JobRetry(props);
  }

  /** After a start: children whose digest is the one in the status need no write. */
  trustAppliedHash(plan: Plan, appliedHash: string | undefined): void {
    const { children } = this.props;
    const planned = lasting(plan);
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
      lasting(plan).map((planned) => {
        const { id, hash } = planned;
        const child = this.props.children.get(id);
        // A Job that has succeeded may be deleted.
        if (!child && isRecorded(this.props.children, plan, planned))
          return [id, hash, planned.createOnly];
        return [id, hash, child?.createOnly ?? child?.owned];
      }),
    );
  }

  /**
   * Applies the stages in their order. It never waits: the next event continues.
   * @param isWritten whether the resource is the response to a write of this reconcile
   */
  async apply(resource: Resource, plan: Plan, isWritten = false): Promise<Progress> {
    const changes: ChangeSetEntry[] = [];
    await this.props.applier.records.record(plan);
    let complete = true;
    let hasFailed = false;
    for (const stage of plan.stages) {
      if (!complete && !(hasFailed && stage.afterFailure)) continue;
      const isPassed = await this.#applyStage({ resource, plan, isWritten, changes }, stage);
      if (isPassed || stage.advisory) continue;
      complete = false;
      hasFailed = stage.children.some((planned) => this.#hasFailed(planned));
    }
    return { changes, complete };
  }

  /** @returns whether later stages may follow */
  async #applyStage(course: Course, stage: PlannedStage): Promise<boolean> {
    const { plan, changes } = course;
    const unmatched = stage.children.filter((planned) => !this.#matches(plan, planned));
    const isBlocked = stage.blockedReason !== undefined;
    const wanted = isBlocked ? unmatched.filter((one) => this.#isOrphan(one)) : unmatched;
    if (wanted.length > 0) changes.push(...(await this.#applyAll(course, wanted)));
    if (isBlocked && unmatched.length > 0) return false;
    // A Job may have succeeded while the stage was applied.
    if (stage.children.some(({ taskHash }) => taskHash !== undefined)) {
      await this.props.applier.records.record(plan);
    }
    return this.#isPassed(plan, stage);
  }

  #hasFailed({ id, taskHash }: PlannedChild): boolean {
    const live = this.props.children.get(id);
    return live?.job !== undefined && live.taskHash === taskHash && live.health.state === 'Failed';
  }

  /** Whether a Job of the plan has lost its owner: it gets it back also where it may not run again. */
  #isOrphan({ id, taskHash }: PlannedChild): boolean {
    const live = this.props.children.get(id);
    if (taskHash === undefined || !live || live.deleting) return false;
    return live.taskHash === taskHash && live.controller === undefined;
  }

  async #applyAll(
    { resource, plan, isWritten, changes: before }: Course,
    wanted: readonly PlannedChild[],
  ): Promise<readonly ChangeSetEntry[]> {
    const known = { resource: isWritten, holder: hasCreatedHolder(plan, before) };
    const results = await Promise.allSettled(
      wanted.map((planned) => this.props.applier.apply(resource, plan, planned, known)),
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

  /** Reads a child into the caches. */
  refresh(child: Child): Promise<void> {
    return this.props.applier.refresh(child);
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

/** The children whose state is a part of the resource's: those of advisory stages come and go. */
function lasting(plan: Plan): readonly PlannedChild[] {
  return plannedOf(plan).filter(({ advisory }) => !advisory);
}

function hasCreatedHolder({ holder }: Plan, changes: readonly ChangeSetEntry[]): boolean {
  return changes.some(
    ({ change, kind, name }) =>
      change === 'created' && kind === holder?.kind.kind && name === holder.name,
  );
}
