import { isForbidden } from '../../../runner/api/api-error.js';
import type { Client } from '../../../runner/api/client.js';
import { resourcePath } from '../../../runner/api/resource-path.js';
import { Reflector } from '../../../runner/cache/reflector.js';
import type { Listing } from '../../kube/kinds.js';
import { omitted, type ClusterSnapshot } from '../../kube/snapshot.js';

/** Changes that come together are shown together. */
const TOGETHER_MS = 150;
/** Ages are shown: they grow by themselves. */
const AGAIN_MS = 5_000;

/**
 * Keeps a sight in step with the cluster, and calls `show` after changes, one call at a time.
 * @returns when the signal is aborted, or `show` says that it is enough
 */
export async function follow(
  client: Pick<Client, 'request' | 'watch'>,
  snapshot: ClusterSnapshot,
  props: {
    readonly listings: readonly Listing[];
    readonly namespace: string | undefined;
    readonly signal: AbortSignal;
    readonly show: () => Promise<'more' | 'enough'>;
  },
): Promise<void> {
  const { listings, namespace, show } = props;
  const stop = new AbortController();
  const signal = AbortSignal.any([props.signal, stop.signal]);
  let changed = Promise.withResolvers<undefined>();
  const change = (): void => changed.resolve(undefined);
  const running = listings
    .filter(({ kind }) => snapshot.sees(kind))
    .map(({ kind, labelSelector, metadataOnly = false }) =>
      new Reflector({
        client,
        path: resourcePath(kind, namespace),
        ...(labelSelector === undefined ? {} : { labelSelector }),
        metadataOnly,
        sink: {
          replace: (objects) => {
            snapshot.replace(kind, objects);
            change();
          },
          upsert: (object) => {
            snapshot.put(kind, object);
            change();
          },
          remove: (object) => {
            snapshot.remove(kind, object);
            change();
          },
        },
        signal,
        now: () => performance.now(),
        random: Math.random,
        onRestart: (_reason, error) => {
          if (!isForbidden(error)) return;
          const one = omitted(kind, namespace, 'you may not watch them: shown as they were');
          if (!snapshot.omitted.some(({ what, why }) => what === one.what && why === one.why))
            snapshot.omitted.push(one);
        },
      }).run(),
    );
  const ended = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  try {
    while (!signal.aborted && (await show()) === 'more') {
      await Promise.race([changed.promise, elapsed(AGAIN_MS), ended]);
      await Promise.race([elapsed(TOGETHER_MS), ended]);
      changed = Promise.withResolvers<undefined>();
    }
  } finally {
    stop.abort();
    await Promise.all(running);
  }
}

function elapsed(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
