import { Stalled, textOf, type Problem } from '../../constructs/kit/errors.js';
import type { ChartProps, JobRun, ProbeResult } from '../../constructs/kit/kind.js';
import { isPaused } from '../../constructs/kit/annotations.js';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import { keyOfObject, namespaceOfKey, type Resource } from '../../constructs/kit/object.js';
import { checked, isOfStatus, problemsOf } from '../cache/checked.js';
import type { ResourceStore } from '../cache/store.js';
import { endedJob } from '../plan/recorded-runs.js';
import { CleanupReconciler, type CleanupProps } from './cleanup.js';
import type { PendingChild } from '../health/health-checker.js';
import type { JobRuns } from '../health/job-runs.js';
import { earliest } from '../kit/earliest.js';
import { plannedOf, type Plan } from '../plan/plan.js';
import { Planner, type PlannerProps } from './planner.js';
import { crdOutdated, paused, reportOf, type Report } from './report.js';
import { ReconcileStates } from '../plan/reconcile-state.js';
import type { Status } from '../plan/resource-status.js';

export interface ReconcilerProps extends PlannerProps, CleanupProps {
  readonly jobRuns: JobRuns;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** The problems that the schema and its rules find in a resource. */
  readonly validate: (resource: Resource) => readonly Problem[];
  /** Why the kind's CRD cannot hold each status; undefined where it can. @default it can */
  readonly crdProblem?: () => string | undefined;
  /** Writes the resource of a key, and takes in the response. */
  readonly write: ResourceStore['write'];
}

/** The health of a plan's children, and when to check it again. */
interface CheckedHealth {
  readonly pending: readonly PendingChild[];
  /** Those of advisory stages. */
  readonly advisory: readonly PendingChild[];
  readonly probes: readonly ProbeResult[];
  readonly ready: boolean;
  readonly againMs: number | undefined;
}

/** Reconciles one resource of a kind with its children. */
export class Reconciler {
  readonly #states: ReconcileStates;
  readonly #planner: Planner;
  readonly #cleanup: CleanupReconciler;

  constructor(private readonly props: ReconcilerProps) {
    this.#states = new ReconcileStates(props.validate);
    this.#planner = new Planner(props, this.#states);
    this.#cleanup = new CleanupReconciler(props, this.#planner, this.#states);
  }

  /**
   * One reconcile, from the cached state to a report. It never waits for the cluster: what it waits
   * for is watched, and enqueues the resource again.
   * @throws unexpected and transient errors, to be retried
   */
  async reconcile(resource: Resource<unknown, Status>, failures: number): Promise<Report> {
    const isDeleted = resource.metadata.deletionTimestamp !== undefined;
    this.#states.of(resource).dueAt = Infinity;
    try {
      if (isPaused(resource)) {
        this.#endProbes(resource);
        return paused(resource);
      }
      if (isDeleted) this.#endProbes(resource);
      const report = isDeleted
        ? await this.#cleanup.reconcile(resource)
        : await this.#reconcileChildren(resource);
      return this.#requeued(resource, report);
    } catch (error) {
      const report = reportOf(error, isDeleted ? 'Deleting' : resource.status?.phase, failures);
      if (!report) throw error;
      // Nothing is checked while the resource waits; after an API error the last result counts.
      if (!report.error) this.#endProbes(resource);
      const losesNames = !isDeleted && error instanceof Stalled && error.losesNames;
      const changes = losesNames
        ? await this.props.resourceManager.pruner.dropForNewOwner(this.#planner.ownerOf(resource))
        : report.changes;
      return this.#requeued(resource, { ...report, changes });
    }
  }

  /**
   * An invalid status may have lost a record of work that was done once.
   * @throws Stalled
   */
  #requireValid(resource: Resource): void {
    const [first] = problemsOf(resource);
    if (first && isOfStatus(first.path)) {
      const advice = 'apply the CRDs of this release, then correct the status';
      throw new Stalled('InvalidStatus', `${textOf(problemsOf(resource))}; ${advice}`);
    }
    const problems = first ? problemsOf(resource) : this.#states.of(resource).problems;
    if (problems.length > 0) throw Stalled.invalid(problems);
  }

  forget(key: string): void {
    const { dependencies, healthChecker } = this.props;
    const dependent = this.#planner.dependentOf(key);
    this.#states.forget(key);
    this.#planner.forget(key);
    dependencies.forget(dependent);
    healthChecker.endProbes(dependent, namespaceOfKey(key));
  }

