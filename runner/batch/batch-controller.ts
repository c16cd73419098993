import type { Batch, BatchProgress } from '../../constructs/kit/batch.js';
import type { ClusterReader } from '../../constructs/kit/kind.js';
import { isPaused } from '../../constructs/kit/annotations.js';
import type { MetadataKeys } from '../../constructs/kit/metadata-keys.js';
import { joined, type KubeObject, type Resource } from '../../constructs/kit/object.js';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import type { Applier } from '../apply/applier.js';
import type { ResourceManager } from '../apply/resource-manager.js';
import { doubledMs } from '../kit/backoff.js';
import type { BatchObjects } from '../cache/batch-objects.js';
import type { Child } from '../cache/child.js';
import type { ChildCache } from '../cache/child-cache.js';
import type { DependencyTracker, Urgency } from '../cache/dependencies.js';
import { meteredQueue, type WorkQueue } from '../queue/workqueue.js';
import type { JobRuns } from '../health/job-runs.js';
import type { PodDiagnostics } from '../health/pod-diagnostics.js';
import { planOf, plannedOf } from '../plan/plan.js';
import { errorTypeOf, reportOf } from '../reconcile/report.js';
import type { Logger } from '../telemetry/log.js';
import type { OperatorMetrics } from '../telemetry/metrics.js';
import { FailureIsolation } from './failure-isolation.js';

export interface BatchControllerProps {
  readonly batch: Batch;
  readonly kinds: ReadonlyMap<string, ObjectKind>;
  readonly metadataKeys: MetadataKeys;
  readonly dependencies: DependencyTracker;
  readonly children: ChildCache;
  readonly resourceManager: ResourceManager;
  readonly applier: Applier;
  readonly jobRuns: JobRuns;
  readonly podDiagnostics: PodDiagnostics;
  readonly batchObjects: BatchObjects;
  readonly metrics: OperatorMetrics;
  readonly log: Logger;
  readonly concurrency: number;
  /** Milliseconds, monotonic. */
  readonly monotonic: () => number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly random: () => number;
}

/** Requests within `pause` of each other share a Job; the first one waits `most` at the longest. */
const COLLECT_MS = { pause: 150, most: 2_000 };
/** A Job that runs for this long is diagnosed, and again after the other time. */
const DIAGNOSE_MS = { first: 8_000, again: 30_000 };
const RETRY_MS = { first: 10_000, most: 600_000 };

/** What is kept of an owner between two reconciles. It saves work and may be lost. */
interface BatchState {
  /** The Job whose results were published. */
  publishedJob?: string;
  /** Jobs that failed in a row. Each halves the next one, until a bad request fails alone. */
  failures: number;
  /** Of the requests whose Jobs failed. @default none has failed */
  failureIsolation?: FailureIsolation<KubeObject>;
  /** The requests of the last Job. */
  lastJob?: { readonly taskHash: string | undefined; readonly requests: readonly KubeObject[] };
  /** The requests that are being collected, and since when. */
  collecting?: { readonly count: number; readonly since: number };
}

/** An owner in one reconcile. */
interface BatchOwner {
  readonly resource: Resource;
  readonly key: string;
  readonly state: BatchState;
}

/** The owner is blocked by its last Job. */
interface Blocked {
  /** Milliseconds until the next reconcile, if no watched change would cause it. */
  readonly againMs: number | undefined;
}

/** Runs one `Batch`: one Job of an owner at a time, from requests to results. */
export class BatchController {
  readonly queue: WorkQueue;
  readonly #states = new Map<string, BatchState>();

  constructor(private readonly props: BatchControllerProps) {
    this.queue = meteredQueue(this.name, props.metrics, props, {
      work: (key) => this.#work(key),
    });
  }

  get name(): string {
    return this.props.batch.name;
  }

  /** Adds the keys of all owners. */
  enqueueAll(): void {
    const { batch, dependencies } = this.props;
    for (const key of dependencies.objects(batch.owner).keys()) this.queue.add(key);
  }

