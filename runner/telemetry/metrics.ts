import { keyOf } from '../../constructs/kit/object.js';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { VERSION } from '../kit/version.js';

export type ReconcileResult = 'success' | 'waiting' | 'stalled' | 'error';
export type ApplyResult = 'created' | 'configured' | 'unchanged' | 'deleted' | 'skipped';
export type JobStatus = 'Active' | 'Succeeded' | 'Failed';

/** Seconds. A p95 above the alert's 60 s needs buckets well beyond it. */
const RECONCILE_BUCKETS = [
  0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 45, 60, 90, 120, 180, 300,
];
const ADMISSION_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const WAIT_BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300];

/** A resource as the metrics name it; `kind` as in manifests. */
export interface ResourceId {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/**
 * The operator's metrics. The series of an object are removed when it is deleted, so that their number
 * follows the number of objects. `kind` is a kind as in manifests, `controller` the same in lower case,
 * or the name of a batch.
 */
export class OperatorMetrics {
  private readonly registry = new Registry();
  private readonly phases = new Map<string, PhaseGauge>();
  private readonly successes = new Map<string, SuccessGauge>();
  private readonly jobs = new Map<string, JobStatus>();

  private readonly duration = this.histogram(
    'reconciliation_duration_seconds',
    'Time spent reconciling.',
    ['controller', 'result'],
    RECONCILE_BUCKETS,
  );
  private readonly errors = this.counter('reconciliation_errors_total', 'Reconciliation errors.', [
    'controller',
    'error_type',
  ]);
  private readonly job = this.gauge(
    'job_status',
    'Status of each Job of the operator: 1 for the present one.',
    ['job_name', 'namespace', 'status'],
  );
  private readonly resourceTotal = this.gauge('resource_total', 'Managed resources.', [
    'resource_type',
    'namespace',
  ]);
  private readonly queueDepth = this.gauge(
    'workqueue_depth',
    'Keys that are due and wait for a worker.',
    ['controller'],
  );
  private readonly queueWait = this.histogram(
    'workqueue_wait_seconds',
    'Time from when a key is due until a worker takes it.',
    ['controller'],
    WAIT_BUCKETS,
  );
  private readonly queueRetries = this.counter(
    'workqueue_retries_total',
    'Keys retried after an error.',
    ['controller'],
  );
  private readonly causes = this.counter(
    'reconcile_causes_total',
    'Reconciles by what first made the key due: a kind that changed, a child, a timer, a probe or a retry.',
    ['controller', 'cause'],
  );
  private readonly applies = this.counter(
    'apply_total',
    'Child objects by the result of their apply.',
    ['kind', 'result'],
  );
  private readonly synthesizedObjects = this.counter(
    'synthesized_objects_total',
    'Synthesized child objects, applied or not.',
    ['controller'],
  );
  private readonly watchRestarts = this.counter(
    'watch_restarts_total',
    'Restarted watches, by reason.',
    ['kind', 'reason'],
  );
  private readonly watchSeen = this.gauge(
    'watch_last_activity_timestamp_seconds',
    'Time of the last event or bookmark of a watch.',
    ['kind'],
  );
  private readonly invalidObjects = this.counter(
    'unusable_objects_total',
    'Events of objects that could not be processed, by what failed.',
    ['kind', 'stage'],
  );
  private readonly orphanedData = this.counter(
    'orphaned_data_total',
    'Databases and stored backups that were to be deleted, and are left by a deleted namespace.',
    ['kind'],
  );
  private readonly apiCalls = this.counter('api_calls_total', 'Requests to the API server.', [
    'verb',
    'code',
  ]);
  private readonly admissions = this.counter(
    'admission_requests_total',
    'Admission requests that the webhooks answered.',
    ['webhook', 'kind', 'operation', 'allowed'],
  );
  private readonly admissionDuration = this.histogram(
    'admission_duration_seconds',
    'Time to answer an admission request.',
    ['webhook'],
    ADMISSION_BUCKETS,
  );
  private readonly isLeader = this.gauge('leader', '1 while this replica is the leader.', []);

