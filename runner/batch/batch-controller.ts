import type { Batch, BatchProgress } from '../../constructs/kit/batch.js';
import type { ClusterReader } from '../../constructs/kit/kind.js';
import { isPaused, type MetadataKeys } from '../../constructs/kit/labels.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import type { Child } from '../cache/child.js';
import type { ChildCache } from '../cache/child-cache.js';
import type { BatchObjects } from '../cache/batch-objects.js';
import type { DependencyTracker } from '../cache/dependencies.js';
import type { Logger } from '../telemetry/log.js';
import { meteredQueue } from '../controller/workqueue.js';
import type { OperatorMetrics } from '../telemetry/metrics.js';
import type { Applier } from '../apply/applier.js';
import type { ResourceManager } from '../apply/resource-manager.js';
import type { PodDiagnostics } from '../health/pod-diagnostics.js';
import { planOf, plannedOf } from '../reconcile/plan.js';
import { errorTypeOf, reportOf } from '../reconcile/report.js';
import type { Runs } from '../health/job-runs.js';
import { FailureIsolation } from './failure-isolation.js';
import type { WorkQueue } from '../controller/workqueue.js';

export interface BatchControllerProps {
  readonly batch: Batch;
  readonly kinds: ReadonlyMap<string, ObjectKind>;
  readonly metadataKeys: MetadataKeys;
  readonly dependencies: DependencyTracker;
  readonly children: ChildCache;
  readonly resourceManager: ResourceManager;
  readonly applier: Applier;
  readonly runs: Runs;
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

/** Requests that come within this time of each other go together, as long as that takes no longer than the second. */
const COLLECT_MS = { pause: 150, most: 2_000 };
/** A Job that runs for this long is looked into, and again after it. */
const PATIENCE_MS = 30_000;
const RETRY_MS = { first: 10_000, most: 600_000 };

/** What is known of an owner between two visits. All of it can be lost: it only saves work. */
interface BatchState {
  /** The Job whose last words were spread. */
  spread?: string;
  /** Jobs that failed in a row: each halves the next one, so that what breaks a Job breaks it alone at last. */
  failures: number;
  readonly failureIsolation: FailureIsolation<KubeObject>;
  /** What the last Job was made for. */
  made?: { readonly run: string | undefined; readonly requests: readonly KubeObject[] };
  /** The requests that were seen to come, and since when. */
  collecting?: { readonly count: number; readonly since: number };
}

/** The work on one `Batch`: one Job of an owner at a time, from requests to results. */
export class BatchController {
  readonly queue: WorkQueue;
  readonly #states = new Map<string, BatchState>();

  constructor(private readonly props: BatchControllerProps) {
    this.queue = meteredQueue(this.name, props.metrics, props, (key) => this.#work(key));
  }

  get name(): string {
    return this.props.batch.name;
  }

  enqueue(key: string, urgency: 'now' | 'soon'): void {
    if (urgency === 'now') this.queue.add(key);
    else this.queue.addAfter(key, COLLECT_MS.pause);
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
      metrics.failed(this.name, errorTypeOf(error));
      log.error('batch failed', { controller: this.name, key, error });
      throw error;
    } finally {
      metrics.reconciled(this.name, result, (monotonic() - started) / 1000);
    }
  }

  /** @returns milliseconds until the next visit, where nothing that is watched would cause it */
  async #reconcile(key: string): Promise<number | undefined> {
    const { dependencies, batch } = this.props;
    const owner = dependencies.objects(batch.owner).get(key) as Resource | undefined;
    if (!owner || owner.metadata.deletionTimestamp) {
      this.#forget(key);
      return undefined;
    }
    try {
      return await this.#advance(owner, key);
    } catch (error) {
      const report = reportOf(error, undefined, this.queue.failures(key));
      const { reason, message } = report?.statusResult.ready ?? {};
      if (reason !== undefined) this.#reportProgress(owner, key, reason, message ?? '');
      if (!report || report.error) throw error;
      return report.requeueAfterMs;
    }
  }

