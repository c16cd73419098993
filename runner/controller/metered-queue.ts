import type { Metrics } from '../telemetry/metrics.js';
import { WorkQueue, type WorkQueueProps } from './workqueue.js';

/** The work queue of a controller, whose depth, waits and retries the metrics tell by its name. */
export function meteredQueue(
  name: string,
  metrics: Metrics,
  {
    concurrency,
    monotonic: now,
    random,
  }: {
    readonly concurrency: number;
    /** Milliseconds. */
    readonly monotonic: () => number;
    /** In [0, 1), for jitter. */
    readonly random: () => number;
  },
  work: WorkQueueProps['work'],
): WorkQueue {
  return new WorkQueue({
    work,
    concurrency,
    now,
    random,
    onDepth: (depth) => {
      metrics.queueLength(name, depth);
    },
    onWait: (seconds) => {
      metrics.waited(name, seconds);
    },
    onRetry: () => {
      metrics.retried(name);
    },
  });
}
