import { kindId, type ObjectKind } from '../../constructs/kit/object-kind.js';
import type { Client } from '../api/client.js';
import type { Logger } from '../telemetry/log.js';
import type { OperatorMetrics } from '../telemetry/metrics.js';
import { isolated, type OnInvalid } from './invalid-objects.js';
import { Reflector, type Sink } from './reflector.js';
import { resourcePath } from '../api/resource-path.js';

/** What to watch of a kind, and where to put it. */
export interface WatchOptions {
  /**
   * The sink of one scope.
   * @param inScope whether a namespace belongs to it
   */
  readonly sink: (inScope: (namespace: string) => boolean) => Sink;
  readonly labelSelector?: string | undefined;
  /** Without the content of the objects. @default false */
  readonly metadataOnly?: boolean;
  /** A namespaced operator has no permission to read such a kind. @default false: namespaced */
  readonly clusterScoped?: boolean;
  /** Called each time that the permission to watch a cluster-scoped kind is missing. */
  readonly onForbidden?: () => void;
}

export interface WatchesProps {
  readonly client: Client;
  /** Every namespace when empty. */
  readonly namespaces: readonly string[];
  readonly metrics: OperatorMetrics;
  readonly log: Logger;
  /** @default such objects are skipped */
  readonly onInvalid?: OnInvalid;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  readonly random: () => number;
}

/** A required watch that does not work. */
export interface BrokenWatch {
  readonly kind: ObjectKind;
  readonly brokenMs: number;
  /** Whether the permission is missing. */
  readonly forbidden: boolean;
  /** `AppSite: no watch for 312 s: …`. */
  readonly message: string;
}

/**
 * A required watch that fails for this long makes the operator unready. Within it fall the restart of
 * an API server, an election of its etcd, and a dozen attempts at the longest backoff.
 */
export const BROKEN_MS = 300_000;

/** A watch without data for this long is stuck: bookmarks come once a minute. */
const STUCK_MS = 300_000;

/** Interval between two attempts to watch a cluster-scoped kind without permission. */
const FORBIDDEN_MS = 300_000;

/** A namespace without any permission for this long is skipped, if another namespace can be listed. */
const SKIP_AFTER_MS = 30_000;

interface Watch {
  readonly kind: ObjectKind;
  /** Whether the operator cannot work without it. */
  readonly required: boolean;
  readonly abort: AbortController;
  readonly reflectors: Reflector[];
}

/** A change of a namespace that waits until all its kinds are listed. */
type Buffered = () => Promise<void> | undefined;

/** The watches of one namespace. Nothing of it is put into the caches before all kinds are listed. */
interface Scope {
  readonly reflectors: Reflector[];
  /** Changes received before all kinds were listed, in their order; undefined afterwards. */
  buffered: Buffered[] | undefined;
  /** The number of kinds that have not been listed. */
  missing: number;
  skipped: boolean;
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

