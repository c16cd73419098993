import type { KubeObject } from '../../constructs/kit/object.js';
import type { Client } from '../../runner/api/client.js';
import { Reflector } from '../../runner/cache/reflector.js';

export interface Waiting {
  /** Of the collection. */
  readonly path: string;
  readonly passes: (object: KubeObject) => boolean;
  readonly timeoutMs: number;
}

/**
 * Waits until a number of objects of a collection pass a test. It uses a watch: polling would add
 * load to the measurement.
 */
export async function untilCount(
  client: Client,
  { path, passes, timeoutMs }: Waiting,
  count: number,
): Promise<void> {
  const passing = new Set<string>();
  const stop = new AbortController();
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new Error(`${passing.size} of ${count} at ${path} after ${timeoutMs / 1000} s`));
    }, timeoutMs);
    const check = (object: KubeObject): void => {
      if (passes(object)) passing.add(object.metadata.name);
      else passing.delete(object.metadata.name);
      if (passing.size < count) return;
      clearTimeout(timer);
      resolve();
    };
    const reflector = new Reflector({
      client,
      path,
      sink: {
        replace: (objects) => {
          objects.forEach(check);
        },
        upsert: check,
        remove: ({ metadata }) => {
          passing.delete(metadata.name);
        },
      },
      signal: stop.signal,
      now: () => performance.now(),
      random: Math.random,
    });
    void reflector.run();
  }).finally(() => {
    stop.abort();
  });
}

interface WithStatus extends KubeObject {
  readonly status?: {
    readonly phase?: string;
    readonly availableReplicas?: number;
    readonly succeeded?: number;
  };
}

export const isReady = (object: KubeObject): boolean =>
  (object as WithStatus).status?.phase === 'Ready';
export const isAvailable = (object: KubeObject): boolean =>
  ((object as WithStatus).status?.availableReplicas ?? 0) > 0;
export const hasSucceeded = (object: KubeObject): boolean =>
  ((object as WithStatus).status?.succeeded ?? 0) > 0;
