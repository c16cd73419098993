import { setTimeout as sleep } from 'node:timers/promises';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import { isNotFound } from '../api/api-error.js';
import type { Client } from '../api/client.js';
import type { Logger } from '../telemetry/log.js';

/** When a CRD is created or deleted, the cluster may start or stop to serve an optional API. */
export const CustomResourceDefinition: ObjectKind = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
};

/** API servers serve an API some time after its CRD exists: delays of the polls after a hint. */
const POLLS_MS = [300, 1_500, 5_000];
const RETRY_MS = 5_000;

/** Discovers which optional APIs the cluster serves, again after each hint that this may have changed. */
export class Discovery {
  readonly #served = new Map<string, boolean>();
  #timer: NodeJS.Timeout | undefined;
  /** Polls since the last hint. */
  #polls = 0;
  #busy = false;
  #stopped = false;

  constructor(
    private readonly props: {
      readonly client: Pick<Client, 'request'>;
      readonly kinds: readonly ObjectKind[];
      readonly onChange: (kind: ObjectKind, served: boolean) => void;
      /** Called with each poll: a CRD may have changed. */
      readonly onPoll?: () => Promise<void>;
      readonly log: Logger;
    },
  ) {}

  /** Polls once. @throws if the API server does not respond */
  async refresh(): Promise<void> {
    const { kinds, client, onChange, onPoll, log } = this.props;
    await onPoll?.();
    const versions = [...new Set(kinds.map(({ apiVersion }) => apiVersion))];
    const groups = new Map(
      await Promise.all(versions.map(async (v) => [v, await kindsOf(client, v)] as const)),
    );
    for (const kind of kinds) {
      const verbs = groups.get(kind.apiVersion)?.get(kind.kind);
      // A CRD whose objects never terminate stays and takes no new ones: advisory kinds count as absent.
      const served =
        verbs !== undefined && (kind.optional !== 'advisory' || verbs.includes('create'));
      const id = `${kind.apiVersion}/${kind.kind}`;
      if ((this.#served.get(id) ?? false) === served) continue;
      this.#served.set(id, served);
      log.info(served ? 'optional API is served' : 'optional API is no longer served', { api: id });
      onChange(kind, served);
    }
  }

  /** Polls until the API server has responded, or the signal is aborted. */
  async first(signal: AbortSignal): Promise<void> {
    const stopped = (): boolean => signal.aborted;
    while (!stopped()) {
      try {
        await this.refresh();
        return;
      } catch (error) {
        this.props.log.warn('discovery failed', { error });
        await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  /** Polls soon, and a few more times. */
  hint(): void {
    this.#polls = 0;
    if (!this.#busy) this.#schedule(POLLS_MS[0]);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #schedule(delay: number | undefined): void {
    if (delay === undefined || this.#timer || this.#stopped) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#poll();
    }, delay);
    this.#timer.unref();
  }

  /** One poll at a time: an older response must not win. */
  async #poll(): Promise<void> {
    this.#busy = true;
    this.#polls += 1;
    let next: number | undefined;
    try {
      await this.refresh();
      next = POLLS_MS[this.#polls];
    } catch (error) {
      this.props.log.debug('discovery failed', { error });
      next = RETRY_MS;
    }
    this.#busy = false;
    this.#schedule(next);
  }
}

interface ApiResource {
  /** `<plural>`, or `<plural>/<subresource>`, which may have the kind of its resource. */
  readonly name: string;
  readonly kind: string;
  readonly verbs: readonly string[];
}

/** The kinds of an API version with their verbs. */
async function kindsOf(
  client: Pick<Client, 'request'>,
  apiVersion: string,
): Promise<ReadonlyMap<string, readonly string[]>> {
  try {
    const { resources } = await client.request<{ resources: readonly ApiResource[] }>(
      'GET',
      `/apis/${apiVersion}`,
    );
    const own = resources.filter(({ name }) => !name.includes('/'));
    return new Map(own.map(({ kind, verbs }) => [kind, verbs]));
  } catch (error) {
    if (isNotFound(error)) return new Map();
    throw error;
  }
}
