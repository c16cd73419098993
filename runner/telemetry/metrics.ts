import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { VERSION } from '../kit/version.js';

export type ReconcileResult = 'success' | 'waiting' | 'stalled' | 'error';
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

  readonly duration = new Histogram({
    ...this.named('reconciliation_duration_seconds', 'Time spent reconciling.', [
      'controller',
      'result',
    ]),
    buckets: RECONCILE_BUCKETS,
  });
  /** `error_type` is the class of the error. */
  readonly errors = new Counter(
    this.named('reconciliation_errors_total', 'Reconciliation errors.', [
      'controller',
      'error_type',
    ]),
  );
  readonly queueDepth = new Gauge(
    this.named('workqueue_depth', 'Keys that are due and wait for a worker.', ['controller']),
  );
  readonly queueWait = new Histogram({
    ...this.named(
      'workqueue_wait_seconds',
      'Time from when a key is due until a worker takes it.',
      ['controller'],
    ),
    buckets: WAIT_BUCKETS,
  });
  readonly queueRetries = new Counter(
    this.named('workqueue_retries_total', 'Keys retried after an error.', ['controller']),
  );
  readonly causes = new Counter(
    this.named(
      'reconcile_causes_total',
      'Reconciles by what first made the key due: a kind that changed, a child, a timer, a probe or a retry.',
      ['controller', 'cause'],
    ),
  );
  readonly applies = new Counter(
    this.named('apply_total', 'Child objects by the result of their apply.', ['kind', 'result']),
  );
  readonly synthesizedObjects = new Counter(
    this.named('synthesized_objects_total', 'Synthesized child objects, applied or not.', [
      'controller',
    ]),
  );
  /** `reason` is a fixed word, such as `Expired` or `Forbidden`, never a message. */
  readonly watchRestarts = new Counter(
    this.named('watch_restarts_total', 'Restarted watches, by reason.', ['kind', 'reason']),
  );
  readonly watchSeen = new Gauge(
    this.named(
      'watch_last_activity_timestamp_seconds',
      'Time of the last event or bookmark of a watch.',
      ['kind'],
    ),
  );
  readonly invalidObjects = new Counter(
    this.named(
      'unusable_objects_total',
      'Events of objects that could not be processed, by what failed.',
      ['kind', 'stage'],
    ),
  );
  readonly orphanedData = new Counter(
    this.named(
      'orphaned_data_total',
      'Databases and stored backups that were to be deleted, and are left by a deleted namespace.',
      ['kind'],
    ),
  );
  readonly apiCalls = new Counter(
    this.named('api_calls_total', 'Requests to the API server.', ['verb', 'code']),
  );
  /** `allowed` is `true`, `false`, or `error` if the review failed. */
  readonly admissions = new Counter(
    this.named('admission_requests_total', 'Admission requests that the webhooks answered.', [
      'webhook',
      'kind',
      'operation',
      'allowed',
    ]),
  );
  readonly admissionDuration = new Histogram({
    ...this.named('admission_duration_seconds', 'Time to answer an admission request.', [
      'webhook',
    ]),
    buckets: ADMISSION_BUCKETS,
  });
  readonly leader = new Gauge(this.named('leader', '1 while this replica is the leader.', []));

  private readonly resourceTotal = new Gauge(
    this.named('resource_total', 'Managed resources.', ['resource_type', 'namespace']),
  );
  private readonly jobs = new ObjectGauge(
    new Gauge(
      this.named('job_status', 'Status of each Job of the operator: 1 for the present one.', [
        'job_name',
        'namespace',
        'status',
      ]),
    ),
  );
  private readonly phases = new Map<string, ObjectGauge>();
  /** The metric of a kind exists from its first success on. */
  private readonly successes = new Map<string, ObjectGauge>();

  /**
   * @param kinds kinds with a phase: of `SiteBackup` comes `app_site_backup_phase`, and after its first
   *   success `app_site_backup_last_success_timestamp_seconds`
   * @param nodeMetrics whether to collect Node's metrics; tests that compare the whole text do not
   */
  constructor(kinds: readonly string[], nodeMetrics = true) {
    for (const kind of kinds) {
      const gauge = new Gauge({
        name: `${prefixOf(kind)}_phase`,
        help: `Phase of each ${kind}: 1 for the present one.`,
        labelNames: ['namespace', 'name', 'phase'],
        registers: [this.registry],
      });
      this.phases.set(kind, new ObjectGauge(gauge));
    }
    new Gauge(
      this.named('build_info', 'Version of the operator and of Node.', ['version', 'node']),
    ).set({ version: VERSION, node: process.version }, 1);
    this.leader.set(0);
    // At the library's precision of 10 ms an idle operator spends half of its CPU on this timer.
    if (nodeMetrics)
      collectDefaultMetrics({ register: this.registry, eventLoopMonitoringPrecision: 100 });
  }

  /** @param status undefined after the Job was deleted */
  job(namespace: string, name: string, status: JobStatus | undefined): void {
    this.jobs.set({ job_name: name, namespace }, status && { status });
  }

  /** @param count the number of resources; a namespace with 0 has no series */
  resources(kind: string, namespace: string, count: number): void {
    const labels = { resource_type: kind.toLowerCase(), namespace };
    if (count > 0) this.resourceTotal.set(labels, count);
    else this.resourceTotal.remove(labels);
  }

  /** @param phase undefined after the resource was deleted */
  phase({ kind, namespace, name }: ResourceId, phase: string | undefined): void {
    this.phases.get(kind)?.set({ namespace, name }, phase === undefined ? undefined : { phase });
  }

  /** @param success undefined if the resource never succeeded or was deleted */
  lastSuccess({ kind, namespace, name }: ResourceId, success: Success | undefined): void {
    let gauge = this.successes.get(kind);
    if (success && !gauge) {
      gauge = new ObjectGauge(
        new Gauge({
          name: `${prefixOf(kind)}_last_success_timestamp_seconds`,
          help: `Time of the last success of each ${kind}.`,
          labelNames: ['namespace', 'name', ...Object.keys(success.labels)],
          registers: [this.registry],
        }),
      );
      this.successes.set(kind, gauge);
    }
    gauge?.set({ namespace, name }, success?.labels, Date.parse(success?.time ?? '') / 1000);
  }

  /** The exposition and its content type. */
  async exposition(): Promise<{ readonly contentType: string; readonly body: string }> {
    return { contentType: this.registry.contentType, body: await this.registry.metrics() };
  }

  private named<L extends string>(name: string, help: string, labelNames: readonly L[]) {
    return { name: `app_operator_${name}`, help, labelNames, registers: [this.registry] };
  }
}

