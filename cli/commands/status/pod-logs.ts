import { isForbidden } from '../../../runner/api/api-error.js';
import type { Client } from '../../../runner/api/client.js';
import { resourcePath } from '../../../runner/api/resource-path.js';
import type { PodObject } from '../../../runner/health/pod-diagnostics.js';
import { redactText } from '../../../runner/telemetry/redact.js';
import { POD } from '../../kube/kinds.js';
import type { Omission } from '../../kube/snapshot.js';
import type { LastLog } from './tree-node.js';
import { wantedLog, type WantedLog } from './pod-status.js';

/** The pods whose logs are read at a time: when hundreds fail, the cause is the same. */
const MAX_PODS = 10;
const LINES = 5;
/** A line may be endless. */
const BYTES = 64 * 1024;
/** The time before a failed request for a log is repeated. */
const RETRY_MS = 30_000;

interface Failure {
  readonly at: number;
  readonly forbidden: boolean;
}

/** The logs of failing pods. A log that was read is kept: it does not change. */
export class LastLogs {
  readonly #logs = new Map<string, LastLog>();
  readonly #failed = new Map<string, Failure>();

  /** @param now milliseconds, monotonic */
  constructor(
    private readonly client: Pick<Client, 'request'>,
    private readonly now: () => number,
  ) {}

  /** @returns the logs by `WantedLog.key`, and what could not be read */
  async of(pods: readonly PodObject[]): Promise<{
    readonly logs: ReadonlyMap<string, LastLog>;
    readonly omitted: readonly Omission[];
  }> {
    const wanted = pods.flatMap((pod) => wantedLog(pod) ?? []);
    await Promise.all(this.#nextOf(wanted).map((one) => this.#request(one)));
    const forbidden = new Set(
      wanted
        .filter(({ key }) => this.#failed.get(key)?.forbidden)
        .map(({ namespace }) => namespace),
    );
    return {
      logs: this.#logs,
      omitted: [...forbidden].map((namespace) => ({
        what: 'logs of pods',
        namespace,
        why: 'forbidden: get pods/log',
      })),
    };
  }

  /** The logs to request now: new ones first, then those whose request failed longest ago. */
  #nextOf(wanted: readonly WantedLog[]): readonly WantedLog[] {
    const triedAt = ({ key }: WantedLog): number => this.#failed.get(key)?.at ?? -RETRY_MS;
    return wanted
      .filter((one) => !this.#logs.has(one.key) && this.now() - triedAt(one) >= RETRY_MS)
      .sort((a, b) => triedAt(a) - triedAt(b))
      .slice(0, MAX_PODS);
  }

  async #request(one: WantedLog): Promise<void> {
    try {
      this.#logs.set(one.key, await this.#read(one));
      this.#failed.delete(one.key);
    } catch (error) {
      // The pod or its log may be deleted. The status of the pod is shown anyway.
      this.#failed.set(one.key, { at: this.now(), forbidden: isForbidden(error) });
    }
  }

  async #read({ namespace, pod, container, previous }: WantedLog): Promise<LastLog> {
    const text = await this.client.request<string>(
      'GET',
      resourcePath(POD, namespace, pod, 'log'),
      {
        query: {
          container,
          previous: String(previous),
          tailLines: String(LINES),
          limitBytes: String(BYTES),
        },
        answer: 'text',
        timeoutMs: 10_000,
      },
    );
    return { container, previous, lines: redactText(text).trimEnd().split('\n').slice(-LINES) };
  }
}
