import type { ConditionResult } from '../../constructs/kit/condition.js';
import { isPaused } from '../../constructs/kit/annotations.js';
import { equal } from '../../constructs/kit/json/equal.js';
import {
  joined,
  keyOfObject,
  type KubeObject,
  type Resource,
} from '../../constructs/kit/object.js';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import { reasonClass } from '../../constructs/kit/reasons.js';
import { referenceName } from '../../constructs/kit/reference.js';
import type { AnyKind } from '../../constructs/registry.js';
import { isConflict, isInvalid, isNotFound, isUntyped } from '../api/api-error.js';
import { MERGE_PATCH, type Client } from '../api/client.js';
import { resourcePath } from '../api/resource-path.js';
import type { BatchObjects } from '../cache/batch-objects.js';
import type { Urgency } from '../cache/dependencies.js';
import { FIELD_MANAGER } from '../cache/child.js';
import type { Events } from '../reconcile/events.js';
import { problemsOf } from '../cache/checked.js';
import { Reconciler, type ReconcilerProps } from '../reconcile/reconciler.js';
import { errorTypeOf, type Report } from '../reconcile/report.js';
import type { Status } from '../plan/resource-status.js';
import {
  difference,
  recordOf,
  statusOf,
  withRecordedStatus,
  type Difference,
} from '../reconcile/status.js';
import type { Logger } from '../telemetry/log.js';
import type { OperatorMetrics, ReconcileResult } from '../telemetry/metrics.js';
import { meteredQueue, type WorkQueue } from '../queue/workqueue.js';

export interface ControllerProps extends ReconcilerProps {
  readonly client: Pick<Client, 'apply' | 'request'>;
  /** The status fields that the cluster's CRD does not have. @default none */
  readonly unservedStatus?: () => readonly string[];
  /** Conditions that tell of a watch that does not work. @default none */
  readonly watchConditions?: () => readonly ConditionResult[];
  readonly concurrency: number;
  /** Milliseconds between two reconciles of a resource without any change. */
  readonly resyncMs: number;
  readonly events: Events;
  readonly batchObjects: BatchObjects;
  readonly metrics: OperatorMetrics;
  readonly log: Logger;
  /** Milliseconds, monotonic. */
  readonly monotonic: () => number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** In [0, 1), for jitter. */
  readonly random: () => number;
}

const STATUS_MANAGER = 'app-operator-status';
/** Members of one list often change together: the first change counts soon, later ones after this. */
const BATCH_MS = 5_000;
const FIRST_OF_BATCH_MS = 50;
/** Children become ready one after the other: between two reconciles for them, milliseconds. */
const CHILDREN_MS = 100;
/** A minor change of a status, such as of a message, is written so often at most. */
const MINOR_STATUS_MS = 5_000;
/** For so long a repair of children may take before the status says that the resource is not ready. */
const REPAIR_MS = 5_000;
/** If another field manager undoes each repair at once, repairs are limited to one a second. */
const REPAIR_LIMIT = { repairs: 20, withinMs: 10_000, restMs: 1_000 };

type OwnResource = Resource<unknown, Status>;

/** Reconciles one kind: its work queue, its reconciler, and the only code that reports a result. */
export class Controller {
  readonly queue: WorkQueue;
  readonly #reconciler: Reconciler;
  readonly #reconciledAt = new Map<string, number>();
  /** When the children of a resource were last repaired, oldest first. */
  readonly #repairs = new Map<string, readonly number[]>();
  /** Since when a status says less than the report, because children were just repaired. */
  readonly #repairingSince = new Map<string, number>();
  /** The types of conditions that other field managers have added, by resource. */
  readonly #foreignConditions = new Map<string, ReadonlySet<string>>();
  #watchProblems = '';
  /** When each status was last written. */
  readonly #statusAt = new Map<string, number>();

