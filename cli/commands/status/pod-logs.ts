import { isForbidden } from '../../../runner/api/api-error.js';
import type { Client } from '../../../runner/api/client.js';
import { resourcePath } from '../../../runner/api/resource-path.js';
import type { PodObject } from '../../../runner/health/pod-diagnostics.js';
import { redactText } from '../../../runner/telemetry/redact.js';
import { POD } from '../../kube/kinds.js';
import type { Omission } from '../../kube/snapshot.js';
import type { LastLog } from './node.js';
import { wantedLog, type WantedLog } from './pod-status.js';

/** Of how many pods logs are read at most: where hundreds fail, they fail of the same. */
const MOST = 10;
const LINES = 5;
/** After how long a log that could not be read is asked for again. */
const AGAIN_MS = 30_000;

interface Failure {
  readonly at: number;
  readonly forbidden: boolean;
}

/** The last words of pods in trouble. What has been read is kept, since it does not change. */
export class LastLogs {
  readonly #known = new Map<string, LastLog>();
  readonly #failed = new Map<string, Failure>();

  /** @param now milliseconds, monotonic */
  constructor(
    private readonly client: Pick<Client, 'request'>,
    private readonly now: () => number,
  ) {}

  /** @returns the logs by `WantedLog.key`, and what was not shown */
  async of(pods: readonly PodObject[]): Promise<{
    readonly logs: ReadonlyMap<string, LastLog>;
    readonly omitted: readonly Omission[];
  }> {
    const wanted = pods.flatMap((pod) => wantedLog(pod) ?? []);
    await Promise.all(this.#turnOf(wanted).map((one) => this.#ask(one)));
    const forbidden = new Set(
      wanted
        .filter(({ key }) => this.#failed.get(key)?.forbidden)
        .map(({ namespace }) => namespace),
    );
    return {
      logs: this.#known,
      omitted: [...forbidden].map((namespace) => ({
        what: 'logs of pods',
        namespace,
        why: 'you may not get pods/log',
      })),
    };
  }

  /** Those that are asked for now: first those that had no turn yet, then those that failed longest ago. */
  #turnOf(wanted: readonly WantedLog[]): readonly WantedLog[] {
    const triedAt = ({ key }: WantedLog): number => this.#failed.get(key)?.at ?? -AGAIN_MS;
    return wanted
      .filter((one) => !this.#known.has(one.key) && this.now() - triedAt(one) >= AGAIN_MS)
      .sort((a, b) => triedAt(a) - triedAt(b))
      .slice(0, MOST);
  }

  async #ask(one: WantedLog): Promise<void> {
    try {
      this.#known.set(one.key, await this.#read(one));
      this.#failed.delete(one.key);
    } catch (error) {
      // The pod, or the log of its run before, may be gone: what the pod says is shown anyway.
      this.#failed.set(one.key, { at: this.now(), forbidden: isForbidden(error) });
    }
  }

  async #read({ namespace, pod, container, previous }: WantedLog): Promise<LastLog> {
    const text = await this.client.request<string>(
      'GET',
      resourcePath(POD, namespace, pod, 'log'),
      {
        query: { container, previous: String(previous), tailLines: String(LINES) },
        answer: 'text',
        timeoutMs: 10_000,
      },
    );
    return { container, previous, lines: redactText(text).trimEnd().split('\n').slice(-LINES) };
  }
}
