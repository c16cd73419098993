import { keyOf } from '../../../constructs/kit/object.js';
import { benchNames, siteNames } from '../../../constructs/kit/names.js';
import { ApiError, isForbidden, isNotFound } from '../../../runner/api/api-error.js';
import type { Client } from '../../../runner/api/client.js';
import type { Omission } from '../../kube/snapshot.js';
import type { Ours } from './resource-status.js';

/** How many jobs wait, as far as it is told. */
export interface Queues {
  /** By `<namespace>/<name of the worker's Deployment>`. */
  readonly lengths: ReadonlyMap<string, number>;
  readonly omitted: readonly Omission[];
}

const METRIC = /^app_worker_queue_length\{(.*)\} (\S+)$/gm;
const LABEL = /([a-z_]+)="((?:[^"\\]|\\.)*)"/g;
const TIMEOUT_MS = 5_000;

/** Asks the exporters of benches for the lengths of their queues, through the API server. */
export async function queuesOf(
  client: Pick<Client, 'request'>,
  benches: readonly Ours[],
): Promise<Queues> {
  const lengths = new Map<string, number>();
  const omitted: Omission[] = [];
  await Promise.all(
    benches.map(async ({ metadata: { namespace = '', name } }) => {
      const service = `${name}-metrics`;
      const path = `/api/v1/namespaces/${namespace}/services/${service}:metrics/proxy/metrics`;
      try {
        const text = await client.request<string>('GET', path, {
          answer: 'text',
          accept: 'text/plain',
          timeoutMs: TIMEOUT_MS,
        });
        for (const [worker, length] of lengthsIn(text, name))
          lengths.set(keyOf(namespace, worker), length);
      } catch (error) {
        omitted.push({
          what: `queue lengths of ${name}`,
          namespace,
          why: reasonOf(error, service),
        });
      }
    }),
  );
  return { lengths, omitted };
}

/** What an exporter says, by the name of the Deployment that takes from the queue. */
export function lengthsIn(text: string, bench: string): ReadonlyMap<string, number> {
  const lengths = new Map<string, number>();
  for (const [, labels = '', value] of text.matchAll(METRIC)) {
    const { site = '', queue = '' } = Object.fromEntries(
      [...labels.matchAll(LABEL)].map(([, name = '', text = '']) => [name, text]),
    );
    const names = site === '' || site === '-' ? benchNames(bench) : siteNames(site);
    lengths.set(names.worker(queue), Number(value));
  }
  return lengths;
}

function reasonOf(error: unknown, service: string): string {
  if (isNotFound(error)) return `there is no Service ${service}`;
  // A pod with an address that is none, such as a simulated one, is refused as well.
  if (isForbidden(error) && error.message.includes('services/proxy'))
    return 'you may not get services/proxy';
  if (error instanceof ApiError) return `Service ${service} does not answer (${error.status})`;
  return `Service ${service} does not answer`;
}
