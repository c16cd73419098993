import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import type { AnyKind } from '../../constructs/registry.js';
import { isNotFound } from '../api/api-error.js';
import type { Client } from '../api/client.js';
import type { Events } from '../reconcile/events.js';
import type { BatchObjects } from '../cache/batch-objects.js';
import type { Logger } from '../telemetry/log.js';
import { meteredQueue } from './metered-queue.js';
import type { Metrics } from '../telemetry/metrics.js';
import { Reconciler, type ReconcilerProps } from '../reconcile/reconciler.js';
import { errorTypeOf, type Report } from '../reconcile/report.js';
import { resourcePath } from '../api/resource-path.js';
import { difference, statusOf, type Status } from '../reconcile/status.js';
import type { WorkQueue } from './workqueue.js';

export interface ControllerProps extends ReconcilerProps {
  readonly client: Pick<Client, 'apply'>;
  readonly concurrency: number;
  /** Milliseconds between two visits of a resource on which nothing happens. */
  readonly resyncMs: number;
  readonly events: Events;
  readonly notes: BatchObjects;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** Milliseconds, monotonic. */
  readonly monotonic: () => number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** In [0, 1), for jitter. */
  readonly random: () => number;
}

const STATUS_MANAGER = 'app-operator-status';
/** Changes of a list, such as the sites of a bench, are taken together: the first at once, the others after this. */
const BATCH_MS = 5_000;
const FIRST_OF_BATCH_MS = 50;
/** Statuses that differ in a word only: one of all resources in this time, so that thousands that come up at once do not tell each step. */
const MINOR_STATUS_MS = 2_000;
/** How long whoever is far from its turn is put off: those before it may want none any more. */
const PUT_OFF_MS = 5_000;

/** Reasons that only say that something goes its way. */
const STEPS = new Set(['Provisioning', 'Updating', 'Deleting', 'Syncing', 'Running']);

/** Somebody who undoes each repair at once gets one a second: it would be a tight loop. */
const REPAIR_LIMIT = { repairs: 20, withinMs: 10_000, restMs: 1_000 };

/** The work on one kind: a queue of keys, a reconciler, and the one place that reports. */
export class Controller {
  readonly queue: WorkQueue;
  readonly #reconciler: Reconciler;
  readonly #reconciledAt = new Map<string, number>();
  /** When the children of a resource were last changed, oldest first. */
  readonly #repairs = new Map<string, readonly number[]>();
  #minorAt = -Infinity;
  /** Whose small changes are put off, the first that came first. */
  readonly #minor = new Set<string>();

  constructor(private readonly props: ControllerProps) {
    this.#reconciler = new Reconciler(props);
    this.queue = meteredQueue(this.name, props.metrics, props, (key) => this.#work(key));
  }

  /** The name of the controller in metrics and logs: the kind in lower case. */
  get name(): string {
    return this.props.kind.definition.kind.toLowerCase();
  }

  get kind(): AnyKind {
    return this.props.kind;
  }

  get api(): ObjectKind {
    return this.props.api;
  }

  /** Asks for a visit; one that is not urgent may be taken together with others. */
  enqueue(key: string, urgency: 'now' | 'soon'): void {
    if (urgency === 'now') {
      if (this.#repairsTooOften(key)) this.queue.addAfter(key, REPAIR_LIMIT.restMs);
      else this.queue.add(key);
      return;
    }
    // A visit in between sees what has changed until then, and the plan is made anew by what changes after it.
    const visited = this.#reconciledAt.get(key) ?? -Infinity;
    const rest = visited + BATCH_MS - this.props.monotonic();
    this.queue.addAfter(key, Math.max(FIRST_OF_BATCH_MS, rest));
  }

  /** Whether somebody undoes each repair of a resource's children at once. */
  #repairsTooOften(key: string): boolean {
    const repairs = this.#repairs.get(key);
    const first = repairs?.length === REPAIR_LIMIT.repairs ? repairs[0] : undefined;
    return first !== undefined && this.props.monotonic() - first < REPAIR_LIMIT.withinMs;
  }

  async #work(key: string): Promise<void> {
    const { dependencies, kind, metrics, monotonic, log } = this.props;
    const resource = dependencies.objects(kind.definition.kind).get(key) as
      Resource<unknown, Status> | undefined;
    if (!resource) {
      this.#forget(key);
      return;
    }
    const { namespace = '', name } = resource.metadata;
    const started = monotonic();
    this.#reconciledAt.set(key, started);
    const line = log.child({ controller: this.name, namespace, name });
    let result: 'success' | 'waiting' | 'stalled' | 'error' = 'error';
    try {
      const visited = await this.#reconciler.reconcile(resource, this.queue.failures(key));
      // What was found is true of the spec that was visited, which may have changed meanwhile.
      const report = { observedGeneration: resource.metadata.generation, ...visited };
      await this.#publish(key, report, line);
      if (report.error !== undefined) throw report.error;
      result = report.stalled ? 'stalled' : report.errorType ? 'waiting' : 'success';
      if (report.errorType) metrics.failed(this.name, report.errorType);
    } catch (error) {
      metrics.failed(this.name, errorTypeOf(error));
      line.error('reconciliation failed', { error, failures: this.queue.failures(key) + 1 });
      throw error;
    } finally {
      metrics.reconciled(this.name, result, (monotonic() - started) / 1000);
    }
  }

