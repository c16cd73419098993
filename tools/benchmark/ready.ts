import type { KubeObject } from '../../constructs/kit/object.js';
import type { Client } from '../../runner/api/client.js';
import { Reflector } from '../../runner/cache/reflector.js';

/**
 * Waits until a number of objects of a collection pass a test, by a watch, so that the waiting takes
 * nothing from what is measured.
 */
export async function untilCount(
  client: Client,
  path: string,
  count: number,
  passes: (object: KubeObject) => boolean,
  timeoutMs: number,
): Promise<void> {
  const passing = new Set<string>();
  const stop = new AbortController();
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new Error(`${passing.size} of ${count} at ${path} after ${timeoutMs / 1000} s`));
    }, timeoutMs);
    const see = (object: KubeObject): void => {
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
          objects.forEach(see);
        },
        upsert: see,
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
