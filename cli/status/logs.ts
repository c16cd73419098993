import { isForbidden } from '../../runner/api/api-error.js';
import type { Client } from '../../runner/api/client.js';
import { resourcePath } from '../../runner/api/resource-path.js';
import type { PodObject } from '../../runner/reconcile/diagnose.js';
import { redactText } from '../../runner/redact.js';
import { POD } from '../kube/kinds.js';
import type { Unseen } from '../kube/sight.js';
import type { LastLog } from './node.js';
import { wantedLog, type WantedLog } from './pod.js';

/** Of how many pods logs are read at most: where hundreds fail, they fail of the same. */
const MOST = 10;
const LINES = 5;

/** The last words of pods in trouble. What has been read is kept, since it does not change. */
export class LastLogs {
  readonly #known = new Map<string, LastLog>();

  constructor(private readonly client: Pick<Client, 'request'>) {}

  /** @returns the logs by `WantedLog.key`, and what was not shown */
  async of(pods: readonly PodObject[]): Promise<{
    readonly logs: ReadonlyMap<string, LastLog>;
    readonly unseen: readonly Unseen[];
  }> {
    const wanted = pods.flatMap((pod) => wantedLog(pod) ?? []);
    const forbidden = new Set<string>();
    await Promise.all(
      wanted
        .filter(({ key }) => !this.#known.has(key))
        .slice(0, MOST)
        .map(async (one) => {
          try {
            this.#known.set(one.key, await this.#read(one));
          } catch (error) {
            if (isForbidden(error)) forbidden.add(one.namespace);
            // The pod, or the log of its run before, may be gone: what the pod says is shown anyway.
          }
        }),
    );
    return {
      logs: this.#known,
      unseen: [...forbidden].map((namespace) => ({
        what: 'logs of pods',
        namespace,
        why: 'you may not get pods/log',
      })),
    };
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
