import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '../../constructs/kit/object.js';
import type { Client } from '../../runner/api/client.js';
import { Reflector } from '../../runner/cache/reflector.js';
import { aSite, siteName } from './workload.js';

export interface Waiting {
  /** Of the collection. */
  readonly path: string;
  readonly passes: (object: KubeObject) => boolean;
  readonly timeoutMs: number;
  /** Called with the number of objects that pass. */
  readonly onCount?: ((count: number) => void) | undefined;
}

/**
 * Waits until a number of objects of a collection pass a test. It uses a watch: polling would add
 * load to the measurement.
 */
export async function untilCount(
  client: Client,
  { path, passes, timeoutMs, onCount }: Waiting,
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
      onCount?.(passing.size);
      if (passing.size < count) return;
      clearTimeout(timer);
      resolve();
    };
    const removed = ({ metadata }: KubeObject): void => {
      passing.delete(metadata.name);
    };
    watchObjects(client, path, { seen: check, removed }, stop.signal);
  }).finally(() => {
    stop.abort();
  });
}

export interface Watching {
  /** Called with each object, and again after each change. */
  readonly seen: (object: KubeObject) => void;
  readonly removed?: (object: KubeObject) => void;
}

/** Watches a collection until the signal. */
export function watchObjects(
  client: Client,
  path: string,
  { seen, removed }: Watching,
  signal: AbortSignal,
): void {
  const reflector = new Reflector({
    client,
    path,
    sink: {
      replace: (objects) => {
        objects.forEach(seen);
        return undefined;
      },
      upsert: seen,
      remove: (object) => removed?.(object),
    },
    signal,
    now: () => performance.now(),
    random: Math.random,
  });
  void reflector.run();
}

const API = '/apis/app-operator.io/v1alpha1/namespaces';
const TIMEOUT_MS = 300_000;

/** Waits until so many resources of a kind are Ready in a namespace. */
export function untilReady(
  client: Client,
  namespace: string,
  plural: string,
  count: number,
): Promise<void> {
  const path = `${API}/${namespace}/${plural}`;
  return untilCount(client, { path, passes: isReady, timeoutMs: TIMEOUT_MS }, count);
}

/** Seconds from the apply of a new site until it is Ready, beside `index` others. */
export async function newSite(client: Client, namespace: string, index: number): Promise<number> {
  const isDone = untilReady(client, namespace, 'appsites', index + 1);
  await sleep(500);
  const start = performance.now();
  const path = `${API}/${namespace}/appsites/${siteName(index)}`;
  await client.apply(path, aSite(namespace, index), 'benchmark');
  await isDone;
  return (performance.now() - start) / 1000;
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