  /** The one place that tells the outside what a visit came to. */
  async #publish(key: string, report: Report, line: Logger): Promise<void> {
    const { metrics, kind, resyncMs, random } = this.props;
    for (const { kind: childKind, change } of report.changes) metrics.applied(childKind, change);
    const written = report.changes.filter(({ change }) => change !== 'unchanged');
    if (written.some(({ change }) => change === 'configured')) {
      const repairs = [...(this.#repairs.get(key) ?? []), this.props.monotonic()];
      this.#repairs.set(key, repairs.slice(-REPAIR_LIMIT.repairs));
    }
    if (written.length > 0) line.info('children changed', { changes: written });
    if (report.gone) {
      line.info('the resource is let go');
      return;
    }
    const current = this.props.dependencies.objects(kind.definition.kind).get(key);
    if (!current) return;
    const later = await this.#writeStatus(key, current as Resource<unknown, Status>, report);
    // What is asked for is withdrawn only when its outcome is written.
    this.#note(key, report.statusResult.batchObjects ?? []);
    const resync = resyncMs * (0.9 + random() / 5);
    this.queue.addAfter(
      key,
      Math.min(later ?? Infinity, report.requeueAfterMs ?? Infinity, resync),
    );
  }

  /** @returns milliseconds after which a small change should be written, where it was put off */
  async #writeStatus(
    key: string,
    resource: Resource<unknown, Status>,
    report: Report,
  ): Promise<number | undefined> {
    const { kind, api, client, metrics, remember, now } = this.props;
    const { namespace = '', name } = resource.metadata;
    const status = statusOf(kind.definition, resource, report, new Date(now()));
    metrics.phase(kind.definition.kind, namespace, name, status.phase);
    const { lastSuccessfulTime: success } = status;
    const { siteRef } = resource.spec as { readonly siteRef?: { readonly name: string } };
    metrics.lastSuccess(
      kind.definition.kind,
      namespace,
      name,
      typeof success === 'string' ? success : undefined,
      siteRef?.name,
    );
    const changed = difference(resource.status, status);
    // What the next visit reads must be written: until then it would ask for another at once, again and again.
    if (changed === 'minor' && report.statusResult.reconcileAgain !== true) {
      const rest = this.#untilTurn(key);
      if (rest > 0) return rest;
      this.#minorAt = this.props.monotonic();
    }
    this.#minor.delete(key);
    if (changed === 'none') return undefined;
    this.#tell(resource, status);
    try {
      const { apiVersion, kind: kindName } = resource;
      const answer = await client.apply<KubeObject>(
        resourcePath(api, namespace, name, 'status'),
        {
          apiVersion,
          kind: kindName,
          metadata: { name, namespace, uid: resource.metadata.uid },
          status,
        },
        STATUS_MANAGER,
      );
      remember(answer);
    } catch (error) {
      // It has gone meanwhile, as it should.
      if (!isNotFound(error)) throw error;
    }
    return undefined;
  }

  /**
   * Milliseconds until a resource may tell a small change, or should ask again. They have their turns
   * in the order in which they came: by chance alone, one of many could wait for ever. One that stays
   * away holds up those after it by one turn only.
   */
  #untilTurn(key: string): number {
    this.#minor.add(key);
    let rest = this.#minorAt - this.props.monotonic();
    for (const first of this.#minor) {
      rest += MINOR_STATUS_MS;
      if (first === key || rest > PUT_OFF_MS) break;
    }
    return Math.min(rest, PUT_OFF_MS);
  }

  /** An event for each new reason of the Ready condition, but for the first steps of a new resource. */
  #tell(resource: Resource<unknown, Status>, status: Status): void {
    const ready = status.conditions?.find(({ type }) => type === 'Ready');
    const before = resource.status?.conditions?.find(({ type }) => type === 'Ready');
    if (!ready || ready.reason === before?.reason) return;
    if (STEPS.has(ready.reason)) return;
    const { events } = this.props;
    const type = ready.status === 'True' ? 'Normal' : 'Warning';
    events.record(resource, {
      type,
      reason: ready.reason,
      message: ready.message,
      action: 'Reconcile',
    });
  }

  #note(key: string, notes: readonly KubeObject[]): void {
    this.props.notes.set(`${this.kind.definition.kind}/${key}`, notes);
  }

  #forget(key: string): void {
    const { metrics, kind } = this.props;
    const slash = key.indexOf('/');
    this.#reconciler.forget(key);
    this.#note(key, []);
    this.queue.forget(key);
    this.#reconciledAt.delete(key);
    this.#minor.delete(key);
    this.#repairs.delete(key);
    const [namespace, name] = [key.slice(0, slash), key.slice(slash + 1)];
    metrics.phase(kind.definition.kind, namespace, name, undefined);
    metrics.lastSuccess(kind.definition.kind, namespace, name, undefined);
  }
}
