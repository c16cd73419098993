import { kindId, type ObjectKind } from '../../constructs/kit/object-kind.js';
import type { Client } from '../api/client.js';
import type { Logger } from '../log.js';
import type { Metrics } from '../metrics.js';
import { Reflector, type Sink } from './reflector.js';
import { resourcePath } from '../api/resource-path.js';

/** What to watch of a kind, and where it goes. */
export interface WatchOptions {
  /**
   * The sink of one scope.
   * @param inScope whether a namespace belongs to it
   */
  readonly sink: (inScope: (namespace: string) => boolean) => Sink;
  readonly labelSelector?: string | undefined;
  /** Without what the objects hold. @default false */
  readonly metadataOnly?: boolean;
  /** @default false: namespaced. Where only namespaces are granted, nothing may be read of such a kind. */
  readonly clusterScoped?: boolean;
  /** Told each time that the right to watch a cluster-scoped kind is found missing. */
  readonly onForbidden?: () => void;
}

export interface WatchesProps {
  readonly client: Client;
  /** Every namespace when empty. */
  readonly namespaces: readonly string[];
  readonly metrics: Metrics;
  readonly log: Logger;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  readonly random: () => number;
}

/** A watch that has been silent for this long is stuck: bookmarks come once a minute. */
const STUCK_MS = 300_000;

/** How often the right to watch a cluster-scoped kind is asked for where it is missing. */
const FORBIDDEN_MS = 300_000;

interface Watch {
  readonly kind: ObjectKind;
  readonly abort: AbortController;
  readonly reflectors: readonly Reflector[];
}

/** All watches of the operator, by group and kind; one for each namespace where namespaces are given. */
export class Watches {
  readonly #watches = new Map<string, Watch>();
  readonly #stop = new AbortController();

  constructor(private readonly props: WatchesProps) {}

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Begins to watch a kind. */
  start(kind: ObjectKind, options: WatchOptions): void {
    const { namespaces } = this.props;
    const scopes = options.clusterScoped || namespaces.length === 0 ? [undefined] : namespaces;
    const abort = new AbortController();
    const signal = AbortSignal.any([this.#stop.signal, abort.signal]);
    const reflectors = scopes.map((namespace) => this.#reflector(kind, options, namespace, signal));
    this.#watches.set(kindId(kind), { kind, abort, reflectors });
    for (const reflector of reflectors) void reflector.run();
  }

  /** Ends the watch of a kind. */
  end(kind: ObjectKind): void {
    this.#watches.get(kindId(kind))?.abort.abort();
    this.#watches.delete(kindId(kind));
  }

  /** Resolves when the first lists of a kind have arrived, or its watch has ended. */
  async synced(kind: ObjectKind): Promise<void> {
    const watch = this.#watches.get(kindId(kind));
    await Promise.all(watch?.reflectors.map(({ whenSynced }) => whenSynced) ?? []);
  }

  /** The kinds of which the first lists have not arrived. */
  unsynced(): readonly ObjectKind[] {
    return [...this.#watches.values()].flatMap(({ kind, reflectors }) =>
      reflectors.every(({ synced }) => synced) ? [] : [kind],
    );
  }

  /** What is wrong when every watch is stuck; empty while any of them hears the server. */
  stuck(): readonly string[] {
    const all = [...this.#watches.values()].flatMap(({ reflectors }) => reflectors);
    return all.length > 0 && all.every(({ silence }) => silence > STUCK_MS)
      ? [`no watch has heard the API server for ${STUCK_MS / 1000} seconds`]
      : [];
  }

  stop(): void {
    this.#stop.abort();
  }

  #reflector(
    kind: ObjectKind,
    options: WatchOptions,
    namespace: string | undefined,
    signal: AbortSignal,
  ): Reflector {
    const { client, metrics, log, now, random } = this.props;
    const { sink, labelSelector, metadataOnly, clusterScoped, onForbidden } = options;
    let told = false;
    return new Reflector({
      client,
      path: resourcePath(kind, namespace),
      ...(labelSelector ? { labelSelector } : {}),
      ...(metadataOnly ? { metadataOnly } : {}),
      ...(clusterScoped ? { forbiddenMs: FORBIDDEN_MS } : {}),
      sink: sink((other) => namespace === undefined || other === namespace),
      signal,
      now,
      random,
      onEvent: () => {
        metrics.watchActive(kind.kind, Date.now() / 1000);
      },
      onRestart: (reason, error) => {
        metrics.watchRestarted(kind.kind, reason);
        if (reason === 'Forbidden') {
          onForbidden?.();
          const message = 'no right to watch a kind of the whole cluster: done without';
          if (!told) log.info(message, { kind: kind.kind, askedAgainAfterMs: FORBIDDEN_MS });
          told = true;
          return;
        }
        log[reason === 'Expired' ? 'debug' : 'warn']('a watch begins again', {
          kind: kind.kind,
          reason,
          error,
        });
      },
    });
  }
}
