import { Stalled } from '../../constructs/kit/errors.js';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import type { Resource } from '../../constructs/kit/object.js';
import type { Applier, ChangeSetEntry } from './applier.js';
import type { Child } from '../cache/child.js';
import { digestOf, type ChildCache } from '../cache/child-cache.js';
import type { ReconcileState } from '../reconcile/state.js';
import { plannedOf, type Plan, type PlannedChild, type PlannedStage } from '../reconcile/plan.js';

/** What a round of applying came to. */
export interface Progress {
  readonly changes: ChangeSetEntry[];
  /** Whether every stage was reached and is as it should be. */
  readonly complete: boolean;
}

const NOTHING: Plan = { stages: [], objects: () => new Map() };

const JOB_RETRY_MS = { first: 30_000, most: 600_000 };

/** Brings children to what a plan says: stage by stage, then what is no longer wanted. */
export class ResourceManager {
  constructor(
    private readonly props: {
      readonly children: ChildCache;
      readonly applier: Applier;
      /** Milliseconds since 1970. */
      readonly now: () => number;
    },
  ) {}

  /** After a start: children that are just as the status says they were left need no write. */
  trustAppliedHash(plan: Plan, appliedHash: string | undefined): void {
    const { children } = this.props;
    const planned = plannedOf(plan);
    if (appliedHash === undefined || planned.some(({ id }) => children.applied(id))) return;
    if (this.digest(plan) !== appliedHash) return;
    for (const { id, hash } of planned) children.trustAppliedHash(id, hash);
  }

  /** One hash for what is wanted of the children and what is there of it. */
  digest(plan: Plan): string {
    return digestOf(
      plannedOf(plan).map(({ id, hash }) => {
        const child = this.props.children.get(id);
        return [id, hash, child?.createOnly ?? child?.owned];
      }),
    );
  }

