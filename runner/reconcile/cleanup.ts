import { Stalled, Waiting, textOf } from '../../constructs/kit/errors.js';
import { hashOf } from '../../constructs/kit/json/hash.js';
import type { ClusterReader } from '../../constructs/kit/kind.js';
import type { MetadataKeys } from '../../constructs/kit/metadata-keys.js';
import type { Resource } from '../../constructs/kit/object.js';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import type { AnyKind } from '../../constructs/registry.js';
import { isNamespaceTerminating } from '../api/api-error.js';
import type { ChangeSetEntry } from '../apply/applier.js';
import { blocksOthers, isControlledBy, type Owner } from '../apply/prune.js';
import type { ResourceManager } from '../apply/resource-manager.js';
import { problemsOf } from '../cache/checked.js';
import type { Child } from '../cache/child.js';
import type { ChildCache } from '../cache/child-cache.js';
import type { HealthChecker } from '../health/health-checker.js';
import { plannedOf, type Plan } from '../plan/plan.js';
import type { Planner } from './planner.js';
import { deleting, type Report } from './report.js';
import { doubledMs } from '../kit/backoff.js';
import { earliest } from '../kit/earliest.js';
import type { Finalizer, LiveResources } from './live-resources.js';
import type { ReconcileStates } from '../plan/reconcile-state.js';
import type { Status } from '../plan/resource-status.js';

export interface CleanupProps {
  readonly kind: AnyKind;
  /** The kind as an object of the API. */
  readonly api: ObjectKind;
  readonly metadataKeys: MetadataKeys;
  readonly children: ChildCache;
  readonly resourceManager: ResourceManager;
  readonly healthChecker: HealthChecker;
  readonly finalizer: Finalizer;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Undefined where nothing is read twice, as in unit tests. */
  readonly live?: LiveResources;
}

/** What blocks a deletion, but is not watched, is read again after this. */
const HIDDEN_RETRY_MS = 10_000;

/** What a deletion waits for is read after this, later less often: the watch of it may hang. */
const AWAITED_MS = { first: 5_000, most: 120_000 };

const FINALIZED: Report = { ...deleting('finalizer removed'), finalized: true };

interface CleanupPlan {
  readonly plan: Plan;
  readonly blockedBy?: Waiting;
}

type OwnResource = Resource<unknown, Status>;

/** Brings the deletion of a resource to its end, as `Kind.cleanup` declares it. */
export class CleanupReconciler {
  constructor(
    private readonly props: CleanupProps,
    private readonly planner: Planner,
    private readonly states: ReconcileStates,
  ) {}

  /** One reconcile of a deleted resource: its steps in their order. */
  async reconcile(resource: OwnResource): Promise<Report> {
    const { finalizer, api } = this.props;
    const state = this.states.of(resource);
    if (state.finalizerRemoved || !finalizer.has(resource)) {
      return { ...deleting('waiting for other finalizers'), finalized: true };
    }
    if (!(await this.#isCurrent(resource))) return deleting('waiting for the API server');
    const report = await this.#withoutChildren(resource);
    if (!report.finalized) return report;
    await finalizer.set(api, resource, false);
    state.finalizerRemoved = true;
    return report;
  }

  /** Brings the cleanup to its end. */
  async #withoutChildren(resource: OwnResource): Promise<Report> {
    if (problemsOf(resource).length > 0) return this.#skipped(resource);
    const retained = await this.retainData(resource);
    const blocked = await this.#cleanUp(resource);
    const changes = [...retained, ...(blocked?.changes ?? [])];
    return blocked ? { ...blocked, changes } : { ...FINALIZED, changes };
  }

  /**
   * The end of a cleanup that cannot be done: an invalid resource does not say what to delete, or what
   * was made. It is deleted all the same, its data stays, and an event has the reason.
   */
  async #skipped(resource: OwnResource): Promise<Report> {
    const { kind, resourceManager, children } = this.props;
    const { listsLive } = kind.cleanup;
    const blockedBy = listsLive && (await this.#blockers(resource, (blocker) => blocker));
    if (blockedBy) return waitingFor(blockedBy);
    const owner = this.planner.ownerOf(resource);
    const changes = await resourceManager.pruner.retain(owner);
    const retained = children
      .of(owner.key)
      .filter((child) => child.retained)
      .map((child) => `${child.kind.kind} ${child.name}`);
    const left = retained.length > 0 ? `; retained: ${retained.join(', ')}` : '';
    const message = `the cleanup is skipped, and data stays: ${textOf(problemsOf(resource))}${left}`;
    return { ...FINALIZED, changes, lastWarning: { reason: 'CleanupSkipped', message } };
  }

  /** The present deletion policy decides, also one that was never applied. */
  async retainData(resource: Resource, plan?: Plan): Promise<readonly ChangeSetEntry[]> {
    const { resourceManager, kind } = this.props;
    if (!kind.cleanup.retainsData?.(resource)) return [];
    return resourceManager.pruner.retain(this.planner.ownerOf(resource), plan);
  }

  /** Whether the cached resource says what should become of its data; read once for each version. */
  async #isCurrent(resource: OwnResource): Promise<boolean> {
    const { live } = this.props;
    const state = this.states.of(resource);
    const { generation, annotations } = resource.metadata;
    const version = hashOf([generation, annotations ?? {}]);
    if (!live || state.confirmed === version) return true;
    if (!(await live.isCurrent(resource))) return false;
    state.confirmed = version;
    return true;
  }

