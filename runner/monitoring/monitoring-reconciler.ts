import { monitoringObjects, type OwnObject } from '../../constructs/index.js';
import { MANAGED_BY, MANAGED_BY_LABEL } from '../../constructs/kit/labels.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { kindId, type ObjectKind } from '../../constructs/kit/object-kind.js';
import { ApiError, isNotFound } from '../api/api-error.js';
import { FIELD_MANAGER } from '../cache/child.js';
import type { Client } from '../api/client.js';
import { NotLeading } from '../leader/fence.js';
import type { Logger } from '../telemetry/log.js';
import { resourcePath } from '../api/resource-path.js';

/** Delay of a retry after a transient error. */
const RETRY_MS = 30_000;
/** The objects are not watched: a deleted one is created again at the next check. */
const CHECK_MS = 600_000;

export interface MonitoringReconcilerProps {
  readonly client: Pick<Client, 'request' | 'apply'>;
  /** The operator's own namespace. */
  readonly namespace: string;
  /** The namespaces that it works in; all when not given. */
  readonly watchNamespaces?: readonly string[] | undefined;
  /** Whether its own metrics can be scraped from elsewhere. */
  readonly scraped: boolean;
  readonly log: Logger;
}

/**
 * Applies the operator's ServiceMonitors, PrometheusRule and dashboard once the cluster serves their
 * APIs. Nothing else depends on them, so a missing permission is logged once.
 */
export class MonitoringReconciler {
  /** The kinds whose APIs may be missing. */
  readonly kinds: readonly ObjectKind[];
  readonly #objects: readonly OwnObject[];
  readonly #served = new Set<string>();
  readonly #logged = new Set<string>();
  readonly #timers = new Map<OwnObject, NodeJS.Timeout>();
  #leading = false;

  constructor(private readonly props: MonitoringReconcilerProps) {
    this.#objects = monitoringObjects(props);
    this.kinds = [...new Set(this.#objects.map((own) => own.with))];
  }

  /** Sets whether the cluster serves an API. */
  serve(kind: ObjectKind, served: boolean): void {
    if (served) this.#served.add(kindId(kind));
    else this.#served.delete(kindId(kind));
    for (const own of this.#objects) if (own.with === kind) void this.#reconcile(own);
  }

  /** Only a leader writes. */
  start(): void {
    this.#leading = true;
    for (const own of this.#objects) void this.#reconcile(own);
  }

  stop(): void {
    this.#leading = false;
    for (const timer of this.#timers.values()) clearTimeout(timer);
  }

  async #reconcile(own: OwnObject): Promise<void> {
    clearTimeout(this.#timers.get(own));
    if (!this.#served.has(kindId(own.with)) || !this.#leading) return;
    try {
      await this.#apply(own);
      this.#requeue(own, CHECK_MS);
    } catch (error) {
      this.#failed(own, error);
    }
  }

  #requeue(own: OwnObject, ms: number): void {
    clearTimeout(this.#timers.get(own));
    if (!this.#leading) return;
    const timer = setTimeout(() => void this.#reconcile(own), ms);
    timer.unref();
    this.#timers.set(own, timer);
  }

  /** Reads first, so that a restart writes nothing. */
  async #apply({ kind, object: wanted }: OwnObject): Promise<void> {
    const { client, namespace, log } = this.props;
    const about = { kind: kind.kind, namespace, name: wanted.metadata.name };
    const path = resourcePath(kind, namespace, about.name);
    const found = await client.request<KubeObject>('GET', path).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    if (found && contains(found, wanted)) return;
    if (found && !isOurs(found)) {
      log.info('monitoring object of another owner exists; skipping it', about);
      return;
    }
    await client.apply(path, wanted, FIELD_MANAGER);
    log.info('monitoring object applied', about);
  }

  #failed(own: OwnObject, error: unknown): void {
    if (error instanceof NotLeading || !this.#leading) return;
    const { kind, object } = own;
    const { name } = object.metadata;
    if (!this.#logged.has(`${kind.kind}/${name}`)) {
      this.props.log.warn('monitoring object not applied', { kind: kind.kind, name, error });
      this.#logged.add(`${kind.kind}/${name}`);
    }
    // A missing permission or namespace needs no fast retry.
    const refused = error instanceof ApiError && error.status < 500 && error.status !== 429;
    this.#requeue(own, refused ? CHECK_MS : RETRY_MS);
  }
}

function isOurs({ metadata }: KubeObject): boolean {
  return (
    metadata.labels?.[MANAGED_BY_LABEL] === MANAGED_BY ||
    (metadata.managedFields?.some(({ manager }) => manager === FIELD_MANAGER) ?? false)
  );
}

/** Whether an object contains everything that is wanted; lists must have the same length. */
function contains(found: unknown, wanted: unknown): boolean {
  if (typeof wanted !== 'object' || wanted === null) return found === wanted;
  if (typeof found !== 'object' || found === null) return false;
  if (Array.isArray(wanted) && (found as readonly unknown[]).length !== wanted.length) return false;
  return Object.entries(wanted).every(([key, value]) =>
    contains((found as Readonly<Record<string, unknown>>)[key], value),
  );
}
