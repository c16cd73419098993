import { METADATA } from '../api/media-type.js';
import type { KubeObject, ObjectKey } from '../../constructs/kit/object.js';
import { isForbidden, isGone } from '../api/api-error.js';
import type { Client } from '../api/client.js';
import { listAll } from '../api/list.js';
import { doubledMs } from '../kit/backoff.js';
import { forEachInTurns } from '../kit/event-loop-turns.js';
import { type Clock, systemClock } from '../kit/clock.js';
import { isNewer } from './resource-version.js';

/** Does some work for the object of a key, and reports what it throws. */
export type Guard = (key: ObjectKey, work: () => void) => void;

/** How a sink replaces a collection. */
export interface Replacement {
  /**
   * Whether the version is older than what is known, because etcd was restored from a backup: newer
   * values are replaced, too.
   */
  readonly restored?: boolean;
  /** Ends it, with some of the objects replaced. */
  readonly signal?: AbortSignal;
  /** Does the work for one object. @default an error ends the replacement */
  readonly guard?: Guard;
}

/** Does some work for each key, in turns of the event loop. */
export function forEachKey<T>(
  entries: Iterable<readonly [key: ObjectKey, value: T]>,
  work: (key: ObjectKey, value: T) => void,
  { signal, guard = (_key, one) => one() }: Replacement = {},
): Promise<void> {
  return forEachInTurns(entries, ([key, value]) => guard(key, () => work(key, value)), signal);
}

/** Where a reflector puts the objects. */
export interface Sink {
  /**
   * The whole collection as of a version. It settles when all objects are in: a large collection takes
   * many turns of the event loop, as a Lease must be renewed meanwhile.
   */
  replace(
    objects: readonly KubeObject[],
    version: string,
    how?: Replacement,
  ): Promise<void> | undefined;
  upsert(object: KubeObject): void;
  remove(object: KubeObject): void;
  /**
   * What `replace` needs of a listed object. It is called for each page: a whole collection of full
   * objects would take many times the memory of the caches.
   * @default the whole object
   */
  readonly compact?: ((object: KubeObject) => KubeObject) | undefined;
}

export interface ReflectorProps {
  readonly client: Pick<Client, 'request' | 'watch'>;
  /** Path of the collection. */
  readonly path: string;
  readonly labelSelector?: string;
  /** Such as `metadata.name=x`, which needs the permission for one object only. */
  readonly fieldSelector?: string;
  /** Ask for metadata only: for kinds whose content is large or secret. */
  readonly metadataOnly?: boolean;
  readonly sink: Sink;
  readonly signal: AbortSignal;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  /** In [0, 1), for jitter. */
  readonly random: () => number;
  /** The clock of the backoff. @default the system's */
  readonly clock?: Pick<Clock, 'sleep'>;
  /** Called for each list, event and bookmark. */
  readonly onEvent?: () => void;
  /** Called for each watch that restarts, with a list or after an error. */
  readonly onRestart?: (reason: string, error: unknown) => void;
  /**
   * Milliseconds to wait if the permission to watch is missing: long for optional permissions, which
   * may be denied on purpose. @default as after any error
   */
  readonly forbiddenMs?: number | undefined;
}

const WATCH_SECONDS = 290;
/** Bookmarks come about once a minute, later from a busy server: two must be missing. */
const IDLE_MS = 130_000;
const BACKOFF_MS = { first: 800, most: 30_000 };
/** A watch that ends within this time without an event counts as failed. */
const SHORT_MS = 1_000;

/**
 * Versions must have been older than what is known for this long until they are believed: a list of
 * an API server is never old, but one that a proxy has kept may be.
 */
const RESTORED_MS = 20_000;

/** The API server has an older version than one that it has given before. */
class OlderVersion extends Error {
  override readonly name = 'OlderVersion';
  constructor(
    readonly got: string,
    readonly known: string,
  ) {
    super(`version ${got} is older than the known version ${known}: etcd may have been restored`);
  }
}

/**
 * Keeps a sink equal to a collection: list, then watch, until the signal is aborted. An expired version
 * lists again; any other error is retried with backoff. Where etcd was restored from a backup, the
 * collection is replaced by the older one.
 */
export class Reflector {
  #lastEvent: number;
  /** The version from which the next watch starts; undefined if a list must come first. */
  #version: string | undefined;
  /** The newest version that was seen. */
  #newest: string | undefined;
  /** Since when the API server gives older versions only. */
  #olderSince: number | undefined;
  /** Whether the last watch failed, so that its version must be checked before the next one. */
  #doubted = false;
  #synced = false;
  #forbidden = false;
  /** When an object or a bookmark was processed last. */
  #lastWorked: number;
  #lastError: unknown;
  readonly #firstSync = Promise.withResolvers<undefined>();

  constructor(private readonly props: ReflectorProps) {
    this.#lastEvent = props.now();
    this.#lastWorked = props.now();
  }

  get path(): string {
    return this.props.path;
  }

  /** Whether the first list was received or skipped. */
  get synced(): boolean {
    return this.#synced;
  }

  /** Whether the permission was missing at the last attempt. */
  get forbidden(): boolean {
    return this.#forbidden;
  }

  /** Milliseconds since a list, an event or a bookmark was processed: bookmarks come once a minute. */
  get brokenMs(): number {
    return this.props.now() - this.#lastWorked;
  }

  /** The last error of a list or a watch; undefined if there was none. */
  get lastError(): unknown {
    return this.#lastError;
  }

  /** Counts as synced from now on; the collection is still retried. */
  skip(): void {
    this.#synced = true;
    this.#firstSync.resolve(undefined);
  }

  /** Settles with the first list, or when the signal is aborted. */
  get whenSynced(): Promise<undefined> {
    return this.#firstSync.promise;
  }