  /** @returns what the deletion waits for; undefined if the finalizer may be removed */
  async #cleanUp(resource: OwnResource): Promise<Report | undefined> {
    try {
      const { plan, blockedBy } = await this.#blockers(resource, (blocker, reader) =>
        this.#planOf(resource, reader, blocker),
      );
      if (blockedBy) return await this.#keepChildren(resource, plan, blockedBy);
      if (plan.stages.length === 0) return undefined;
      return await this.#runCleanup(resource, plan);
    } catch (error) {
      if (!isNamespaceTerminating(error)) throw error;
      // No Job can run in a terminating namespace, and all its objects are deleted anyway.
      return { ...FINALIZED, orphaned: this.props.kind.cleanup.leftOutside?.(resource) ?? [] };
    }
  }

  /** What blocks the deletion; `next` goes on from it, by the same reader. */
  async #blockers<T>(
    resource: OwnResource,
    next: (blockedBy: Waiting | undefined, reader: ClusterReader) => T,
  ): Promise<T> {
    const { kind } = this.props;
    const hidden = await this.#hidden(resource);
    return this.planner.read(resource, (reader) => {
      const retryMs = hidden && HIDDEN_RETRY_MS;
      return next(blockersOf(kind, resource, { ...reader, ...hidden }, retryMs), reader);
    });
  }

  /** If nothing blocks the deletion by the caches, what blocks it is read once more. */
  async #hidden(resource: OwnResource): Promise<Pick<ClusterReader, 'names'> | undefined> {
    const { live, kind } = this.props;
    const { listsLive = [] } = kind.cleanup;
    if (!live || listsLive.length === 0) return undefined;
    const isBlocked = this.planner.read(resource, (reader) => blockersOf(kind, resource, reader));
    const { namespace = 'default' } = resource.metadata;
    return isBlocked ? undefined : live.reader(listsLive, namespace);
  }

  /**
   * The plan of the cleanup. While the deletion is blocked, the plan of the children that others need.
   * @throws Waiting if the deletion is blocked and no child is needed, or none can be planned
   */
  #planOf(resource: Resource, reader: ClusterReader, blockedBy: Waiting | undefined): CleanupPlan {
    const { kind } = this.props;
    if (!blockedBy) {
      const { cleanup } = kind;
      const plan = this.planner.planOf(resource, (scope, id) =>
        cleanup.chart(scope, id, resource, reader),
      );
      return { plan };
    }
    const { problems } = this.states.of(resource);
    if (!kind.cleanup.keepsChildren || problems.length > 0) throw blockedBy;
    try {
      return { plan: this.planner.plan(resource, kind.resolve(resource, reader)), blockedBy };
    } catch {
      // What blocks the deletion matters more to the user than what is wrong with the spec.
      throw blockedBy;
    }
  }

  /** Applies the children of a resource whose deletion is blocked: other resources need them. */
  async #keepChildren(resource: OwnResource, plan: Plan, blockedBy: Waiting): Promise<Report> {
    const { resourceManager } = this.props;
    const report = waitingFor(blockedBy);
    resourceManager.trustAppliedHash(plan, resource.status?.appliedHash);
    try {
      const retryMs = await resourceManager.jobRetry.retry(plan, this.states.of(resource));
      const { changes } = await resourceManager.apply(resource, plan);
      return { ...report, changes, requeueAfterMs: earliest(retryMs, blockedBy.retryAfterMs) };
    } catch (error) {
      if (error instanceof Stalled) return { ...report, requeueAfterMs: error.retryAfterMs };
      if (error instanceof Waiting || isNamespaceTerminating(error)) return report;
      return { ...report, error: error instanceof Error ? error : new Error(String(error)) };
    }
  }

  /** Deletes all other children, then applies the plan of the cleanup until it is ready. */
  async #runCleanup(resource: OwnResource, plan: Plan): Promise<Report | undefined> {
    const { resourceManager, live } = this.props;
    // The deletion may have waited for long since it was confirmed, and its policy have changed.
    if (live && !(await live.isCurrent(resource))) return deleting('waiting for the API server');
    const owner = this.planner.ownerOf(resource);
    const changes = await resourceManager.pruner.deleteUnwanted(owner, plan);
    const terminating = this.#terminatingChild(owner, plan);
    if (terminating) {
      const requeueAfterMs = await this.#await(resource, terminating);
      return { ...deleting(this.#waitingForDeletion(terminating)), changes, requeueAfterMs };
    }
    // A later resource of this name must prepare the data again.
    if (this.props.kind.cleanup.retainsData?.(resource)) {
      await resourceManager.forgetRuns(this.planner.holderOf(resource)?.id);
    }
    const retryMs = await resourceManager.jobRetry.retry(plan, this.states.of(resource));
    const progress = await resourceManager.apply(resource, plan);
    changes.push(...progress.changes);
    if (progress.complete) return undefined;
    const running = this.#runningJob(plan);
    const readMs = running && (await this.#await(resource, running));
    const requeueAfterMs = earliest(retryMs, readMs);
    return { ...(await this.#waitingForPlan(resource, plan)), changes, requeueAfterMs };
  }

  #runningJob(plan: Plan): Child | undefined {
    return plannedOf(plan)
      .flatMap(({ id }) => this.props.children.get(id) ?? [])
      .find(({ job, health }) => job && health.state === 'InProgress');
  }

  /**
   * Reads a child that the deletion has waited for for long.
   * @returns milliseconds until it is read next
   */
  async #await(resource: OwnResource, child: Child): Promise<number> {
    const { now, resourceManager } = this.props;
    const state = this.states.of(resource);
    const known = state.awaited?.id === child.id ? state.awaited : undefined;
    if (known && now() < known.dueAt) return known.dueAt - now();
    const reads = known ? known.reads + 1 : 0;
    const afterMs = doubledMs(reads, AWAITED_MS);
    state.awaited = { id: child.id, reads, dueAt: now() + afterMs };
    if (known) await resourceManager.refresh(child);
    return afterMs;
  }

  /** A child outside of the plan that still exists; children with `deletedLast` come last. */
  #terminatingChild({ resource, key }: Owner, plan: Plan): Child | undefined {
    const planned = new Set(plannedOf(plan).map(({ id }) => id));
    const left = this.props.children
      .of(key)
      .filter(
        (child) => !planned.has(child.id) && isControlledBy(child, resource) && blocksOthers(child),
      );
    return left.find(({ kind }) => !kind.deletedLast) ?? left[0];
  }

  #waitingForDeletion({ kind, name, deleting: terminating }: Child): string {
    if (kind.optional !== true || !terminating) {
      return `waiting for ${kind.kind} ${name} to be deleted`;
    }
    // Only the operator of the object can remove its finalizer.
    return `waiting for the operator of ${kind.kind} ${name} to delete it; ${this.#skip}`;
  }

  /** What the cleanup waits for, and how the user can skip it. */
  async #waitingForPlan(resource: Resource, plan: Plan): Promise<Report> {
    const state = this.states.of(resource);
    const [first] = await this.props.healthChecker.pending(plan, state);
    if (!first) return deleting('waiting for the API server');
    const what = `${first.kind} ${first.name}: ${first.health.message}`;
    if (first.health.state !== 'Failed') return deleting(`waiting for ${what}`);
    return deleting(`${what}; ${this.#skip}`, `${first.kind}Failed`);
  }

  get #skip(): string {
    return `to skip this, annotate the resource with ${this.props.metadataKeys.skipDrop}=true`;
  }
}

/** The report of a deletion that waits for other resources. */
function waitingFor({ name, reason, message, more, retryAfterMs }: Waiting): Report {
  const waiting = deleting(message, reason);
  const statusResult = { ...waiting.statusResult, ...more };
  return { ...waiting, statusResult, errorType: name, requeueAfterMs: retryAfterMs };
}

/** What blocks a deletion, if anything does. */
function blockersOf(
  { cleanup }: AnyKind,
  resource: Resource,
  reader: ClusterReader,
  retryAfterMs?: number,
): Waiting | undefined {
  try {
    cleanup.blockers(resource, reader);
    return undefined;
  } catch (error) {
    if (!(error instanceof Waiting)) throw error;
    const { reason, message, more } = error;
    return retryAfterMs === undefined ? error : new Waiting(reason, message, more, retryAfterMs);
  }
}
