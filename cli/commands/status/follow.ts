import { isForbidden } from '../../../runner/api/api-error.js';
import { resourcePath } from '../../../runner/api/resource-path.js';
import { Reflector } from '../../../runner/cache/reflector.js';
import type { ApiClient } from '../../kube/connect.js';
import type { Listing } from '../../kube/kinds.js';
import { omitted, type ClusterSnapshot } from '../../kube/snapshot.js';

/** Changes within this time are shown together. */
const DEBOUNCE_MS = 150;
/** Ages grow without changes. */
const REFRESH_MS = 5_000;

export type Continuation = 'continue' | 'stop';

export interface FollowProps {
  readonly listings: readonly Listing[];
  /** Undefined for all. */
  readonly namespace: string | undefined;
  readonly signal: AbortSignal;
  readonly show: () => Promise<Continuation>;
}

/**
 * Updates a snapshot from watches, and calls `show` after changes, one call at a time.
 * @returns when the signal is aborted, or `show` returns `stop`
 */
export async function follow(
  client: ApiClient,
  snapshot: ClusterSnapshot,
  props: FollowProps,
): Promise<void> {
  const { listings, show } = props;
  const stop = new AbortController();
  const signal = AbortSignal.any([props.signal, stop.signal]);
  let changed = Promise.withResolvers<undefined>();
  const watches = listings
    .filter(({ kind }) => snapshot.lists(kind))
    .map((listing) => {
      const onChange = (): void => changed.resolve(undefined);
      return watch(client, snapshot, listing, { ...props, signal, onChange });
    });
  const ended = abortOf(signal);
  try {
    while (!signal.aborted && (await show()) === 'continue') {
      await Promise.race([changed.promise, elapsed(REFRESH_MS), ended]);
      await Promise.race([elapsed(DEBOUNCE_MS), ended]);
      changed = Promise.withResolvers<undefined>();
    }
  } finally {
    stop.abort();
    await Promise.all(watches);
  }
}

/** Watches one kind until the signal is aborted. Without the permission its objects stay as listed. */
async function watch(
  client: ApiClient,
  snapshot: ClusterSnapshot,
  { kind, labelSelector, metadataOnly }: Listing,
  props: Pick<FollowProps, 'namespace' | 'signal'> & { readonly onChange: () => void },
): Promise<void> {
  const { namespace, signal, onChange } = props;
  const reflector = new Reflector({
    client,
    path: resourcePath(kind, namespace),
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(metadataOnly ? { metadataOnly } : {}),
    sink: {
      replace: (objects) => {
        snapshot.replace(kind, objects);
        onChange();
        return undefined;
      },
      upsert: (object) => {
        snapshot.put(kind, object);
        onChange();
      },
      remove: (object) => {
        snapshot.remove(kind, object);
        onChange();
      },
    },
    signal,
    now: () => performance.now(),
    random: Math.random,
    onRestart: (_reason, error) => {
      if (!isForbidden(error)) return;
      const one = omitted(kind, namespace, 'forbidden: watch; the state may be outdated');
      if (!snapshot.omitted.some(({ what, why }) => what === one.what && why === one.why))
        snapshot.omitted.push(one);
    },
  });
  await reflector.run();
}

function abortOf(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

function elapsed(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