  enqueue(key: string, urgency: Urgency, cause: string): void {
    if (this.#isIdle(key)) return;
    if (urgency === 'soon') this.queue.addAfter(key, COLLECT_MS.pause, cause);
    else this.queue.add(key, cause);
  }

  /** Whether an owner has neither requests nor a Job: its first request enqueues it. */
  #isIdle(key: string): boolean {
    const { dependencies, batch } = this.props;
    const owner = dependencies.objects(batch.owner).get(key);
    if (!owner || owner.metadata.deletionTimestamp) return false;
    return this.#requestNames(key).size === 0 && this.#jobOf(key) === undefined;
  }

  async #work(key: string): Promise<void> {
    const { metrics, monotonic, log } = this.props;
    const started = monotonic();
    let result: 'success' | 'error' = 'error';
    try {
      const againMs = await this.#reconcile(key);
      if (againMs !== undefined) this.queue.addAfter(key, againMs);
      result = 'success';
    } catch (error) {
      metrics.errors.inc({ controller: this.name, error_type: errorTypeOf(error) });
      log.error('batch reconciliation failed', { controller: this.name, key, error });
      throw error;
    } finally {
      metrics.duration.observe({ controller: this.name, result }, (monotonic() - started) / 1000);
    }
  }

  /** @returns milliseconds until the next reconcile, if no watched change would cause it */
  async #reconcile(key: string): Promise<number | undefined> {
    const { dependencies, batch } = this.props;
    const resource = dependencies.objects(batch.owner).get(key) as Resource | undefined;
    if (!resource || resource.metadata.deletionTimestamp) {
      this.#forget(key);
      return undefined;
    }
    const owner = { resource, key, state: this.#stateOf(key) };
    try {
      return await this.#reconcileOwner(owner);
    } catch (error) {
      const report = reportOf(error, undefined, this.queue.failures(key));
      const { reason, message } = report?.statusResult.ready ?? {};
      if (reason !== undefined) this.#reportProgress(owner, reason, message ?? '');
      if (!report || report.error) throw error;
      return report.requeueAfterMs;
    }
  }

  #stateOf(key: string): BatchState {
    const state = this.#states.get(key) ?? { failures: 0 };
    this.#states.set(key, state);
    return state;
  }

  async #reconcileOwner(owner: BatchOwner): Promise<number | undefined> {
    const { resource, key, state } = owner;
    const job = this.#jobOf(key);
    const requested = this.#requestNames(key);
    // Without a request, the results of an ended Job are not needed.
    const needed = requested.size > 0 || job?.health.state === 'InProgress';
    if (job && job.uid !== state.publishedJob && needed && !isPaused(resource)) {
      const blocked = await this.#followJob(owner, job);
      if (blocked) return blocked.againMs;
    }
    return this.#startJob(owner, job);
  }

  /** @returns undefined if the next Job may start */
  async #followJob(owner: BatchOwner, job: Child): Promise<Blocked | undefined> {
    if (job.deleting) return { againMs: undefined };
    switch (job.health.state) {
      case 'Ready':
        return this.#followSucceeded(owner, job);
      case 'Failed': {
        const { why } = await this.props.podDiagnostics.explain(job);
        return this.#followFailed(owner, job, why ?? job.health.message);
      }
      default:
        return this.#followRunning(owner, job);
    }
  }

  async #followSucceeded(owner: BatchOwner, job: Child): Promise<Blocked | undefined> {
    const ended = await this.props.jobRuns.ended(job);
    const results = this.#resultsOf(ended?.message, job);
    if (results.length === 0) {
      return this.#followFailed(owner, job, 'termination message is missing or has no results');
    }
    owner.state.failureIsolation?.done(requestsOf(job, owner.state));
    this.#publish(owner, job, results);
    return undefined;
  }

  async #followRunning(owner: BatchOwner, job: Child): Promise<Blocked> {
    const { podDiagnostics, now } = this.props;
    const { startTime } = job.job ?? {};
    const age = startTime === undefined ? 0 : now() - Date.parse(startTime);
    if (age < DIAGNOSE_MS.first) return { againMs: DIAGNOSE_MS.first - age };
    const { why, againMs = DIAGNOSE_MS.again } = await podDiagnostics.explain(job);
    if (why) this.#reportProgress(owner, 'JobWaiting', `Job ${job.name}: ${why}`);
    return { againMs };
  }

  /**
   * After a backoff, a failed Job is deleted, so that it is created again, perhaps with fewer
   * requests. Other requests do not wait for one that failed alone.
   */
  async #followFailed(owner: BatchOwner, job: Child, why: string): Promise<Blocked | undefined> {
    const { applier, batch, now } = this.props;
    const { state } = owner;
    const backoff = doubledMs(state.failures, RETRY_MS);
    const { completionTime } = job.job ?? {};
    // The Job controller reports the failure before its time.
    if (completionTime === undefined) return { againMs: undefined };
    const closed = batch.closed(why);
    const requests = closed ? [] : requestsOf(job, state);
    state.failureIsolation ??= new FailureIsolation((request) => batch.subject(request));
    const toBlame = state.failureIsolation.failed(requests);
    const [alone, ...more] = requests;
    if (alone && more.length === 0) {
      const result = toBlame ? batch.failed(alone, why, completionTime) : undefined;
      if (result) {
        this.#publish(owner, job, [result]);
        return undefined;
      }
      if (this.#hasOthers(owner)) {
        state.failures = 0;
        await applier.delete(job);
        return { againMs: undefined };
      }
    }
    const left = Date.parse(completionTime) + backoff - now();
    if (left > 0) {
      this.#reportProgress(owner, 'JobFailed', `Job ${job.name}: ${why}`);
      return { againMs: left };
    }
    if (!closed) state.failures += 1;
    await applier.delete(job);
    return { againMs: undefined };
  }

  /** Whether there are open requests that have not failed alone. */
  #hasOthers({ key, state }: BatchOwner): boolean {
    const open = this.#openRequests(key, this.props.dependencies.track('').reader);
    return (state.failureIsolation?.others(open) ?? open).length > 0;
  }

  /** Publishes the results of a Job. */
  #publish({ key, state }: BatchOwner, job: Child, results: readonly KubeObject[]): void {
    state.publishedJob = job.uid;
    state.failures = 0;
    // Earlier results may not have been read yet.
    const requested = this.#requestNames(key);
    const unread = this.#published(key).filter(({ metadata }) => requested.has(metadata.name));
    this.#setObjects(key, [...unread, ...results]);
  }

  /** The results in a Job's termination message; none if it cannot be read: its requests are retried. */
  #resultsOf(message: string | undefined, job: Child): readonly KubeObject[] {
    const { batch, now, log } = this.props;
    const time = job.job?.completionTime ?? new Date(now()).toISOString();
    try {
      return message === undefined ? [] : batch.results(message, time, job.namespace);
    } catch (error) {
      log.warn('batch results cannot be read', { job: job.name, error });
      return [];
    }
  }

  /**
   * Creates the next Job, if there are open requests.
   * @returns milliseconds to wait while more requests arrive
   */
  async #startJob(owner: BatchOwner, job: Child | undefined): Promise<number | undefined> {
    const { batch, dependencies, now } = this.props;
    const { resource, key, state } = owner;
    const track = dependencies.track(this.#dependentOf(key));
    try {
      const open = this.#openRequests(key, track.reader);
      if (open.length === 0) {
        delete state.collecting;
        // No request waits: the progress object is removed.
        this.#setObjects(key, this.#published(key));
        return undefined;
      }
      if (this.#isCollecting(state, open.length)) return COLLECT_MS.pause;
      const inputs = batch.resolve(resource, track.reader);
      const requests = this.#nextRequests(state, open);
      const [first, ...rest] = requests;
      const time = new Date(now()).toISOString();
      const unfit = first && rest.length === 0 ? batch.unfit(first, time) : undefined;
      if (unfit) {
        this.#setObjects(key, [...this.#published(key), unfit]);
        return 0;
      }
      await this.#applyJob(owner, job, { inputs, requests });
    } finally {
      track.commit();
    }
    return undefined;
  }

  /** Whether more requests are arriving, and the first one has not waited too long. */
  #isCollecting(state: BatchState, open: number): boolean {
    const { batch, monotonic } = this.props;
    const { count = 0, since = monotonic() } = state.collecting ?? {};
    const more = open > count && count < batch.size;
    if (more && monotonic() - since < COLLECT_MS.most) {
      state.collecting = { count: open, since };
      return true;
    }
    delete state.collecting;
    return false;
  }

  #nextRequests(
    { failureIsolation, failures }: BatchState,
    open: readonly KubeObject[],
  ): readonly KubeObject[] {
    const { batch } = this.props;
    const next = failureIsolation?.next(open) ?? open;
    const most = Math.max(1, Math.min(batch.size, next.length) / 2 ** failures);
    return batch.take(next.slice(0, most));
  }

  async #applyJob(
    { resource, key, state }: BatchOwner,
    job: Child | undefined,
    props: { readonly inputs: unknown; readonly requests: readonly KubeObject[] },
  ): Promise<void> {
    const { applier, batch, kinds, metadataKeys, resourceManager, log } = this.props;
    const plan = planOf(resource, { kinds, metadataKeys }, (scope, id) =>
      batch.chart(scope, id, { resource, ...props }),
    );
    const planned = plannedOf(plan).find(({ taskHash }) => taskHash !== undefined);
    state.lastJob = { taskHash: planned?.taskHash, requests: props.requests };
    const { changes } = await resourceManager.apply(resource, plan);
    this.#setObjects(key, this.#published(key));
    if (changes.some(({ change }) => change !== 'unchanged')) {
      const { namespace, name } = resource.metadata;
      log.info('batch applied', {
        controller: this.name,
        namespace,
        name,
        size: props.requests.length,
      });
    } else if (job) {
      // The same Job has run before, and its results are lost.
      await applier.delete(job);
    }
  }

  #jobOf(key: string): Child | undefined {
    return this.props.children.of(this.#dependentOf(key)).find(({ job }) => job !== undefined);
  }

  /** The requests without a published result. */
  #openRequests(key: string, reader: ClusterReader): readonly KubeObject[] {
    const done = new Set(this.#published(key).map(({ metadata }) => metadata.name));
    return reader
      .list(this.props.batch.requests, key, (request) => request)
      .filter(({ metadata }) => !done.has(metadata.name));
  }

  /** The names of the present requests; their changes enqueue the owner from now on. */
  #requestNames(key: string): ReadonlySet<string> {
    const { dependencies, batch } = this.props;
    const { reader, commit } = dependencies.track(this.#dependentOf(key));
    const names = reader.list(batch.requests, key, ({ metadata }) => metadata.name);
    commit();
    return new Set(names);
  }

  /** The results that are published now. */
  #published(key: string): readonly KubeObject[] {
    const { batchObjects, batch } = this.props;
    return batchObjects.of(this.#dependentOf(key)).filter(({ kind }) => kind !== batch.progress);
  }

  /** Replaces the results and the progress of an owner. */
  #setObjects(key: string, objects: readonly KubeObject[]): void {
    this.props.batchObjects.set(this.#dependentOf(key), objects);
  }

  /** Publishes why there is no progress, beside the results. */
  #reportProgress(owner: BatchOwner, reason: string, message: string): void {
    const { namespace = '', name } = owner.resource.metadata;
    const progress: BatchProgress = {
      apiVersion: '',
      kind: this.props.batch.progress,
      metadata: { namespace, name },
      reason,
      message,
    };
    this.#setObjects(owner.key, [...this.#published(owner.key), progress]);
  }

  #forget(key: string): void {
    this.#states.delete(key);
    this.#setObjects(key, []);
    this.props.dependencies.forget(this.#dependentOf(key));
    this.queue.forget(key);
  }

  #dependentOf(key: string): string {
    return joined(this.name, key);
  }
}

/** The requests of a Job; none if they are unknown. */
function requestsOf({ taskHash }: Child, { lastJob }: BatchState): readonly KubeObject[] {
  return lastJob && lastJob.taskHash === taskHash ? lastJob.requests : [];
}