  async #advance(owner: Resource, key: string): Promise<number | undefined> {
    const { batch } = this.props;
    const memory = this.#states.get(key) ?? {
      failures: 0,
      failureIsolation: new FailureIsolation((request) => batch.subject(request)),
    };
    this.#states.set(key, memory);
    const job = this.#job(key);
    const asked = this.#asked(key);
    // Of a Job that has ended nobody needs to know what it did, unless somebody asks.
    const unread = asked.size > 0 || job?.health.state === 'InProgress';
    if (job && job.uid !== memory.spread && unread && !isPaused(owner)) {
      const inTheWay = await this.#follow(owner, key, job, memory);
      if (inTheWay !== undefined) return inTheWay.againMs;
    }
    return this.#begin(owner, key, memory, job);
  }

  /** @returns when to look again, while the Job stands in the way of the next one */
  async #follow(
    owner: Resource,
    key: string,
    job: Child,
    memory: BatchState,
  ): Promise<{ readonly againMs: number | undefined } | undefined> {
    const { podDiagnostics, runs, now } = this.props;
    if (job.deleting) return { againMs: undefined };
    switch (job.health.state) {
      case 'Ready': {
        const ended = await runs.ended(job);
        const results = this.#results(ended?.message, job);
        if (results.length === 0) {
          return this.#again(
            owner,
            key,
            job,
            memory,
            'its last words are gone, or tell no results',
          );
        }
        memory.failureIsolation.done(madeFor(job, memory));
        this.#spread(key, job, memory, results);
        return undefined;
      }
      case 'Failed':
        return this.#again(
          owner,
          key,
          job,
          memory,
          (await podDiagnostics.explain(job)).why ?? job.health.message,
        );
      default: {
        const { startTime } = job.job ?? {};
        const age = startTime === undefined ? 0 : now() - Date.parse(startTime);
        if (age < PATIENCE_MS) return { againMs: PATIENCE_MS - age };
        const { why } = await podDiagnostics.explain(job);
        if (why) this.#reportProgress(owner, key, 'JobWaiting', `Job ${job.name}: ${why}`);
        return { againMs: PATIENCE_MS };
      }
    }
  }

  /** Tells what a Job came to. */
  #spread(key: string, job: Child, memory: BatchState, results: readonly KubeObject[]): void {
    memory.spread = job.uid;
    memory.failures = 0;
    // Earlier ones may not have been heard yet.
    const asked = this.#asked(key);
    const unheard = this.#told(key).filter(({ metadata }) => asked.has(metadata.name));
    this.#say(key, [...unheard, ...results]);
  }

  /**
   * After a while, a Job that came to nothing is made anew; what it asks for may be less then. Others need
   * not wait for one request that broke it alone.
   */
  async #again(
    owner: Resource,
    key: string,
    job: Child,
    memory: BatchState,
    why: string,
  ): Promise<{ readonly againMs: number | undefined } | undefined> {
    const { applier, batch, now, dependencies } = this.props;
    const wait = Math.min(RETRY_MS.most, RETRY_MS.first * 2 ** memory.failures);
    // It is on its way out, and says so before it says when.
    const { completionTime } = job.job ?? {};
    if (completionTime === undefined) return { againMs: undefined };
    const closed = batch.closed(why);
    const requests = closed ? [] : madeFor(job, memory);
    const toBlame = memory.failureIsolation.failed(requests);
    const [alone, ...more] = requests;
    if (alone && more.length === 0) {
      const result = toBlame ? batch.failed(alone, why, completionTime) : undefined;
      if (result) {
        this.#spread(key, job, memory, [result]);
        return undefined;
      }
      const open = this.#open(key, dependencies.track('').reader);
      if (memory.failureIsolation.others(open).length > 0) {
        memory.failures = 0;
        await applier.delete(job);
        return { againMs: undefined };
      }
    }
    const left = Date.parse(completionTime) + wait - now();
    if (left > 0) {
      this.#reportProgress(owner, key, 'JobFailed', `Job ${job.name}: ${why}`);
      return { againMs: left };
    }
    if (!closed) memory.failures += 1;
    await applier.delete(job);
    return { againMs: undefined };
  }

  /** The results in a Job's last words; none where they cannot be read: what was asked for is then asked again. */
  #results(words: string | undefined, job: Child): readonly KubeObject[] {
    const { batch, now, log } = this.props;
    const time = job.job?.completionTime ?? new Date(now()).toISOString();
    try {
      return words === undefined ? [] : batch.results(words, time, job.namespace);
    } catch (error) {
      log.warn('the results of a batch cannot be read', { job: job.name, error });
      return [];
    }
  }

  /**
   * Makes the next Job, where something is asked for that is not done.
   * @returns milliseconds to wait for more, while more comes
   */
  async #begin(
    owner: Resource,
    key: string,
    memory: BatchState,
    job: Child | undefined,
  ): Promise<number | undefined> {
    const {
      applier,
      batch,
      dependencies,
      kinds,
      metadataKeys,
      resourceManager,
      log,
      monotonic,
      now,
    } = this.props;
    const track = dependencies.track(this.#dependentOfKey(key));
    try {
      const open = this.#open(key, track.reader);
      if (open.length === 0) {
        delete memory.collecting;
        // Nobody is left to be told why nothing moves.
        this.#say(key, this.#told(key));
        return undefined;
      }
      const { count = 0, since = monotonic() } = memory.collecting ?? {};
      const more = open.length > count && count < batch.size;
      if (more && monotonic() - since < COLLECT_MS.most) {
        memory.collecting = { count: open.length, since };
        return COLLECT_MS.pause;
      }
      delete memory.collecting;
      const inputs = batch.resolve(owner, track.reader);
      const next = memory.failureIsolation.next(open);
      const most = Math.max(1, Math.min(batch.size, next.length) / 2 ** memory.failures);
      const requests = batch.take(next.slice(0, most));
      const [first, ...rest] = requests;
      const time = new Date(now()).toISOString();
      const unfit = first && rest.length === 0 ? batch.unfit(first, time) : undefined;
      if (unfit) {
        this.#say(key, [...this.#told(key), unfit]);
        return 0;
      }
      const plan = planOf(owner, kinds, metadataKeys, (scope, id) =>
        batch.chart(scope, id, { resource: owner, inputs, requests }),
      );
      memory.made = { run: plannedOf(plan).find(({ run }) => run !== undefined)?.run, requests };
      const { changes } = await resourceManager.apply(owner, plan);
      this.#say(key, this.#told(key));
      if (changes.some(({ change }) => change !== 'unchanged')) {
        const { namespace, name } = owner.metadata;
        log.info('batch', { controller: this.name, namespace, name, size: requests.length });
      } else if (job) {
        // It has done just this before, and what came of it is lost.
        await applier.delete(job);
      }
    } finally {
      track.commit();
    }
    return undefined;
  }

  #job(key: string): Child | undefined {
    return this.props.children.of(this.#dependentOfKey(key)).find(({ job }) => job !== undefined);
  }

  /** The requests that nothing is told of yet. */
  #open(key: string, reader: ClusterReader): readonly KubeObject[] {
    const done = new Set(this.#told(key).map(({ metadata }) => metadata.name));
    return reader
      .list(this.props.batch.requests, key, (request) => request)
      .filter(({ metadata }) => !done.has(metadata.name));
  }

  /** The names of the requests that are there. Their changes lead here from now on. */
  #asked(key: string): ReadonlySet<string> {
    const { dependencies, batch } = this.props;
    const { reader, commit } = dependencies.track(this.#dependentOfKey(key));
    const names = reader.list(batch.requests, key, ({ metadata }) => metadata.name);
    commit();
    return new Set(names);
  }

  /** The results that are told now. */
  #told(key: string): readonly KubeObject[] {
    const { batchObjects, batch } = this.props;
    return batchObjects.of(this.#dependentOfKey(key)).filter(({ kind }) => kind !== batch.progress);
  }

  /** Says what came of requests; what was said before is taken back. */
  #say(key: string, notes: readonly KubeObject[]): void {
    this.props.batchObjects.set(this.#dependentOfKey(key), notes);
  }

  /** Says why nothing moves, beside the results. */
  #reportProgress({ metadata }: Resource, key: string, reason: string, message: string): void {
    const { namespace = '', name } = metadata;
    const progress: BatchProgress = {
      apiVersion: '',
      kind: this.props.batch.progress,
      metadata: { namespace, name },
      reason,
      message,
    };
    this.#say(key, [...this.#told(key), progress]);
  }

  #forget(key: string): void {
    this.#states.delete(key);
    this.#say(key, []);
    this.props.dependencies.forget(this.#dependentOfKey(key));
    this.queue.forget(key);
  }

  #dependentOfKey(key: string): string {
    return `${this.name}/${key}`;
  }
}

/** The requests that a Job was made for; none where that is not known. */
function madeFor({ run }: Child, { made }: BatchState): readonly KubeObject[] {
  return made && made.run === run ? made.requests : [];
}