  /**
   * @param kinds kinds with a phase: of `SiteBackup` comes `app_site_backup_phase`, and after its first
   *   success `app_site_backup_last_success_timestamp_seconds`
   * @param nodeMetrics whether to collect Node's metrics; tests that compare the whole text do not
   */
  constructor(kinds: readonly string[], nodeMetrics = true) {
    for (const kind of kinds) {
      this.phases.set(kind, new PhaseGauge(this.registry, kind));
      this.successes.set(kind, new SuccessGauge(this.registry, kind));
    }
    this.gauge('build_info', 'Version of the operator and of Node.', ['version', 'node']).set(
      { version: VERSION, node: process.version },
      1,
    );
    this.isLeader.set(0);
    // At the library's precision of 10 ms an idle operator spends half of its CPU on this timer.
    if (nodeMetrics)
      collectDefaultMetrics({ register: this.registry, eventLoopMonitoringPrecision: 100 });
  }

  reconciled(controller: string, result: ReconcileResult, seconds: number): void {
    this.duration.observe({ controller, result }, seconds);
  }

  /** @param errorType the class of the error */
  failed(controller: string, errorType: string): void {
    this.errors.inc({ controller, error_type: errorType });
  }

  jobStatus(namespace: string, jobName: string, status: JobStatus): void {
    const key = keyOf(namespace, jobName);
    if (this.jobs.get(key) === status) return;
    this.forgetJob(namespace, jobName);
    this.jobs.set(key, status);
    this.job.set({ job_name: jobName, namespace, status }, 1);
  }

  forgetJob(namespace: string, jobName: string): void {
    const key = keyOf(namespace, jobName);
    const status = this.jobs.get(key);
    if (status) this.job.remove({ job_name: jobName, namespace, status });
    this.jobs.delete(key);
  }

  /** @param count the number of resources; a namespace with 0 has no series */
  resources(kind: string, namespace: string, count: number): void {
    const labels = { resource_type: kind.toLowerCase(), namespace };
    if (count > 0) this.resourceTotal.set(labels, count);
    else this.resourceTotal.remove(labels);
  }

  /** @param phase undefined after the resource was deleted */
  phase({ kind, namespace, name }: ResourceId, phase: string | undefined): void {
    this.phases.get(kind)?.set(namespace, name, phase);
  }

  /** @param success undefined if the resource never succeeded or was deleted */
  lastSuccess(id: ResourceId, success: Success | undefined): void {
    this.successes.get(id.kind)?.set(id, success);
  }

  /** @param change of the number of keys that wait */
  queued(controller: string, change: number): void {
    this.queueDepth.inc({ controller }, change);
  }

  waited(controller: string, seconds: number): void {
    this.queueWait.observe({ controller }, seconds);
  }

  retried(controller: string): void {
    this.queueRetries.inc({ controller });
  }

  /** @param cause see the help text of the metric */
  caused(controller: string, cause: string): void {
    this.causes.inc({ controller, cause });
  }

  applied(kind: string, result: ApplyResult): void {
    this.applies.inc({ kind, result });
  }

  synthesized(controller: string, objects: number): void {
    this.synthesizedObjects.inc({ controller }, objects);
  }

  /** @param reason a fixed word, such as `Expired` or `Forbidden`, never a message */
  watchRestarted(kind: string, reason: string): void {
    this.watchRestarts.inc({ kind, reason });
  }

  /** @param now seconds since the epoch */
  watchActive(kind: string, now: number): void {
    this.watchSeen.set({ kind }, now);
  }

  /** @param stage what failed: `parse`, `store`, `index` or `read` */
  invalidObject(kind: string, stage: string): void {
    this.invalidObjects.inc({ kind, stage });
  }

  /** @param count what a resource has left outside of its deleted namespace */
  orphaned(kind: string, count: number): void {
    this.orphanedData.inc({ kind }, count);
  }

