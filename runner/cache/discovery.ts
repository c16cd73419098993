import { setTimeout as sleep } from 'node:timers/promises';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import { isNotFound } from '../api/api-error.js';
import type { Client } from '../api/client.js';
import type { Logger } from '../telemetry/log.js';

/** Custom resource definitions: when one comes or goes, an optional API may have. */
export const CustomResourceDefinition: ObjectKind = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
};

/** An API is served some time after its definition is announced, by some servers later than by others: looks after a hint. */
const LOOKS_MS = [300, 1_500, 5_000];
const RETRY_MS = 5_000;

/** Finds out which optional APIs the cluster serves, again whenever told that this may have changed. */
export class Discovery {
  readonly #served = new Map<string, boolean>();
  #timer: NodeJS.Timeout | undefined;
  /** How often was looked since the last hint. */
  #looks = 0;
  #busy = false;
  #stopped = false;

  constructor(
    private readonly props: {
      readonly client: Pick<Client, 'request'>;
      readonly kinds: readonly ObjectKind[];
      readonly onChange: (kind: ObjectKind, served: boolean) => void;
      readonly log: Logger;
    },
  ) {}

  /** Looks once. @throws where the API server does not answer */
  async refresh(): Promise<void> {
    const { kinds, client, onChange, log } = this.props;
    const versions = [...new Set(kinds.map(({ apiVersion }) => apiVersion))];
    const groups = new Map(
      await Promise.all(versions.map(async (v) => [v, await kindsOf(client, v)] as const)),
    );
    for (const kind of kinds) {
      const verbs = groups.get(kind.apiVersion)?.get(kind.kind);
      // A definition whose objects are stuck in their deletion stays, and takes no new ones: what only helps is done without.
      const served = verbs !== undefined && (!kind.advisory || verbs.includes('create'));
      const id = `${kind.apiVersion}/${kind.kind}`;
      if ((this.#served.get(id) ?? false) === served) continue;
      this.#served.set(id, served);
      log.info(served ? 'an optional API is served' : 'an optional API is gone', { api: id });
      onChange(kind, served);
    }
  }

  /** Looks until the API server has answered, or the signal is aborted. */
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

  /** Looks soon, and a few times more. */
  hint(): void {
    this.#looks = 0;
    if (!this.#busy) this.#schedule(LOOKS_MS[0]);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #schedule(delay: number | undefined): void {
    if (delay === undefined || this.#timer || this.#stopped) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#look();
    }, delay);
    this.#timer.unref();
  }

  /** One look at a time: the answer of an older one must not win. */
  async #look(): Promise<void> {
    this.#busy = true;
    this.#looks += 1;
    let next: number | undefined;
    try {
      await this.refresh();
      next = LOOKS_MS[this.#looks];
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

/** The kinds of an API version, and what can be done with their objects. */
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
