import { kindId, type ObjectKind } from '../../constructs/kit/object-kind.js';
import type { Client } from '../api/client.js';
import type { Logger } from '../telemetry/log.js';
import type { OperatorMetrics } from '../telemetry/metrics.js';
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
  readonly metrics: OperatorMetrics;
  readonly log: Logger;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  readonly random: () => number;
}

/** A watch that has been silent for this long is stuck: bookmarks come once a minute. */
const STUCK_MS = 300_000;

/** How often the right to watch a cluster-scoped kind is asked for where it is missing. */
const FORBIDDEN_MS = 300_000;

/** A namespace in which nothing may be read for this long, while another one can be, is done without. */
const GONE_MS = 30_000;

interface Watch {
  readonly kind: ObjectKind;
  readonly abort: AbortController;
  readonly reflectors: readonly Reflector[];
}

/** What must be known of one namespace before anything is done there. */
interface Scope {
  readonly reflectors: Reflector[];
  /** What has come before all was listed, in its order; undefined once it was. */
  held: (() => void)[] | undefined;
  /** How many kinds have not been listed. */
  missing: number;
  left: boolean;
}

/** All watches of the operator, by group and kind; one for each namespace where namespaces are given. */
export class Watches {
  readonly #watches = new Map<string, Watch>();
  readonly #stop = new AbortController();
  readonly #scopes = new Map<string, Scope>();
  readonly #began: number;

  constructor(private readonly props: WatchesProps) {
    this.#began = props.now();
  }

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

  /** The kinds of which the first lists have not arrived, and where. */
  unsynced(): readonly { readonly kind: ObjectKind; readonly paths: readonly string[] }[] {
    return [...this.#watches.values()].flatMap(({ kind, reflectors }) => {
      const paths = reflectors.filter(({ synced }) => !synced).map(({ path }) => path);
      return paths.length > 0 ? [{ kind, paths }] : [];
    });
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
    const ownSink = sink((other) => namespace === undefined || other === namespace);
    const scope =
      namespace === undefined || kind.optional === true ? undefined : this.#scope(namespace);
    const reflector = new Reflector({
      client,
      path: resourcePath(kind, namespace),
      ...(labelSelector ? { labelSelector } : {}),
      ...(metadataOnly ? { metadataOnly } : {}),
      ...(clusterScoped ? { forbiddenMs: FORBIDDEN_MS } : {}),
      sink: scope ? together(scope, ownSink) : ownSink,
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
        log[reason === 'Expired' || scope?.left === true ? 'debug' : 'warn'](
          'a watch begins again',
          { kind: kind.kind, namespace, reason, error },
        );
        if (namespace !== undefined && scope) this.#leaveOut(namespace, scope);
      },
    });
    scope?.reflectors.push(reflector);
    return reflector;
  }

  #scope(namespace: string): Scope {
    const scope = this.#scopes.get(namespace) ?? {
      reflectors: [],
      held: [],
      missing: 0,
      left: false,
    };
    this.#scopes.set(namespace, scope);
    return scope;
  }

  /** Does without a namespace that was deleted, and its Role with it: it must not keep the others from being served. */
  #leaveOut(namespace: string, scope: Scope): void {
    const { now, log } = this.props;
    if (scope.left || scope.held === undefined || now() - this.#began < GONE_MS) return;
    if (!scope.reflectors.every(({ refused }) => refused)) return;
    // Where none can be read, rights are still to be granted: that is waited for.
    if (![...this.#scopes.values()].some(({ held }) => held === undefined)) return;
    scope.left = true;
    log.warn('no right to read anything in a namespace: done without', { namespace });
    for (const reflector of scope.reflectors) reflector.doWithout();
  }
}

/**
 * Puts in what is seen of a namespace once all of it has been listed. One that was done without may
 * come back while the work goes on: a bench must not be visited before its sites are known.
 */
function together(scope: Scope, sink: Sink): Sink {
  scope.missing += 1;
  let listed = false;
  const put = (work: () => void): void => {
    if (scope.held) scope.held.push(work);
    else work();
  };
  return {
    replace: (objects, version) => {
      put(() => {
        sink.replace(objects, version);
      });
      if (listed) return;
      listed = true;
      scope.missing -= 1;
      if (scope.missing > 0) return;
      const held = scope.held ?? [];
      scope.held = undefined;
      for (const work of held) work();
    },
    upsert: (object) => {
      put(() => {
        sink.upsert(object);
      });
    },
    remove: (object) => {
      put(() => {
        sink.remove(object);
      });
    },
  };
}