  constructor(private readonly props: ControllerProps) {
    this.#reconciler = new Reconciler({
      ...props,
      onSynthesized: (objects) => {
        props.metrics.synthesizedObjects.inc({ controller: this.name }, objects);
      },
    });
    this.queue = meteredQueue(this.name, props.metrics, props, {
      work: (key) => this.#work(key),
      isAwaited: (key) => this.#hasChanged(key),
    });
  }

  /** The name of the controller in metrics and logs: the kind in lower case. */
  get name(): string {
    return this.#kindName.toLowerCase();
  }

  get kind(): AnyKind {
    return this.props.kind;
  }

  get api(): ObjectKind {
    return this.props.api;
  }

  get #kindName(): string {
    return this.props.kind.definition.kind;
  }

  /** Enqueues all resources if the watches that they depend on have begun or ceased to work. */
  checkWatches(): void {
    const found = (this.props.watchConditions?.() ?? []).map(({ message }) => message);
    const changed = found.join() !== this.#watchProblems;
    this.#watchProblems = found.join();
    if (changed) this.enqueueAll();
  }

  /** Adds the keys of all resources of the kind. */
  enqueueAll(): void {
    for (const key of this.props.dependencies.objects(this.#kindName).keys()) this.queue.add(key);
  }

  /** Adds a key to the queue; one that is not urgent may be delayed to take several changes together. */
  enqueue(key: string, urgency: Urgency, cause: string): void {
    const since = this.props.monotonic() - (this.#reconciledAt.get(key) ?? -Infinity);
    if (urgency === 'soon') {
      this.queue.addAfter(key, Math.max(FIRST_OF_BATCH_MS, BATCH_MS - since), cause);
    } else if (this.#repairsTooOften(key)) this.queue.addAfter(key, REPAIR_LIMIT.restMs, cause);
    else if (urgency === 'next' && since < CHILDREN_MS) {
      this.queue.addAfter(key, CHILDREN_MS - since, cause);
    } else this.queue.add(key, cause);
  }

  /** Whether the spec has changed since the status: a user waits, behind no change of what many read. */
  #hasChanged(key: string): boolean {
    const { metadata, status } = this.#resource(key) ?? {};
    return status?.observedGeneration !== metadata?.generation;
  }

  /** Whether another field manager undoes each repair of a resource's children at once. */
  #repairsTooOften(key: string): boolean {
    const repairs = this.#repairs.get(key);
    const first = repairs?.length === REPAIR_LIMIT.repairs ? repairs[0] : undefined;
    return first !== undefined && this.props.monotonic() - first < REPAIR_LIMIT.withinMs;
  }

  async #work(key: string): Promise<void> {
    const { metrics, monotonic, log } = this.props;
    const resource = this.#resource(key);
    if (!resource) {
      this.#forget(key);
      return;
    }
    const { namespace = '', name } = resource.metadata;
    const started = monotonic();
    this.#reconciledAt.set(key, started);
    const { name: controller } = this;
    const line = log.child({ controller, namespace, name });
    let result: ReconcileResult = 'error';
    try {
      const reconciled = await this.#reconciler.reconcile(resource, this.queue.failures(key));
      // The report is true of the spec that was reconciled; the spec may have changed since.
      const report = { observedGeneration: resource.metadata.generation, ...reconciled };
      await this.#publish(resource, report, line);
      this.#recordLastWarning(resource, report);
      if (report.error !== undefined) throw report.error;
      result = report.stalled ? 'stalled' : report.errorType ? 'waiting' : 'success';
      if (report.errorType) metrics.errors.inc({ controller, error_type: report.errorType });
    } catch (error) {
      metrics.errors.inc({ controller, error_type: errorTypeOf(error) });
      // A conflict is no defect: the next attempt has the present version.
      const level = isConflict(error) ? 'debug' : 'error';
      line[level]('reconciliation failed', { error, failures: this.queue.failures(key) + 1 });
      throw error;
    } finally {
      metrics.duration.observe({ controller, result }, (monotonic() - started) / 1000);
    }
  }

  /** The one place that turns a report into status, events, metrics and the next reconcile. */
  async #publish(reconciled: OwnResource, report: Report, line: Logger): Promise<void> {
    const { metrics, resyncMs, random } = this.props;
    const key = keyOfObject(reconciled);
    for (const { kind: childKind, change } of report.changes) {
      metrics.applies.inc({ kind: childKind, result: change });
    }
    const written = report.changes.filter(({ change }) => change !== 'unchanged');
    if (written.some(({ change }) => change === 'configured')) {
      const repairs = [...(this.#repairs.get(key) ?? []), this.props.monotonic()];
      this.#repairs.set(key, repairs.slice(-REPAIR_LIMIT.repairs));
    }
    if (written.length > 0) line.info('children changed', { changes: written });
    if (report.finalized) {
      line.info('finalizer removed');
      this.#reportOrphaned(report, line);
      return;
    }
    const current = this.#resource(key);
    // Another resource of this name has not done what the report says.
    if (!current || current.metadata.uid !== reconciled.metadata.uid) return;
    // The report was made from a status that has changed meanwhile: that change has enqueued the key.
    if (!equal(current.status, reconciled.status)) return;
    const postponedMs = await this.#writeStatus(key, current, report);
    // A request is withdrawn only after its result is in the status.
    this.#setBatchObjects(key, report.statusResult.batchObjects ?? []);
    const resync = resyncMs * (0.9 + random() / 5);
    this.queue.addAfter(
      key,
      Math.min(postponedMs ?? Infinity, report.requeueAfterMs ?? Infinity, resync),
    );
  }

  /** Milliseconds until a minor difference may be written. */
  #untilMinor(key: string, changed: Difference, { statusResult }: Report): number {
    // If the next reconcile reads the status, an unwritten one would reconcile again and again.
    if (changed !== 'minor' || statusResult.reconcileAgain === true) return 0;
    return (this.#statusAt.get(key) ?? -Infinity) + MINOR_STATUS_MS - this.props.monotonic();
  }

  /**
   * Milliseconds until a repair of children should have ended. Against another client that sets a field again
   * and again, each repair would take two more writes: not ready, and ready again.
   */
  #untilRepaired(
    key: string,
    { resource, report, status }: { resource: OwnResource; report: Report; status: Status },
  ): number {
    const { kind, monotonic } = this.props;
    const before = resource.status?.conditions?.find(({ type }) => type === 'Ready');
    const { ready } = report.statusResult;
    const isProgress =
      before?.status === 'True' &&
      ready.status === 'False' &&
      reasonClass(kind, ready.reason) === 'progress' &&
      resource.status?.observedGeneration === status.observedGeneration;
    const isRepair = report.changes.some(({ change }) => change === 'configured');
    const since = this.#repairingSince.get(key) ?? (isRepair ? monotonic() : undefined);
    if (!isProgress || since === undefined) {
      this.#repairingSince.delete(key);
      return 0;
    }
    this.#repairingSince.set(key, since);
    return since + REPAIR_MS - monotonic();
  }

  /** In a terminating namespace no event can be recorded. */
  #reportOrphaned({ orphaned = [] }: Report, line: Logger): void {
    if (orphaned.length === 0) return;
    this.props.metrics.orphanedData.inc({ kind: this.#kindName }, orphaned.length);
    const message = 'the namespace was deleted before the data of this resource: delete it by hand';
    line.warn(message, { left: orphaned });
  }

  /** @returns milliseconds after which a minor update should be written, if it was postponed */
  async #writeStatus(
    key: string,
    resource: OwnResource,
    report: Report,
  ): Promise<number | undefined> {
    const { kind, now } = this.props;
    const status = statusOf(kind, resource, this.#withWatches(report), new Date(now()));
    this.#measure(resource, status);
    const isValid = problemsOf(resource).length === 0;
    const recorded =
      isValid && !isPaused(resource) ? await this.#recordStatus(resource, status) : resource;
    const changed = difference(kind, this.#withoutForeignConditions(key), status);
    const repairMs = this.#untilRepaired(key, { resource, report, status });
    if (changed === 'none') return undefined;
    const rest = this.#untilMinor(key, changed, report);
    if (Math.max(repairMs, rest) > 0) return Math.max(repairMs, rest);
    this.#statusAt.set(key, this.props.monotonic());
    try {
      await this.#applyStatus(recorded, status);
    } catch (error) {
      // While the schema is lost it can be written; afterwards only the event names the problem.
      if (isValid || !(isInvalid(error) || isUntyped(error))) throw error;
    }
    // After the status: while it cannot be written, each attempt would record the event again.
    this.#recordEvent(resource, status);
    return undefined;
  }

  /** The report, with a condition for each watch that does not work: what it says may be old. */
  #withWatches(report: Report): Report {
    const found = this.props.watchConditions?.() ?? [];
    if (found.length === 0) return report;
    const { statusResult } = report;
    const conditions = [...(statusResult.conditions ?? []), ...found];
    return { ...report, statusResult: { ...statusResult, conditions } };
  }

  /**
   * Repeats fields of a status in an annotation, before the status itself.
   * @returns the resource in its new version
   */
  async #recordStatus(resource: OwnResource, status: Status): Promise<OwnResource> {
    const { api, client, kind, metadataKeys } = this.props;
    const { namespace, name, uid, resourceVersion, annotations } = resource.metadata;
    const { recordedStatus: annotation } = metadataKeys;
    const record = recordOf(kind, resource, status);
    if (annotations?.[annotation] === record) return resource;
    const path = resourcePath(api, namespace, name);
    const answer = await this.#write(resource, () =>
      client.request<KubeObject>('PATCH', path, {
        query: { fieldManager: FIELD_MANAGER },
        contentType: MERGE_PATCH,
        body: {
          metadata: { uid, resourceVersion, annotations: { [annotation]: record ?? null } },
        },
      }),
    );
    return answer ? { ...resource, metadata: answer.metadata } : resource;
  }

  /**
   * Writes a resource in the version that was reconciled, and takes in the answer. A resource that has
   * changed meanwhile is read again, so that the next attempt knows it also while the watch is late. So is
   * one that seems to be deleted: a proxy in front of the API server may answer 404 as well.
   * @returns undefined if the resource no longer exists
   * @throws what the write throws, such as the conflict
   */
  async #write(
    resource: OwnResource,
    write: () => Promise<KubeObject>,
  ): Promise<KubeObject | undefined> {
    try {
      return await this.props.write(keyOfObject(resource), write);
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
      const exists = (await this.props.live?.refresh(resource)) ?? false;
      if (isNotFound(error) && !exists) return undefined;
      throw error;
    }
  }

  #measure(resource: OwnResource, status: Status): void {
    const { kind, metrics } = this.props;
    const { namespace = '', name } = resource.metadata;
    const id = { kind: this.#kindName, namespace, name };
    metrics.phase(id, status.phase);
    const [parent] = kind.references;
    const time = kind.lastSuccess === undefined ? undefined : status[kind.lastSuccess];
    if (!parent || typeof time !== 'string') metrics.lastSuccess(id, undefined);
    else {
      const labels = { [parent.label]: referenceName(resource, parent) ?? '' };
      metrics.lastSuccess(id, { time, labels });
    }
  }

  async #applyStatus(resource: OwnResource, whole: Status): Promise<void> {
    const { api, client, unservedStatus } = this.props;
    const unserved = unservedStatus?.() ?? [];
    const fields = Object.entries(whole).filter(([name]) => !unserved.includes(`status.${name}`));
    const status = Object.fromEntries(fields);
    const { apiVersion, kind } = resource;
    const { namespace, name, uid, resourceVersion } = resource.metadata;
    const answer = await this.#write(resource, () =>
      client.apply<KubeObject>(
        resourcePath(api, namespace, name, 'status'),
        { apiVersion, kind, metadata: { name, namespace, uid, resourceVersion }, status },
        STATUS_MANAGER,
      ),
    );
    if (answer) this.#rememberForeignConditions(answer as OwnResource, status);
  }

  /** What stays in a status although it was not applied belongs to another field manager. */
  #rememberForeignConditions(answer: OwnResource, { conditions = [] }: Status): void {
    const own = new Set(conditions.map(({ type }) => type));
    const types = (answer.status?.conditions ?? []).map(({ type }) => type);
    const foreign = types.filter((type) => !own.has(type));
    const key = keyOfObject(answer);
    if (foreign.length > 0) this.#foreignConditions.set(key, new Set(foreign));
    else this.#foreignConditions.delete(key);
  }

  /** The stored status, without the conditions of other field managers. */
  #withoutForeignConditions(key: string): Status | undefined {
    const status = this.#stored(key)?.status;
    const foreign = this.#foreignConditions.get(key);
    if (!foreign || !status?.conditions) return status;
    const conditions = status.conditions.filter(({ type }) => !foreign.has(type));
    return { ...status, conditions };
  }

  /** Records an event for each new reason of the Ready condition that is not mere progress. */
  #recordEvent(resource: OwnResource, status: Status): void {
    const { events, kind } = this.props;
    const ready = status.conditions?.find(({ type }) => type === 'Ready');
    const before = resource.status?.conditions?.find(({ type }) => type === 'Ready');
    if (!ready || ready.reason === before?.reason) return;
    if (reasonClass(kind, ready.reason) === 'progress') return;
    events.record(resource, {
      type: ready.status === 'True' ? 'Normal' : 'Warning',
      reason: ready.reason,
      message: ready.message,
      action: 'Reconcile',
    });
  }

  /** The resource may be gone from the caches by now. */
  #recordLastWarning(resource: OwnResource, { lastWarning }: Report): void {
    if (!lastWarning) return;
    this.props.events.record(resource, { type: 'Warning', ...lastWarning, action: 'Cleanup' });
  }

  #setBatchObjects(key: string, objects: readonly KubeObject[]): void {
    this.props.batchObjects.set(joined(this.#kindName, key), objects);
  }

  #resource(key: string): OwnResource | undefined {
    const { kind, metadataKeys } = this.props;
    const stored = this.#stored(key);
    return stored && withRecordedStatus(kind, metadataKeys, stored);
  }

  #stored(key: string): OwnResource | undefined {
    return this.props.dependencies.objects(this.#kindName).get(key) as OwnResource | undefined;
  }

  #forget(key: string): void {
    const { metrics } = this.props;
    const slash = key.indexOf('/');
    this.#reconciler.forget(key);
    this.#setBatchObjects(key, []);
    this.queue.forget(key);
    this.#reconciledAt.delete(key);
    this.#statusAt.delete(key);
    this.#repairs.delete(key);
    this.#repairingSince.delete(key);
    this.#foreignConditions.delete(key);
    const id = {
      kind: this.#kindName,
      namespace: key.slice(0, slash),
      name: key.slice(slash + 1),
    };
    metrics.phase(id, undefined);
    metrics.lastSuccess(id, undefined);
  }
}