  apiCall(verb: string, code: string): void {
    this.apiCalls.inc({ verb, code });
  }

  /** @param allowed `true`, `false`, or `error` if the review failed */
  admitted(
    labels: {
      readonly webhook: string;
      readonly kind: string;
      readonly operation: string;
      readonly allowed: 'true' | 'false' | 'error';
    },
    seconds: number,
  ): void {
    this.admissions.inc(labels);
    this.admissionDuration.observe({ webhook: labels.webhook }, seconds);
  }

  leader(leads: boolean): void {
    this.isLeader.set(leads ? 1 : 0);
  }

  /** The exposition and its content type. */
  async exposition(): Promise<{ readonly contentType: string; readonly body: string }> {
    return { contentType: this.registry.contentType, body: await this.registry.metrics() };
  }

  private counter<L extends string>(name: string, help: string, labelNames: readonly L[]) {
    return new Counter({
      name: `app_operator_${name}`,
      help,
      labelNames,
      registers: [this.registry],
    });
  }

  private gauge<L extends string>(name: string, help: string, labelNames: readonly L[]) {
    return new Gauge({
      name: `app_operator_${name}`,
      help,
      labelNames,
      registers: [this.registry],
    });
  }

  private histogram<L extends string>(
    name: string,
    help: string,
    labelNames: readonly L[],
    buckets: number[],
  ) {
    const registers = [this.registry];
    return new Histogram({ name: `app_operator_${name}`, help, labelNames, buckets, registers });
  }
}

/** The last success of a resource. */
export interface Success {
  /** RFC 3339. */
  readonly time: string;
  /** Further labels, such as the resource's parent. */
  readonly labels: Readonly<Record<string, string>>;
}

/** The phases of a kind: 1 for the present one of each object, no series for the others. */
class PhaseGauge {
  private readonly present = new Map<string, string>();
  private readonly gauge: Gauge<'namespace' | 'name' | 'phase'>;

  constructor(registry: Registry, kind: string) {
    this.gauge = new Gauge({
      name: `${prefixOf(kind)}_phase`,
      help: `Phase of each ${kind}: 1 for the present one.`,
      labelNames: ['namespace', 'name', 'phase'],
      registers: [registry],
    });
  }

  set(namespace: string, name: string, phase: string | undefined): void {
    const key = keyOf(namespace, name);
    const before = this.present.get(key);
    if (before === phase) return;
    if (before !== undefined) this.gauge.remove({ namespace, name, phase: before });
    if (phase === undefined) {
      this.present.delete(key);
    } else {
      this.present.set(key, phase);
      this.gauge.set({ namespace, name, phase }, 1);
    }
  }
}

/** The last successes of a kind. The metric exists from the first success on. */
class SuccessGauge {
  private readonly labels = new Map<string, Record<string, string>>();
  private gauge: Gauge | undefined;

  constructor(
    private readonly registry: Registry,
    private readonly kind: string,
  ) {}

  set({ namespace, name }: ResourceId, success: Success | undefined): void {
    const key = keyOf(namespace, name);
    const before = this.labels.get(key);
    const labels = success && { namespace, name, ...success.labels };
    if (before && JSON.stringify(before) !== JSON.stringify(labels)) {
      this.gauge?.remove(before);
      this.labels.delete(key);
    }
    if (!success || !labels) return;
    this.gauge ??= new Gauge({
      name: `${prefixOf(this.kind)}_last_success_timestamp_seconds`,
      help: `Time of the last success of each ${this.kind}.`,
      labelNames: Object.keys(labels),
      registers: [this.registry],
    });
    this.labels.set(key, labels);
    this.gauge.set(labels, Date.parse(success.time) / 1000);
  }
}

/** `app_site` of `AppSite`, `app_site_backup` of `SiteBackup`. */
function prefixOf(kind: string): string {
  const words = kind.replace(/^App/, '').replace(/(?<=[a-z])(?=[A-Z])/g, '_');
  return `app_${words.toLowerCase()}`;
}