  #endProbes(resource: Resource): void {
    const { key } = this.#planner.ownerOf(resource);
    this.props.healthChecker.endProbes(key, resource.metadata.namespace ?? '');
  }

  async #reconcileChildren(seen: Resource<unknown, Status>): Promise<Report> {
    const { resourceManager, kind, crdProblem } = this.props;
    this.#requireValid(seen);
    const outdated = crdProblem?.();
    if (outdated !== undefined) return crdOutdated(seen, outdated);
    const resource = await this.#withFinalizer(seen);
    const state = this.#states.of(resource);
    const unserved = this.#planner.unserved();
    const inputs = this.#planner.read(resource, (reader) => kind.resolve(resource, reader));
    const plan = this.#planner.plan(resource, inputs);
    resourceManager.trustAppliedHash(plan, seen.status?.appliedHash);
    const retryMs = await resourceManager.jobRetry.retry(plan, state);
    const { changes, complete } = await resourceManager.apply(resource, plan, resource !== seen);
    if (complete) {
      this.#planner.applied(resource);
      const owner = this.#planner.ownerOf(resource);
      changes.push(...(await this.#cleanup.retainData(resource, plan)));
      const kept = new Set([...unserved, ...this.#keptKinds({ resource, inputs }, plan)]);
      changes.push(...(await resourceManager.pruner.prune(owner, plan, kept)));
    }
    const { pending, advisory, probes, ready, againMs } = await this.#checkHealth(
      { resource, inputs },
      plan,
      complete,
    );
    const statusResult = kind.evaluate({
      resource,
      inputs,
      pending,
      advisory,
      probes,
      complete,
      ready,
      runs: await this.#runsOf({ resource, inputs }, plan),
      child: (childKind, name) => this.props.healthChecker.view(plan, childKind, name),
    });
    return {
      statusResult,
      stalled: statusResult.stalled ?? false,
      changes,
      requeueAfterMs: statusResult.reconcileAgain ? 0 : earliest(retryMs, againMs),
      appliedHash: ready ? resourceManager.digest(plan) : undefined,
      altered: resourceManager.altered(plan),
    };
  }

  async #withFinalizer(resource: Resource): Promise<Resource> {
    const { finalizer, kind, api, write } = this.props;
    const needed = kind.cleanup.needed(resource);
    if (needed === finalizer.has(resource)) return resource;
    const updated = await write(keyOfObject(resource), () => finalizer.set(api, resource, needed));
    if (!updated) throw new Error('the resource no longer exists');
    return checked(kind.definition, updated, resource);
  }

  async #checkHealth(
    chart: ChartProps<Resource, unknown>,
    plan: Plan,
    complete: boolean,
  ): Promise<CheckedHealth> {
    const { healthChecker, kind } = this.props;
    const state = this.#states.of(chart.resource);
    const notReady = await healthChecker.pending(plan, state);
    const advisory = notReady.filter((child) => child.advisory);
    const pending = notReady.filter((child) => !child.advisory);
    const settled = complete && pending.length === 0;
    const owner = this.#planner.ownerOf(chart.resource);
    const probes = healthChecker.probe(owner, settled ? kind.probes(chart) : [], state);
    return {
      pending,
      advisory,
      probes,
      ready: settled && probes.every(({ ok, advisory }) => ok || advisory),
      againMs: earliest(
        healthChecker.untilUnobserved(plan),
        complete && notReady.length === 0 ? undefined : healthChecker.untilDiagnosis(state),
      ),
    };
  }

  #keptKinds(chart: ChartProps<Resource, unknown>, plan: Plan): readonly ObjectKind[] {
    const { kind, healthChecker } = this.props;
    const child = (childKind: string, name: string) => healthChecker.view(plan, childKind, name);
    return kind.kept?.({ ...chart, child }) ?? [];
  }

  async #runsOf(chart: ChartProps<Resource, unknown>, plan: Plan): Promise<readonly JobRun[]> {
    const { kind, jobRuns, children } = this.props;
    if (!kind.readsRuns?.(chart)) return [];
    const ended = plannedOf(plan).flatMap((planned) => endedJob(children, plan, planned) ?? []);
    return jobRuns.of([...children.of(this.#planner.ownerOf(chart.resource).key), ...ended]);
  }

  /** The report, requeued at the latest when the first point in time passes that was read. */
  #requeued(resource: Resource, report: Report): Report {
    const { dueAt } = this.#states.of(resource);
    if (dueAt === Infinity) return report;
    const requeueAfterMs = earliest(report.requeueAfterMs, Math.max(1, dueAt - this.props.now()));
    return { ...report, requeueAfterMs };
  }
}
