import type { KubeObject } from '../../constructs/kit/object.js';
import { isForbidden, isGone } from '../api/api-error.js';
import type { Client } from '../api/client.js';
import { type Clock, systemClock } from '../clock.js';

/** Where a reflector puts what it sees. */
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
  /** Such as `metadata.name=x`, which a right to one object is enough for. */
  readonly fieldSelector?: string;
  /** Ask for metadata only: for kinds whose content is large or secret. */
  readonly metadataOnly?: boolean;
  readonly sink: Sink;
  readonly signal: AbortSignal;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  /** In [0, 1), for jitter. */
  readonly random: () => number;
  /** What it waits by before it tries again. @default the system's */
  readonly clock?: Pick<Clock, 'sleep'>;
  /** Called whenever the server is heard. */
  readonly onEvent?: () => void;
  /** Called for each watch that has to begin again with a list, or after an error. */
  readonly onRestart?: (reason: string, error: unknown) => void;
  /**
   * How long to wait where the right to watch is missing, in milliseconds: for what can be done without,
   * so that a right that is not granted on purpose is not asked for all day. @default as after any error
   */
  readonly forbiddenMs?: number | undefined;
}

const PAGE = '500';
const WATCH_SECONDS = 290;
/** Bookmarks come about once a minute, later from a busy server: two of them must fail to come. */
const IDLE_MS = 130_000;
const BACKOFF_MS = { first: 800, most: 30_000 };
/** A watch without an event that ends within this time was none. */
const SHORT_MS = 1_000;
/** A watch that lasted this long was healthy: the next error starts with the first backoff. */
const HEALTHY_MS = 120_000;

const METADATA_LIST =
  'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1, application/json';
const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json';

interface List {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  /** null where a list of metadata is empty. */
  readonly items: readonly KubeObject[] | null;
}

/**
 * Keeps a sink in step with a collection: list, then watch, for as long as the signal allows. It
 * never gives up: an expired version lists again, any other error tries again with backoff.
 */
export class Reflector {
  #lastEvent: number;
  /** Where the next watch begins; undefined where a list must come first. */
  #version: string | undefined;
  #synced = false;
  #refused = false;
  readonly #firstSync = Promise.withResolvers<undefined>();

  constructor(private readonly props: ReflectorProps) {
    this.#lastEvent = props.now();
  }

  get path(): string {
    return this.props.path;
  }

  /** Whether the first list has arrived, or is done without. */
  get synced(): boolean {
    return this.#synced;
  }

  /** Whether the right to read was missing the last time. */
  get refused(): boolean {
    return this.#refused;
  }

  /** Keeps nobody waiting any more; the collection is asked for all the same. */
  doWithout(): void {
    this.#synced = true;
    this.#firstSync.resolve(undefined);
  }

  /** Settles with the first list, or when the signal is aborted. */
  get whenSynced(): Promise<undefined> {
    return this.#firstSync.promise;
  }

  /** Milliseconds since the server was last heard. */
  get silence(): number {
    return this.props.now() - this.#lastEvent;
  }

  /** Runs until the signal is aborted. Never rejects. */
  async run(): Promise<void> {
    const { signal, now, random, clock = systemClock } = this.props;
    signal.addEventListener('abort', () => this.#firstSync.resolve(undefined), { once: true });
    let failures = 0;
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
        this.#refused = isForbidden(error);
        const forbidden = this.#refused ? this.props.forbiddenMs : undefined;
        failures = now() - started > HEALTHY_MS ? 1 : failures + 1;
        this.props.onRestart?.(reasonOf(error, forbidden !== undefined), error);
        const backoff =
          forbidden ?? Math.min(BACKOFF_MS.most, BACKOFF_MS.first * 2 ** (failures - 1));
        await clock.sleep(backoff * (0.5 + random()), signal);
      }
    }
    this.#firstSync.resolve(undefined);
  }

  #heard(): void {
    this.#lastEvent = this.props.now();
    this.props.onEvent?.();
  }

  async #list(): Promise<string> {
    const { client, path, labelSelector, fieldSelector, metadataOnly, sink, signal } = this.props;
    const objects: KubeObject[] = [];
    let next: string | undefined;
    let version: string;
    do {
      const page: List = await client.request<List>('GET', path, {
        query: { limit: PAGE, continue: next, labelSelector, fieldSelector },
        ...(metadataOnly ? { accept: METADATA_LIST } : {}),
        signal,
      });
      // Items of a list do not say what they are.
      const kind = page.kind.replace(/List$/, '');
      for (const item of page.items ?? [])
        objects.push({ ...item, apiVersion: page.apiVersion, kind });
      next = page.metadata.continue || undefined;
      version = page.metadata.resourceVersion;
    } while (next);
    this.#heard();
    // It may have been ended just now: what it listed is no longer asked for.
    signal.throwIfAborted();
    this.#refused = false;
    sink.replace(objects, version);
    this.#synced = true;
    this.#firstSync.resolve(undefined);
    return version;
  }

  /** Resolves when the server has ended the watch. The progress stays when it breaks. */
  async #watch(from: string): Promise<void> {
    const { client, path, labelSelector, fieldSelector, metadataOnly } = this.props;
    const { sink, signal, now, random } = this.props;
    const begun = now();
    let seen = 0;
    const query = {
      resourceVersion: from,
      allowWatchBookmarks: 'true',
      // Spread, so that not all watches end at once.
      timeoutSeconds: String(Math.round(WATCH_SECONDS * (1 + random()))),
      labelSelector,
      fieldSelector,
    };
    const events = client.watch(path, query, {
      signal,
      idleTimeoutMs: IDLE_MS,
      ...(metadataOnly ? { accept: METADATA } : {}),
    });
    for await (const { type, object } of events) {
      this.#heard();
      seen += 1;
      if (type === 'DELETED') sink.remove(object);
      else if (type !== 'BOOKMARK') sink.upsert(object);
      this.#version = object.metadata.resourceVersion ?? this.#version;
    }
    // A proxy without a server behind it may answer each watch with an empty body.
    if (seen === 0 && now() - begun < SHORT_MS) throw new Error('the watch ended at once');
  }
}

function reasonOf(error: unknown, forbidden: boolean): string {
  if (forbidden) return 'Forbidden';
  return isGone(error) ? 'Expired' : 'Error';
}
