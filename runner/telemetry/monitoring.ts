import { monitoringObjects, type OwnObject } from '../../constructs/index.js';
import { MANAGED_BY, MANAGED_BY_LABEL } from '../../constructs/kit/labels.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { kindId, type ObjectKind } from '../../constructs/kit/object-kind.js';
import { ApiError, isNotFound } from '../api/api-error.js';
import { FIELD_MANAGER } from '../cache/child.js';
import type { Client } from '../api/client.js';
import { NotLeading } from '../leader/fence.js';
import type { Logger } from './log.js';
import { resourcePath } from '../api/resource-path.js';

/** An API server that does not answer is asked again after this long. */
const RETRY_MS = 30_000;
/** They are not watched: what somebody deletes is made again when the operator next looks. */
const LOOK_MS = 600_000;

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
 * Makes the operator's own ServiceMonitors, its PrometheusRule and its dashboard where the cluster serves
 * those APIs, now or later. They are a convenience: nothing else depends on them, and what is not allowed
 * is said once.
 */
export class MonitoringReconciler {
  /** The kinds whose APIs may be missing. */
  readonly kinds: readonly ObjectKind[];
  readonly #objects: readonly OwnObject[];
  readonly #served = new Set<string>();
  readonly #told = new Set<string>();
  readonly #timers = new Map<OwnObject, NodeJS.Timeout>();
  #leading = false;

  constructor(private readonly props: MonitoringReconcilerProps) {
    this.#objects = monitoringObjects(props);
    this.kinds = [...new Set(this.#objects.map((own) => own.with))];
  }

  /** Says whether an API is there. */
  serve(kind: ObjectKind, served: boolean): void {
    if (served) this.#served.add(kindId(kind));
    else this.#served.delete(kindId(kind));
    for (const own of this.#objects) if (own.with === kind) void this.#keep(own);
  }

  /** Only a leader writes. */
  start(): void {
    this.#leading = true;
    for (const own of this.#objects) void this.#keep(own);
  }

  stop(): void {
    this.#leading = false;
    for (const timer of this.#timers.values()) clearTimeout(timer);
  }

  async #keep(own: OwnObject): Promise<void> {
    clearTimeout(this.#timers.get(own));
    if (!this.#served.has(kindId(own.with)) || !this.#leading) return;
    try {
      await this.#apply(own);
      this.#later(own, LOOK_MS);
    } catch (error) {
      this.#failed(own, error);
    }
  }

  #later(own: OwnObject, ms: number): void {
    clearTimeout(this.#timers.get(own));
    if (!this.#leading) return;
    const timer = setTimeout(() => void this.#keep(own), ms);
    timer.unref();
    this.#timers.set(own, timer);
  }

  /** One read where it is as it should be, so that a restart writes nothing. */
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
      log.info('monitoring of somebody else is left as it is', about);
      return;
    }
    await client.apply(path, wanted, FIELD_MANAGER);
    log.info('monitoring is applied', about);
  }

  #failed(own: OwnObject, error: unknown): void {
    if (error instanceof NotLeading || !this.#leading) return;
    const { kind, object } = own;
    const { name } = object.metadata;
    if (!this.#told.has(`${kind.kind}/${name}`)) {
      this.props.log.warn('monitoring is not applied', { kind: kind.kind, name, error });
      this.#told.add(`${kind.kind}/${name}`);
    }
    // A right or a namespace that is missing does not come by asking often.
    const refused = error instanceof ApiError && error.status < 500 && error.status !== 429;
    this.#later(own, refused ? LOOK_MS : RETRY_MS);
  }
}

function isOurs({ metadata }: KubeObject): boolean {
  return (
    metadata.labels?.[MANAGED_BY_LABEL] === MANAGED_BY ||
    (metadata.managedFields?.some(({ manager }) => manager === FIELD_MANAGER) ?? false)
  );
}

/** Whether everything that is wanted stands in an object; lists must be of one length. */
function contains(found: unknown, wanted: unknown): boolean {
  if (typeof wanted !== 'object' || wanted === null) return found === wanted;
  if (typeof found !== 'object' || found === null) return false;
  if (Array.isArray(wanted) && (found as readonly unknown[]).length !== wanted.length) return false;
  return Object.entries(wanted).every(([key, value]) =>
    contains((found as Readonly<Record<string, unknown>>)[key], value),
  );
}