/** The last success of a resource. */
export interface Success {
  /** RFC 3339. */
  readonly time: string;
  /** Further labels, such as the resource's parent. */
  readonly labels: Readonly<Record<string, string>>;
}

/** A gauge with at most one series of each object. */
class ObjectGauge {
  private readonly present = new Map<string, Record<string, string>>();

  constructor(private readonly gauge: Gauge) {}

  /**
   * @param id the labels that name the object
   * @param labels its further labels; undefined removes its series
   */
  set(
    id: Readonly<Record<string, string>>,
    labels: Readonly<Record<string, string>> | undefined,
    value = 1,
  ): void {
    const key = Object.values(id).join('/');
    const before = this.present.get(key);
    const after = labels && { ...id, ...labels };
    if (before && JSON.stringify(before) !== JSON.stringify(after)) {
      this.gauge.remove(before);
      this.present.delete(key);
    }
    if (!after) return;
    if (!this.present.has(key)) this.present.set(key, after);
    this.gauge.set(after, value);
  }
}

/** `app_site` of `AppSite`, `app_site_backup` of `SiteBackup`. */
function prefixOf(kind: string): string {
  const words = kind.replace(/^App/, '').replace(/(?<=[a-z])(?=[A-Z])/g, '_');
  return `app_${words.toLowerCase()}`;
}