  /** Milliseconds since the last list, event or bookmark. */
  get idleMs(): number {
    return this.props.now() - this.#lastEvent;
  }

  /** Runs until the signal is aborted. Never rejects. */
  async run(): Promise<void> {
    const { signal, now, random, clock = systemClock } = this.props;
    signal.addEventListener('abort', () => this.#firstSync.resolve(undefined), { once: true });
    let failures = 0;
    let backoff = 0;
    const stopped = (): boolean => signal.aborted;
    while (!stopped()) {
      const started = now();
      try {
        if (this.#doubted) await this.#checkVersion();
        this.#version ??= await this.#list();
        await this.#watch(this.#version);
        this.#doubted = false;
        failures = 0;
      } catch (error) {
        if (stopped()) break;
        this.#failed(error);
        this.#forbidden = isForbidden(error);
        const forbidden = this.#forbidden ? this.props.forbiddenMs : undefined;
        // A watch that lasted longer than the wait before it was healthy: proxies cut each one in time.
        failures = now() - started > backoff ? 1 : failures + 1;
        this.props.onRestart?.(reasonOf(error, forbidden !== undefined), error);
        const spread = 0.5 + random();
        backoff = Math.min(BACKOFF_MS.most, doubledMs(failures - 1, BACKOFF_MS) * spread);
        await clock.sleep(forbidden === undefined ? backoff : forbidden * spread, signal);
      }
    }
    this.#firstSync.resolve(undefined);
  }

  #received(): void {
    this.#lastEvent = this.props.now();
    this.props.onEvent?.();
  }

  #works(): void {
    this.#lastWorked = this.props.now();
    this.#doubted = false;
  }

  #failed(error: unknown): void {
    if (isGone(error) || error instanceof OlderVersion) this.#version = undefined;
    this.#doubted = true;
    this.#lastError = error;
  }

  /**
   * Compares the version of the next watch with the present one, by a list of one object. A watch from
   * a version that is yet to come would receive nothing, not even bookmarks.
   */
  async #checkVersion(): Promise<void> {
    if (this.#version === undefined) return;
    const { client, path, labelSelector, fieldSelector, metadataOnly, signal } = this.props;
    const { resourceVersion } = await listAll(client, path, {
      labelSelector,
      fieldSelector,
      metadataOnly,
      signal,
      versionOnly: true,
    });
    this.#requireNewer(resourceVersion);
    this.#doubted = false;
  }

  /**
   * Only versions of lists and events count as known. A version that was only compared may be ahead of
   * the events of a watch.
   * @throws OlderVersion
   */
  #requireNewer(version: string): void {
    if (this.#newest === undefined || !isNewer(this.#newest, version)) {
      this.#olderSince = undefined;
      return;
    }
    this.#olderSince ??= this.props.now();
    throw new OlderVersion(version, this.#newest);
  }

  /** Whether older versions have come for so long that they are the truth. */
  #isRestored(version: string): boolean {
    const { now } = this.props;
    if (this.#newest === undefined || !isNewer(this.#newest, version)) return false;
    return this.#olderSince !== undefined && now() - this.#olderSince >= RESTORED_MS;
  }

  async #list(): Promise<string> {
    const { client, path, labelSelector, fieldSelector, metadataOnly, sink, signal } = this.props;
    const { items, resourceVersion } = await listAll(client, path, {
      labelSelector,
      fieldSelector,
      metadataOnly,
      signal,
      compact: sink.compact,
    });
    this.#received();
    // The signal may have been aborted during the list: the sink no longer wants it.
    signal.throwIfAborted();
    this.#forbidden = false;
    const restored = this.#isRestored(resourceVersion);
    if (restored) this.#newest = undefined;
    this.#requireNewer(resourceVersion);
    this.#newest = resourceVersion;
    await sink.replace(items, resourceVersion, { restored, signal });
    this.#works();
    this.#synced = true;
    this.#firstSync.resolve(undefined);
    return resourceVersion;
  }

  /** An event that was delivered twice does not set the version back. */
  #advance(version: string | undefined): void {
    if (version === undefined) return;
    if (this.#version === undefined || isNewer(version, this.#version)) this.#version = version;
    if (this.#newest === undefined || isNewer(version, this.#newest)) this.#newest = version;
  }

  /** Resolves when the API server ends the watch. A broken watch keeps the last version. */
  async #watch(from: string): Promise<void> {
    const { client, path, labelSelector, fieldSelector, metadataOnly } = this.props;
    const { sink, signal, now, random } = this.props;
    const started = now();
    let events = 0;
    const query = {
      resourceVersion: from,
      allowWatchBookmarks: 'true',
      // Jitter, so that not all watches end at once.
      timeoutSeconds: String(Math.round(WATCH_SECONDS * (1 + random()))),
      labelSelector,
      fieldSelector,
    };
    const stream = client.watch(path, query, {
      signal,
      idleTimeoutMs: IDLE_MS,
      ...(metadataOnly ? { accept: METADATA } : {}),
    });
    for await (const { type, object } of stream) {
      this.#received();
      events += 1;
      const version = object.metadata.resourceVersion;
      if (type === 'BOOKMARK' && version !== undefined) this.#requireNewer(version);
      else if (type === 'DELETED') sink.remove(object);
      else if (type !== 'BOOKMARK') sink.upsert(object);
      this.#advance(version);
      this.#works();
    }
    // A proxy without a backend may answer each watch with an empty body.
    if (events === 0 && now() - started < SHORT_MS) throw new Error('watch ended without an event');
  }
}

function reasonOf(error: unknown, forbidden: boolean): string {
  if (forbidden) return 'Forbidden';
  if (error instanceof OlderVersion) return 'Older';
  return isGone(error) ? 'Expired' : 'Error';
}