  /** Begins to watch a kind. A second call adds a watch of other objects, or of other parts of them. */
  start(kind: ObjectKind, options: WatchOptions): void {
    const { namespaces } = this.props;
    const scopes = options.clusterScoped || namespaces.length === 0 ? [undefined] : namespaces;
    const required = !kind.optional && !options.clusterScoped;
    const known = this.#watches.get(kindId(kind));
    const watch = known ?? { kind, required, abort: new AbortController(), reflectors: [] };
    this.#watches.set(kindId(kind), watch);
    const signal = AbortSignal.any([this.#stop.signal, watch.abort.signal]);
    const reflectors = scopes.map((namespace) => this.#reflector(kind, options, namespace, signal));
    watch.reflectors.push(...reflectors);
    for (const reflector of reflectors) void reflector.run();
  }

  /** Ends the watches of a kind. */
  end(kind: ObjectKind): void {
    this.#watches.get(kindId(kind))?.abort.abort();
    this.#watches.delete(kindId(kind));
  }

  /** Resolves when the first lists of a kind have arrived, or its watch has ended. */
  async synced(kind: ObjectKind): Promise<void> {
    const watch = this.#watches.get(kindId(kind));
    await Promise.all(watch?.reflectors.map(({ whenSynced }) => whenSynced) ?? []);
  }

  /** The kinds whose first lists have not been received, with their paths. */
  unsynced(): readonly { readonly kind: ObjectKind; readonly paths: readonly string[] }[] {
    return [...this.#watches.values()].flatMap(({ kind, reflectors }) => {
      const paths = reflectors.filter(({ synced }) => !synced).map(({ path }) => path);
      return paths.length > 0 ? [{ kind, paths: [...new Set(paths)] }] : [];
    });
  }

  /** An error if every watch is stuck; empty while any of them receives data. */
  stuck(): readonly string[] {
    const all = [...this.#watches.values()].flatMap(({ reflectors }) => reflectors);
    return all.length > 0 && all.every(({ idleMs }) => idleMs > STUCK_MS)
      ? [`no watch received data for ${STUCK_MS / 1000} seconds`]
      : [];
  }

  /** The watches that every operator needs and that have failed for some time. */
  broken(forMs = BROKEN_MS): readonly BrokenWatch[] {
    return [...this.#watches.values()].flatMap(({ kind, required, reflectors }) => {
      const broken = reflectors.find(
        (one) => required && one.brokenMs >= forMs && !this.#isOfGoneNamespace(one),
      );
      if (!broken) return [];
      const { brokenMs, lastError, forbidden } = broken;
      const why = lastError instanceof Error ? lastError.message : 'nothing was received';
      const message = `${kind.kind}: no watch for ${Math.round(brokenMs / 1000)} s: ${why}`;
      return [{ kind, brokenMs, forbidden, message }];
    });
  }

  /** Whether a namespace was deleted together with its Role, while another one is readable. */
  #isOfGoneNamespace(reflector: Reflector): boolean {
    const scopes = [...this.#scopes.values()];
    const own = scopes.find(({ reflectors }) => reflectors.includes(reflector));
    const isForbiddenScope = (scope: Scope): boolean =>
      scope.reflectors.every(({ forbidden }) => forbidden);
    return own !== undefined && isForbiddenScope(own) && !scopes.every(isForbiddenScope);
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
    let logged = false;
    const ownSink = isolated(
      kind.kind,
      sink((other) => namespace === undefined || other === namespace),
      this.props.onInvalid ?? (() => undefined),
    );
    const scope = namespace === undefined || kind.optional ? undefined : this.#scope(namespace);
    const reflector = new Reflector({
      client,
      path: resourcePath(kind, namespace),
      ...(labelSelector ? { labelSelector } : {}),
      ...(metadataOnly ? { metadataOnly } : {}),
      ...(clusterScoped ? { forbiddenMs: FORBIDDEN_MS } : {}),
      sink: scope ? joinedSink(scope, ownSink) : ownSink,
      signal,
      now,
      random,
      onEvent: () => {
        metrics.watchSeen.set({ kind: kind.kind }, Date.now() / 1000);
      },
      onRestart: (reason, error) => {
        metrics.watchRestarts.inc({ kind: kind.kind, reason });
        if (reason === 'Forbidden') {
          onForbidden?.();
          const message = 'no permission to watch cluster-scoped kind; skipping it';
          if (!logged) log.info(message, { kind: kind.kind, retryAfterMs: FORBIDDEN_MS });
          logged = true;
          return;
        }
        log[reason === 'Expired' || scope?.skipped === true ? 'debug' : 'warn']('watch restarted', {
          kind: kind.kind,
          namespace,
          reason,
          error,
        });
        if (namespace !== undefined && scope) this.#skip(namespace, scope);
      },
    });
    scope?.reflectors.push(reflector);
    return reflector;
  }

  #scope(namespace: string): Scope {
    const scope = this.#scopes.get(namespace) ?? {
      reflectors: [],
      buffered: [],
      missing: 0,
      skipped: false,
    };
    this.#scopes.set(namespace, scope);
    return scope;
  }

  /** Skips a namespace that was deleted together with its Role: it must not block the others. */
  #skip(namespace: string, scope: Scope): void {
    const { now, log } = this.props;
    if (scope.skipped || scope.buffered === undefined || now() - this.#began < SKIP_AFTER_MS)
      return;
    if (!scope.reflectors.every(({ forbidden }) => forbidden)) return;
    // If no namespace can be listed, the permissions are still to be granted.
    if (![...this.#scopes.values()].some(({ buffered }) => buffered === undefined)) return;
    scope.skipped = true;
    log.warn('no permission to list in namespace; skipping it', { namespace });
    for (const reflector of scope.reflectors) reflector.skip();
  }
}

/**
 * Buffers the changes of a namespace until all kinds are listed. A skipped namespace may become
 * readable later: an owner must not be reconciled before its dependents are known.
 */
function joinedSink(scope: Scope, sink: Sink): Sink {
  scope.missing += 1;
  let listed = false;
  const put = (work: Buffered): Promise<void> | undefined => {
    if (!scope.buffered) return work();
    scope.buffered.push(work);
    return undefined;
  };
  return {
    compact: sink.compact,
    replace: async (objects, version, how) => {
      await put(() => sink.replace(objects, version, how));
      if (listed) return;
      listed = true;
      scope.missing -= 1;
      if (scope.missing > 0) return;
      // What other watches deliver meanwhile is appended, and done in its turn.
      for (const work of scope.buffered ?? []) await work();
      scope.buffered = undefined;
    },
    upsert: (object) => {
      void put(() => {
        sink.upsert(object);
        return undefined;
      });
    },
    remove: (object) => {
      void put(() => {
        sink.remove(object);
        return undefined;
      });
    },
  };
}