  /** Applies as far as the gates are open. It never waits: the next event leads back here. */
  async apply(resource: Resource, plan: Plan): Promise<Progress> {
    const changes: ChangeSetEntry[] = [];
    for (const stage of plan.stages) {
      const wanted = stage.children.filter((planned) => !this.#matches(planned));
      if (wanted.length > 0) {
        if (stage.blockedReason !== undefined) return { changes, complete: false };
        changes.push(...(await this.#applyAll(resource, plan, wanted)));
      }
      if (!this.#isPassed(stage)) return { changes, complete: false };
    }
    return { changes, complete: true };
  }

  /**
   * Deletes children that are no longer wanted, the last made first. Data is never among them: it goes
   * with its resource, and not with a switch to a server that may not have it.
   * @param unserved kinds that were not known when the plan was made: it cannot tell what of them is surplus
   */
  async prune(
    resource: Resource,
    owner: string,
    plan: Plan,
    unserved: ReadonlySet<ObjectKind> = new Set(),
  ): Promise<ChangeSetEntry[]> {
    const goes = (child: Child) => mayPrune(child, resource) && !unserved.has(child.kind);
    return this.#deleteSurplus(resource, owner, plan, goes);
  }

  /** Deletes what the deletion of a resource does without, also data, but for what is kept. */
  async deleteUnwanted(resource: Resource, owner: string, plan: Plan): Promise<ChangeSetEntry[]> {
    return this.#deleteSurplus(resource, owner, plan, (child) => mayDelete(child, resource));
  }

  /**
   * Deletes the children of a resource that was refused for the names that they have. Data and generated
   * Secrets stay: they may be of an earlier resource of its name.
   */
  async release(resource: Resource, owner: string): Promise<ChangeSetEntry[]> {
    const goes = (child: Child) => mayPrune(child, resource) && !isGenerated(child);
    return this.#deleteSurplus(resource, owner, NOTHING, goes);
  }

  async #deleteSurplus(
    resource: Resource,
    owner: string,
    plan: Plan,
    mayGo: (child: Child) => boolean,
  ): Promise<ChangeSetEntry[]> {
    const wanted = new Set(plannedOf(plan).map(({ id }) => id));
    const others = this.props.children.of(owner).filter(({ id }) => !wanted.has(id));
    const goes = others.some(
      (child) => !child.kind.deletedLast && isWaitedFor(child) && isControlledBy(child, resource),
    );
    const surplus = others
      .filter((child) => mayGo(child) && !(child.kind.deletedLast && goes))
      .reverse();
    for (const child of surplus) await this.props.applier.delete(child);
    return surplus.map(({ kind, name }) => ({ kind: kind.kind, name, change: 'deleted' }));
  }

  /**
   * Lets go of the data that is not in a plan, for a resource that is to leave it: the policy may have
   * changed since it was last applied. Children of a release that did not mark data are kept where they
   * may be some.
   */
  async retain(resource: Resource, owner: string, plan?: Plan): Promise<readonly ChangeSetEntry[]> {
    const { applier, children } = this.props;
    const wanted = new Set(plan && plannedOf(plan).map(({ id }) => id));
    const all = children.of(owner);
    const marked = all.some(({ holdsData }) => holdsData);
    const data = all.filter(
      (child) =>
        !wanted.has(child.id) &&
        isControlledBy(child, resource) &&
        (isData(child) || (!marked && isGenerated(child))),
    );
    for (const child of data) await applier.retain(child);
    return data.map(({ kind, name }) => ({ kind: kind.kind, name, change: 'configured' }));
  }

  /**
   * Makes failed Jobs anew after a while: what they failed on may have been mended meanwhile.
   * @returns milliseconds until the next one is due
   */
  async retryFailedJobs(plan: Plan, { retries }: ReconcileState): Promise<number | undefined> {
    const { applier, children, now } = this.props;
    let next: number | undefined;
    for (const { id, run } of plannedOf(plan)) {
      const child = run === undefined ? undefined : children.get(id);
      if (!child || child.deleting || child.run !== run) continue;
      if (child.health.state === 'Ready') retries.delete(id);
      if (child.failedAt === undefined || child.job?.once) continue;
      const count = retries.get(id) ?? 0;
      const left =
        child.failedAt + Math.min(JOB_RETRY_MS.most, JOB_RETRY_MS.first * 2 ** count) - now();
      if (left > 0) {
        next = Math.min(left, next ?? Infinity);
      } else {
        retries.set(id, count + 1);
        await applier.delete(child);
      }
    }
    return next;
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
    // What the user must mend comes before what passes by itself.
    if (errors.length > 0) throw errors.find((error) => error instanceof Stalled) ?? errors[0];
    return changes;
  }

  #isPassed(stage: PlannedStage): boolean {
    return stage.children.every(
      (planned) =>
        this.#isGoingIdly(planned) ||
        (this.#matches(planned) &&
          (!stage.waitForReady ||
            planned.kind.advisory === true ||
            this.props.children.get(planned.id)?.health.state === 'Ready')),
    );
  }

  /** It comes back when it is gone, which may be never: nothing else waits for it. */
  #isGoingIdly({ id }: PlannedChild): boolean {
    const child = this.props.children.get(id);
    return child !== undefined && !isWaitedFor(child);
  }

  #matches(planned: PlannedChild): boolean {
    return this.props.applier.matches(planned, this.props.children.get(planned.id));
  }
}

/** Whether others wait for the end of a child that goes: what only helps may be stuck for good, its own operator being gone. */
export function isWaitedFor({ kind, deleting }: Child): boolean {
  return !(kind.advisory && deleting);
}

export function isControlledBy({ controller }: Child, resource: Resource): boolean {
  return controller === resource.metadata.uid;
}

/** Whether it is a Secret with values that nobody could make again. */
function isGenerated({ kind, createOnly }: Child): boolean {
  return kind.kind === 'Secret' && createOnly !== undefined;
}

/** Whether a child is marked as data, or is some by its kind. */
function isData({ holdsData, kind }: Child): boolean {
  return holdsData || kind.data !== undefined;
}

/** Whether a child that is no longer wanted is deleted while its resource stays. */
export function mayPrune(child: Child, resource: Resource): boolean {
  return mayDelete(child, resource) && !isData(child);
}

/** What is kept stays, and so does what is not controlled by this very resource: labels can be copied. */
function mayDelete(child: Child, resource: Resource): boolean {
  return !child.retained && !child.deleting && isControlledBy(child, resource);
}
