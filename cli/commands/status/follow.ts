import type { ObjectKind } from '../../../constructs/kit/object-kind.js';
import { isForbidden, isGone } from '../../../runner/api/api-error.js';
import { resourcePath } from '../../../runner/api/resource-path.js';
import { Reflector } from '../../../runner/cache/reflector.js';
import type { ApiClient } from '../../kube/connect.js';
import type { Listing } from '../../kube/kinds.js';
import { omitted, type ClusterSnapshot, type Omission } from '../../kube/snapshot.js';

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

/** Watches one kind until the signal is aborted. While the watch fails, its objects stay as they are. */
async function watch(
  client: ApiClient,
  snapshot: ClusterSnapshot,
  { kind, labelSelector, metadataOnly }: Listing,
  props: Pick<FollowProps, 'namespace' | 'signal'> & { readonly onChange: () => void },
): Promise<void> {
  const { namespace, signal, onChange } = props;
  const note = new WatchNote(snapshot, kind, namespace);
  const reflector = new Reflector({
    client: {
      watch: (...args) => client.watch(...args),
      request: async <T>(...args: Parameters<ApiClient['request']>) => {
        const answer = await client.request<T>(...args);
        note.answered();
        return answer;
      },
    },
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
    onEvent: () => note.remove(),
    onRestart: (_reason, error) => note.add(error),
  });
  await reflector.run();
}

/** Notes among what was omitted that the objects of a kind may be outdated. */
class WatchNote {
  #noted: { readonly omission: Omission; readonly forbidden: boolean } | undefined;

  constructor(
    private readonly snapshot: ClusterSnapshot,
    private readonly kind: ObjectKind,
    private readonly namespace: string | undefined,
  ) {}

  /** @param error why the watch ended */
  add(error: unknown): void {
    // The kind is listed again at once.
    if (isGone(error)) return;
    this.remove();
    const forbidden = isForbidden(error);
    // Without codes of errors: during an outage each kind has another one.
    const cause = forbidden ? 'forbidden: watch' : 'watch failed';
    const why = `${cause}; the state may be outdated`;
    this.#noted = { omission: omitted(this.kind, this.namespace, why), forbidden };
    this.snapshot.omitted.push(this.#noted.omission);
  }

  /** Before the next watch the API server is asked for its version. An event may come minutes later. */
  answered(): void {
    if (!this.#noted?.forbidden) this.remove();
  }

  remove(): void {
    if (!this.#noted) return;
    const { omitted: all } = this.snapshot;
    all.splice(all.indexOf(this.#noted.omission), 1);
    this.#noted = undefined;
  }
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
