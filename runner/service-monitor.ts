import { ServiceMonitorKind, serviceMonitorOf } from '../constructs/index.js';
import { MANAGED_BY, MANAGED_BY_LABEL } from '../constructs/kit/labels.js';
import type { KubeObject } from '../constructs/kit/object.js';
import { ApiError, isNotFound } from './api/api-error.js';
import { FIELD_MANAGER } from './cache/child.js';
import type { Client } from './api/client.js';
import { NotLeading } from './leader/fence.js';
import type { Logger } from './log.js';
import { resourcePath } from './api/resource-path.js';

/** An API server that does not answer is asked again after this long. */
const RETRY_MS = 30_000;

/**
 * Makes the operator's own ServiceMonitor where the cluster serves that API, now or later. It is a
 * convenience: nothing else depends on it, and where it is not allowed that is said once.
 */
export class ServiceMonitorKeeper {
  readonly kind = ServiceMonitorKind;
  #served = false;
  #leading = false;
  #told = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly props: {
      readonly client: Pick<Client, 'request' | 'apply'>;
      /** The operator's own namespace. */
      readonly namespace: string;
      readonly log: Logger;
    },
  ) {}

  /** Says whether the API is there. */
  serve(served: boolean): void {
    this.#served = served;
    void this.#keep();
  }

  /** Only a leader writes. */
  start(): void {
    this.#leading = true;
    void this.#keep();
  }

  stop(): void {
    this.#leading = false;
    clearTimeout(this.#timer);
  }

  async #keep(): Promise<void> {
    clearTimeout(this.#timer);
    if (!this.#served || !this.#leading) return;
    try {
      await this.#apply();
    } catch (error) {
      this.#failed(error);
    }
  }

  /** One read where it is as it should be, so that a restart writes nothing. */
  async #apply(): Promise<void> {
    const { client, namespace, log } = this.props;
    const wanted = serviceMonitorOf(namespace);
    const { name } = wanted.metadata;
    const path = resourcePath(this.kind, namespace, name);
    const found = await client.request<KubeObject>('GET', path).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    if (found && contains(found, wanted)) return;
    if (found && !isOurs(found)) {
      log.info('a ServiceMonitor of somebody else is left as it is', { namespace, name });
      return;
    }
    await client.apply(path, wanted, FIELD_MANAGER);
    log.info('the ServiceMonitor is applied', { namespace, name });
  }

  #failed(error: unknown): void {
    if (error instanceof NotLeading || !this.#leading) return;
    if (!this.#told) {
      this.props.log.warn('the ServiceMonitor is not applied', { error });
      this.#told = true;
    }
    // Without the right or the namespace it does not help to ask again.
    if (error instanceof ApiError && error.status < 500 && error.status !== 429) return;
    this.#timer = setTimeout(() => void this.#keep(), RETRY_MS);
    this.#timer.unref();
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
