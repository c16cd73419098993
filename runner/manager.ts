import { setTimeout as sleep } from 'node:timers/promises';
import { MANAGED_BY, MANAGED_BY_LABEL } from '../constructs/kit/labels.js';
import type { ClusterReader } from '../constructs/kit/kind.js';
import { readsContent, type ObjectKind } from '../constructs/kit/object-kind.js';
import type { BatchController } from './batch/batch-controller.js';
import { CustomResourceDefinition } from './cache/discovery.js';
import { readableSink, referenceSink } from './cache/readable-sink.js';
import type { Sink } from './cache/reflector.js';
import type { WatchedKind } from './cache/watch-mode.js';
import type { Controller } from './controller/controller.js';
import { wire, type ManagerProps, type Wiring } from './wiring.js';

const MANAGED = `${MANAGED_BY_LABEL}=${MANAGED_BY}`;

const OPTIONAL_SYNC_MS = 30_000;

/** How often conditions of broken watches are refreshed. */
const WATCH_CHECK_MS = 15_000;

/** Starts and stops the watches that fill the caches, and the controllers that read them. */
export class Manager {
  readonly #parts: Wiring;
  /** The first lists of optional APIs that the cluster serves. */
  readonly #optionalSyncs: Promise<void>[] = [];
  #synced = false;
  #watchCheck: NodeJS.Timeout | undefined;

  constructor(private readonly props: ManagerProps) {
    this.#parts = wire(props, (kind, served) => {
      const synced = this.#onServed(kind, served);
      // Without a ClusterRole, cluster-scoped kinds cannot be listed: they are advisory only.
      if (!kind.clusterScoped) this.#optionalSyncs.push(synced);
    });
  }

  /** Fills the caches. Resolves when they have every object that exists. */
  async sync(): Promise<void> {
    const { controllers, watches, watched, discovery } = this.#parts;
    for (const controller of controllers) this.#watchResources(controller);
    for (const one of watched) if (!one.kind.optional) this.#watchObjects(one);
    const needed = watches.unsynced();
    const hint = (): void => {
      discovery.hint();
    };
    const replace = (): undefined => {
      hint();
      return undefined;
    };
    // Not waited for: without permission to list CRDs, optional APIs are discovered by polling.
    watches.start(CustomResourceDefinition, {
      sink: () => ({ replace, upsert: hint, remove: hint }),
      metadataOnly: true,
      clusterScoped: true,
      onForbidden: hint,
    });
    await discovery.first(watches.signal);
    await Promise.all(needed.map(({ kind }) => watches.synced(kind)));
    // Without its API an object would count as surplus; one API that cannot be read must not block the others.
    await Promise.race([
      Promise.all(this.#optionalSyncs),
      sleep(OPTIONAL_SYNC_MS, undefined, { signal: watches.signal }).catch(() => undefined),
    ]);
    this.#synced = true;
  }

  /** Starts the controllers with all resources. Only the leader does: it alone writes. */
  start(): void {
    for (const controller of this.#queues()) {
      controller.queue.start();
      controller.enqueueAll();
    }
    this.#parts.monitoring.start();
    this.#watchCheck = setInterval(() => {
      for (const controller of this.#parts.controllers) controller.checkWatches();
    }, WATCH_CHECK_MS);
    this.#watchCheck.unref();
  }

  /** Finishes the running reconciles, then ends the watches. */
  async stop(): Promise<void> {
    clearInterval(this.#watchCheck);
    const { monitoring, discovery, watches, probes } = this.#parts;
    await Promise.all(this.#queues().map(({ queue }) => queue.stop()));
    monitoring.stop();
    discovery.stop();
    watches.stop();
    await probes?.stop();
  }

  /** Why the caches are not synced; empty once they are. */
  unready(): readonly string[] {
    if (this.#synced) return [];
    return this.#parts.watches
      .unsynced()
      .flatMap(({ kind: { kind }, paths }) =>
        paths.map((path) => `${kind}: first list not received: ${path}`),
      );
  }

  /** An error if every watch is stuck; empty while any of them receives data. */
  stuck(): readonly string[] {
    return this.#parts.watches.stuck();
  }

  /** The kinds whose caches are old, since their watch has been broken for long. */
  brokenWatches(): readonly string[] {
    return this.#parts.watches.broken().map(({ message }) => message);
  }

  /** Reads the caches without dependencies; undefined until they are synced. */
  reader(): ClusterReader | undefined {
    return this.#synced ? this.#parts.dependencies.track('').reader : undefined;
  }

  /** Whether a reconcile is running or due. */
  get busy(): boolean {
    return this.#queues().some(({ queue }) => queue.busy);
  }

  #queues(): readonly (Controller | BatchController)[] {
    return [...this.#parts.controllers, ...this.#parts.batches];
  }

  #watchResources({ kind, api }: Controller): void {
    const store = this.#parts.stores.get(kind.definition.kind);
    if (!store) return;
    this.#parts.watches.start(api, {
      sink: (inScope) => store.scoped(inScope),
      labelSelector: this.props.config.watchLabelSelector,
    });
  }

  #watchObjects({ kind, mode }: WatchedKind): void {
    const { watches, dependencies, children } = this.#parts;
    switch (mode) {
      case 'references':
        this.#watchReferences(kind);
        return;
      case 'any':
        watches.start(kind, {
          sink: (inScope) => {
            const ofChildren = children.sink(kind, inScope);
            return this.#serving(kind, readableSink(kind, dependencies, ofChildren, inScope));
          },
          metadataOnly: !readsContent(kind),
        });
        return;
      case 'childrenAndAny':
        this.#watchReferences(kind);
        this.#watchChildren(kind);
        return;
      case 'children':
        this.#watchChildren(kind);
    }
  }

  #watchReferences(kind: ObjectKind): void {
    const { watches, dependencies } = this.#parts;
    watches.start(kind, {
      sink: (inScope) => this.#serving(kind, referenceSink(kind, dependencies, inScope)),
      metadataOnly: !readsContent(kind),
      clusterScoped: kind.clusterScoped === true,
    });
  }

  #watchChildren(kind: ObjectKind): void {
    const { watches, children } = this.#parts;
    watches.start(kind, {
      sink: (inScope) => this.#serving(kind, children.sink(kind, inScope)),
      labelSelector: MANAGED,
    });
  }

  /** Marks an optional API as served before its first list enqueues owners, which would prune its objects. */
  #serving(kind: ObjectKind, sink: Sink): Sink {
    if (!kind.optional) return sink;
    const replace: Sink['replace'] = (objects, version, how) => {
      this.#parts.dependencies.serve(kind, true);
      return sink.replace(objects, version, how);
    };
    return { ...sink, replace };
  }

  async #onServed(kind: ObjectKind, served: boolean): Promise<void> {
    const { monitoring, watched, dependencies, watches, children } = this.#parts;
    if (monitoring.kinds.includes(kind)) {
      monitoring.serve(kind, served);
      return;
    }
    const one = watched.find((other) => other.kind === kind);
    if (!one) {
      dependencies.serve(kind, served);
      return;
    }
    if (served) {
      this.#watchObjects(one);
      await watches.synced(kind);
      return;
    }
    watches.end(kind);
    children.drop(kind);
    if (one.mode === 'references') dependencies.drop(kind.kind);
    dependencies.serve(kind, false);
  }
}
