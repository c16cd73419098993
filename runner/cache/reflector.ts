import type { KubeObject } from '../../constructs/kit/object.js';
import { isForbidden, isGone } from '../api/api-error.js';
import type { Client } from '../api/client.js';
import { listAll } from '../api/list.js';
import { doubledMs } from '../backoff.js';
import { type Clock, systemClock } from '../clock.js';

/** Where a reflector puts the objects. */
export interface Sink {
  /** The whole collection as of a version. */
  replace(objects: readonly KubeObject[], version: string): void;
  upsert(object: KubeObject): void;
  remove(object: KubeObject): void;
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

const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json';

/**
 * Keeps a sink equal to a collection: list, then watch, until the signal is aborted. An expired version
 * lists again; any other error is retried with backoff.
 */
export class Reflector {
  #lastEvent: number;
  /** The version from which the next watch starts; undefined if a list must come first. */
  #version: string | undefined;
  #synced = false;
  #forbidden = false;
  readonly #firstSync = Promise.withResolvers<undefined>();

  constructor(private readonly props: ReflectorProps) {
    this.#lastEvent = props.now();
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
        this.#version ??= await this.#list();
        await this.#watch(this.#version);
        failures = 0;
      } catch (error) {
        if (stopped()) break;
        if (isGone(error)) this.#version = undefined;
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

  async #list(): Promise<string> {
    const { client, path, labelSelector, fieldSelector, metadataOnly, sink, signal } = this.props;
    const { items, resourceVersion } = await listAll(client, path, {
      labelSelector,
      fieldSelector,
      metadataOnly,
      signal,
    });
    this.#received();
    // The signal may have been aborted during the list: the sink no longer wants it.
    signal.throwIfAborted();
    this.#forbidden = false;
    sink.replace(items, resourceVersion);
    this.#synced = true;
    this.#firstSync.resolve(undefined);
    return resourceVersion;
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
      if (type === 'DELETED') sink.remove(object);
      else if (type !== 'BOOKMARK') sink.upsert(object);
      this.#version = object.metadata.resourceVersion ?? this.#version;
    }
    // A proxy without a backend may answer each watch with an empty body.
    if (events === 0 && now() - started < SHORT_MS) throw new Error('watch ended without an event');
  }
}

function reasonOf(error: unknown, forbidden: boolean): string {
  if (forbidden) return 'Forbidden';
  return isGone(error) ? 'Expired' : 'Error';
}
