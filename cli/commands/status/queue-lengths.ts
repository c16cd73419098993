import { keyOf, type Resource } from '../../../constructs/kit/object.js';
import { KINDS, type AnyKind } from '../../../constructs/registry.js';
import { ApiError, isForbidden, isNotFound } from '../../../runner/api/api-error.js';
import type { Client } from '../../../runner/api/client.js';
import { resourceKinds } from '../../kube/kinds.js';
import { metricsPath } from '../../kube/metrics-path.js';
import type { ClusterSnapshot, Omission } from '../../kube/snapshot.js';

/** The jobs that wait in queues. */
export interface QueueLengths {
  /** By `<namespace>/<name of the worker's Deployment>`. */
  readonly lengths: ReadonlyMap<string, number>;
  readonly omitted: readonly Omission[];
}

/** A resource with an exporter of metrics. */
export interface Exporter {
  readonly resource: Resource;
  /** The path of a scrape, through the API server. */
  readonly path: string;
  readonly serviceName: string;
  readonly queueLengths: (scrape: string) => ReadonlyMap<string, number>;
}

const TIMEOUT_MS = 5_000;

/** The exporters of the resources in a snapshot. */
export function exportersIn(
  snapshot: ClusterSnapshot,
  apiGroup: string,
  kinds: readonly AnyKind[] = KINDS,
): readonly Exporter[] {
  return resourceKinds(apiGroup, kinds).flatMap((objectKind, index) => {
    const exporter = kinds[index]?.statusView?.exporter;
    if (!exporter) return [];
    return (snapshot.of(objectKind) as readonly Resource[]).map((resource) => {
      const serviceName = exporter.serviceName(resource);
      const { namespace = '' } = resource.metadata;
      return {
        resource,
        serviceName,
        path: metricsPath(namespace, `${serviceName}:metrics`),
        queueLengths: (scrape: string) => exporter.queueLengths(scrape, resource),
      };
    });
  });
}

/** Scrapes exporters for the lengths of their queues. */
export async function scrapeQueues(
  client: Pick<Client, 'request'>,
  exporters: readonly Exporter[],
): Promise<QueueLengths> {
  const lengths = new Map<string, number>();
  const omitted: Omission[] = [];
  await Promise.all(
    exporters.map(async ({ resource, path, serviceName, queueLengths }) => {
      const { namespace = '', name } = resource.metadata;
      try {
        const scrape = await client.request<string>('GET', path, {
          answer: 'text',
          accept: 'text/plain',
          timeoutMs: TIMEOUT_MS,
        });
        for (const [worker, length] of queueLengths(scrape))
          lengths.set(keyOf(namespace, worker), length);
      } catch (error) {
        const what = `queue lengths of ${name}`;
        omitted.push({ what, namespace, why: reasonOf(error, serviceName) });
      }
    }),
  );
  return { lengths, omitted };
}

function reasonOf(error: unknown, service: string): string {
  if (isNotFound(error)) return `Service ${service} not found`;
  // The API server also refuses pods without a routable address, such as simulated pods.
  if (isForbidden(error) && error.message.includes('services/proxy'))
    return 'forbidden: get services/proxy';
  if (error instanceof ApiError) return `Service ${service} does not respond (${error.status})`;
  return `Service ${service} does not respond`;
}
