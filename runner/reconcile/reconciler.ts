import { Stalled, Waiting, type Problem } from '../../constructs/kit/errors.js';
import { hashOf } from '../../constructs/kit/hash.js';
import type { JobRun, ClusterReader } from '../../constructs/kit/kind.js';
import { isPaused, type MetadataKeys } from '../../constructs/kit/labels.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import { isNamespaceTerminating } from '../api/api-error.js';
import type { AnyKind } from '../../constructs/registry.js';
import type { Child } from '../cache/child.js';
import type { ChildCache } from '../cache/child-cache.js';
import type { ChangeSetEntry } from '../apply/applier.js';
import { isControlledBy, isWaitedFor, type ResourceManager } from '../apply/resource-manager.js';
import type { Finalizer } from './finalizer.js';
import { keyOfResource, ReconcileStates, type ReconcileState } from './state.js';
import type { HealthChecker } from '../health/health-checker.js';
import { planOf, plannedOf, type Plan } from './plan.js';
import { deleting, paused, reportOf, type Report } from './report.js';
import type { Runs } from '../health/job-runs.js';
import type { Status } from './status.js';
import type { DependencyTracker } from '../cache/dependencies.js';

export interface ReconcilerProps {
  readonly kind: AnyKind;
  /** The kind as an object of the API. */
  readonly api: ObjectKind;
  /** The kinds of children, by `<apiVersion>/<kind>`. */
  readonly kinds: ReadonlyMap<string, ObjectKind>;
  readonly metadataKeys: MetadataKeys;
  readonly dependencies: DependencyTracker;
  readonly children: ChildCache;
  readonly resourceManager: ResourceManager;
  readonly healthChecker: HealthChecker;
  readonly finalizer: Finalizer;
  readonly runs: Runs;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** What the schema and its rules have against a resource. */
  readonly validate: (resource: Resource) => readonly Problem[];
  /** Takes in a resource as the server answered it. */
  readonly remember: (resource: KubeObject) => void;
}

/** Brings one resource of a kind, and what it owns, to what it should be. */
export class Reconciler {
  readonly #states: ReconcileStates;

  constructor(private readonly props: ReconcilerProps) {
    this.#states = new ReconcileStates(props.validate);
  }

  /**
   * One visit, from what is seen to what is to be said of it. It never waits for the cluster: what it
   * waits for is watched, and leads to the next visit.
   * @throws what nobody expected and what passes by itself, to be tried again
   */
  async reconcile(resource: Resource<unknown, Status>, failures: number): Promise<Report> {
    const goes = resource.metadata.deletionTimestamp !== undefined;
    this.#states.of(resource).dueAt = Infinity;
    try {
      if (isPaused(resource)) return paused(resource);
      return this.#inTime(resource, await this.#pass(resource, goes));
    } catch (error) {
      const report = reportOf(error, goes ? 'Deleting' : resource.status?.phase, failures);
      if (!report) throw error;
      const releasesNames = !goes && error instanceof Stalled && error.releasesNames;
      const changes = releasesNames
        ? await this.props.resourceManager.release(resource, this.#dependentOf(resource))
        : report.changes;
      return this.#inTime(resource, { ...report, changes });
    }
  }

  #pass(resource: Resource<unknown, Status>, goes: boolean): Promise<Report> {
    return goes ? this.#remove(resource) : this.#reconcileChildren(resource);
  }

  /** The report, with the next visit not later than the time that its facts have asked about. */
  #inTime(resource: Resource, report: Report): Report {
    const { dueAt } = this.#states.of(resource);
    if (dueAt === Infinity) return report;
    const requeueAfterMs = earliest(report.requeueAfterMs, Math.max(1, dueAt - this.props.now()));
    return { ...report, requeueAfterMs };
  }

  forget(key: string): void {
    this.#states.forget(key);
    this.props.dependencies.forget(this.#dependentOfKey(key));
  }

  async #reconcileChildren(seen: Resource<unknown, Status>): Promise<Report> {
    const { resourceManager, healthChecker, kind } = this.props;
    const resource = await this.#finalized(seen);
    const memory = this.#states.of(resource);
    if (memory.problems.length > 0) throw Stalled.invalid(memory.problems);
    const unserved = this.#unserved();
    const inputs = this.#read(resource, (reader) => kind.resolve(resource, reader));
    const plan = this.#plan(resource, inputs, memory);
    resourceManager.trustAppliedHash(plan, seen.status?.appliedHash);
    const retryMs = await resourceManager.retryFailedJobs(plan, memory);
    const { changes, complete } = await resourceManager.apply(resource, plan);
    if (complete) {
      changes.push(...(await this.#retain(resource, plan)));
      changes.push(
        ...(await resourceManager.prune(resource, this.#dependentOf(resource), plan, unserved)),
      );
    }
    const pending = await healthChecker.pending(plan, memory);
    const settled = complete && pending.length === 0;
    const probes = settled ? kind.probes({ resource, inputs }) : [];
    const { results, againMs } = await healthChecker.probe(probes, memory);
    const ready = settled && results.every(({ ok }) => ok);
    const child = (childKind: string, name: string) => healthChecker.view(plan, childKind, name);
    const statusResult = kind.evaluate({
      resource,
      inputs,
      pending,
      runs: kind.readsRuns?.(resource) ? await this.#runs(resource) : [],
      probes: results,
      complete,
      ready,
      child,
    });
    const later = earliest(
      earliest(retryMs, healthChecker.silence(plan)),
      settled ? againMs : healthChecker.patience(memory),
    );
    return {
      statusResult,
      stalled: statusResult.stalled ?? false,
      changes,
      requeueAfterMs: statusResult.reconcileAgain ? 0 : later,
      appliedHash: ready ? resourceManager.digest(plan) : undefined,
    };
  }

  /** The policy counts as it is in the spec, also where that was never applied. */
  async #retain(resource: Resource, plan?: Plan): Promise<readonly ChangeSetEntry[]> {
    const { resourceManager, kind } = this.props;
    if (!kind.cleanup.retainsData?.(resource)) return [];
    return resourceManager.retain(resource, this.#dependentOf(resource), plan);
  }

  /** The kinds that a plan of now does without, since the cluster does not serve them, or not yet. */
  #unserved(): ReadonlySet<ObjectKind> {
    const { kinds, dependencies } = this.props;
    return new Set(
      [...kinds.values()].filter((kind) => kind.optional && !dependencies.serves(kind)),
    );
  }

  #runs(resource: Resource): Promise<readonly JobRun[]> {
    const { runs, children } = this.props;
    return runs.of(children.of(this.#dependentOf(resource)));
  }

  async #remove(resource: Resource<unknown, Status>): Promise<Report> {
    const { finalizer, api } = this.props;
    const memory = this.#states.of(resource);
    if (memory.released || !finalizer.has(resource)) {
      return { ...deleting('waiting for other finalizers'), finalized: true };
    }
    // Before anything is removed.
    const changes = await this.#retain(resource);
    let report: Report | undefined;
    try {
      report = await this.#cleanUp(resource);
    } catch (error) {
      // No Job can run there any more, and whoever deletes a namespace deletes what is in it.
      if (!isNamespaceTerminating(error)) throw error;
    }
    if (report) return { ...report, changes: [...changes, ...report.changes] };
    await finalizer.set(api, resource, false);
    memory.released = true;
    return { ...deleting('gone'), changes, finalized: true };
  }

  /** @returns what the deletion waits for; undefined when all that has to happen before has happened */
  async #cleanUp(resource: Resource<unknown, Status>): Promise<Report | undefined> {
    const { children, resourceManager } = this.props;
    const { plan, blocked } = this.#read(resource, (reader) => this.#cleanupPlan(resource, reader));
    if (blocked) return this.#applyWhileBlocked(resource, plan, blocked);
    if (plan.stages.length === 0) return undefined;
    const owner = this.#dependentOf(resource);
    const changes = await resourceManager.deleteUnwanted(resource, owner, plan);
    const wanted = new Set(plannedOf(plan).map(({ id }) => id));
    const left = children
      .of(owner)
      .filter(
        (child) => !wanted.has(child.id) && isControlledBy(child, resource) && isWaitedFor(child),
      );
    const rest = left.find(({ kind }) => !kind.deletedLast) ?? left[0];
    if (rest) return { ...deleting(this.#waitingToGo(rest)), changes };
    const memory = this.#states.of(resource);
    const requeueAfterMs = await resourceManager.retryFailedJobs(plan, memory);
    const progress = await resourceManager.apply(resource, plan);
    changes.push(...progress.changes);
    if (progress.complete) return undefined;
    return { ...(await this.#waitingFor(plan, memory)), changes, requeueAfterMs };
  }

  /** The tree of a deletion, or until that may begin the one that others still need. */
  #cleanupPlan(
    resource: Resource,
    reader: ClusterReader,
  ): { readonly plan: Plan; readonly blocked?: Waiting | undefined } {
    const { kind } = this.props;
    const { cleanup } = kind;
    try {
      cleanup.blockers(resource, reader);
    } catch (error) {
      const memory = this.#states.of(resource);
      const upheld =
        error instanceof Waiting && cleanup.keepsChildren && memory.problems.length === 0;
      if (!upheld) throw error;
      try {
        const plan = this.#plan(resource, kind.resolve(resource, reader), memory);
        return { plan, blocked: error };
      } catch {
        // What it waits for matters more now than what is wrong with it.
        throw error;
      }
    }
    return {
      plan: this.#planOf(resource, (scope, id) => cleanup.chart(scope, id, resource, reader)),
    };
  }

  /** Keeps the children of a resource as they should be while others hold up its deletion. */
  async #applyWhileBlocked(
    resource: Resource<unknown, Status>,
    plan: Plan,
    blocked: Waiting,
  ): Promise<Report> {
    const { resourceManager } = this.props;
    const waiting = deleting(blocked.message, blocked.reason);
    const report: Report = {
      ...waiting,
      statusResult: { ...waiting.statusResult, ...blocked.more },
      errorType: blocked.name,
    };
    resourceManager.trustAppliedHash(plan, resource.status?.appliedHash);
    try {
      const memory = this.#states.of(resource);
      const requeueAfterMs = await resourceManager.retryFailedJobs(plan, memory);
      const { changes } = await resourceManager.apply(resource, plan);
      return { ...report, changes, requeueAfterMs };
    } catch (error) {
      if (error instanceof Stalled) return { ...report, requeueAfterMs: error.retryAfterMs };
      if (error instanceof Waiting || isNamespaceTerminating(error)) return report;
      return { ...report, error: error instanceof Error ? error : new Error(String(error)) };
    }
  }

  /** Objects of other operators go when those have done their part, and never without them. */
  #waitingToGo({ kind, name, deleting: goes }: Child): string {
    const waiting = `waiting for ${kind.kind} ${name} to go`;
    if (!kind.optional || kind.advisory || !goes) return waiting;
    return `${waiting}, which takes its own operator; the annotation ${this.props.metadataKeys.skipDrop}=true lets this go without`;
  }

  /** What a deletion waits for, and how it can be had without. */
  async #waitingFor(plan: Plan, memory: ReconcileState): Promise<Report> {
    const [first] = await this.props.healthChecker.pending(plan, memory);
    if (!first) return deleting('waiting for the API server');
    const what = `${first.kind} ${first.name}: ${first.health.message}`;
    if (first.health.state !== 'Failed') return deleting(`waiting for ${what}`);
    const release = `the annotation ${this.props.metadataKeys.skipDrop}=true lets it go without`;
    return deleting(`${what}; ${release}`, `${first.kind}Failed`);
  }

  async #finalized(resource: Resource): Promise<Resource> {
    const { finalizer, kind, api, remember } = this.props;
    const needed = kind.cleanup.needed(resource);
    if (needed === finalizer.has(resource)) return resource;
    const now = await finalizer.set(api, resource, needed);
    if (!now) throw new Error('the resource is gone');
    remember(now);
    return now as Resource;
  }

  /** Reads from the world; what is read, also by a read that throws, wakes the resource when it changes. */
  #read<T>(resource: Resource, read: (reader: ClusterReader) => T): T {
    const track = this.props.dependencies.track(this.#dependentOf(resource));
    try {
      return read(track.reader);
    } finally {
      this.#states.of(resource).dueAt = track.commit();
    }
  }

  /** Synthesizes, unless neither the spec nor the facts have changed since the last time. */
  #plan(resource: Resource, inputs: unknown, memory: ReconcileState): Plan {
    const key = hashOf([resource.metadata.uid, resource.metadata.generation, inputs]);
    if (memory.plan?.key !== key) {
      const { kind } = this.props;
      const plan = this.#planOf(resource, (scope, id) =>
        kind.chart(scope, id, { resource, inputs }),
      );
      memory.plan = { key, plan };
    }
    return memory.plan.plan;
  }

  #planOf(resource: Resource, build: Parameters<typeof planOf>[3]): Plan {
    return planOf(resource, this.props.kinds, this.props.metadataKeys, build);
  }

  #dependentOf(resource: Resource): string {
    return this.#dependentOfKey(keyOfResource(resource));
  }

  #dependentOfKey(key: string): string {
    return `${this.props.kind.definition.kind}/${key}`;
  }
}

function earliest(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.min(a, b);
}
