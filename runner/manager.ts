import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  metadataKeysFor,
  MANAGED_BY,
  MANAGED_BY_LABEL,
  type MetadataKeys,
} from '../constructs/kit/labels.js';
import { objectKind } from '../constructs/kit/definition.js';
import type { ClusterReader } from '../constructs/kit/kind.js';
import { kindId, type ObjectKind } from '../constructs/kit/object-kind.js';
import { admit } from '../constructs/kit/schema/admit.js';
import { BATCHES, KINDS, type AnyBatch, type AnyKind } from '../constructs/registry.js';
import { BatchController } from './batch/batch-controller.js';
import { Applier } from './apply/applier.js';
import { ChildCache } from './cache/child-cache.js';
import type { Client } from './api/client.js';
import type { Config } from './config/config.js';
import { ResourceManager } from './apply/resource-manager.js';
import { Controller } from './controller/controller.js';
import { PodDiagnostics } from './health/pod-diagnostics.js';
import { CustomResourceDefinition, Discovery } from './cache/discovery.js';
import { Events } from './reconcile/events.js';
import { Finalizer } from './reconcile/finalizer.js';
import { countJob } from './telemetry/job-metrics.js';
import type { Logger } from './telemetry/log.js';
import type { OperatorMetrics } from './telemetry/metrics.js';
import { MonitoringReconciler } from './telemetry/monitoring.js';
import { BatchObjects } from './cache/batch-objects.js';
import { HealthChecker } from './health/health-checker.js';
import { Prober } from './health/http-probe.js';
import type { Sink } from './cache/reflector.js';
import { readableSink, referenceSink } from './cache/readable-sink.js';
import { ResourceStore } from './cache/resource-store.js';
import { Runs } from './health/job-runs.js';
import { Watches } from './cache/watches.js';
import { DependencyTracker } from './cache/dependencies.js';

export interface ManagerProps {
  readonly config: Config;
  readonly client: Client;
  readonly metrics: OperatorMetrics;
  readonly log: Logger;
  /** @default all kinds that have a controller */
  readonly kinds?: readonly AnyKind[];
  /** @default all batches */
  readonly batches?: readonly AnyBatch[];
}

const MANAGED = `${MANAGED_BY_LABEL}=${MANAGED_BY}`;

const OPTIONAL_SYNC_MS = 30_000;

/** Everything that runs: the watches that fill the caches, and a controller for each kind. */
export class Manager {
  readonly #controllers: readonly Controller[];
  readonly #batches: readonly BatchController[];
  /** All that can be woken: controllers by their kind, those of batches by their name. */
  readonly #byName: ReadonlyMap<string, Controller | BatchController>;
  readonly #stores: ReadonlyMap<string, ResourceStore>;
  readonly #dependencies: DependencyTracker;
  readonly #children: ChildCache;
  readonly #discovery: Discovery;
  readonly #monitoring: MonitoringReconciler;
  readonly #prober: Prober | undefined;
  readonly #metadataKeys: MetadataKeys;
  readonly #watches: Watches;
  /** The optional APIs whose first lists are on their way. */
  readonly #serving: Promise<void>[] = [];
  readonly #owned: ReadonlyMap<string, ObjectKind>;
  /** What kinds read of objects that nobody here owns. */
  readonly #read: ReadonlyMap<string, ObjectKind>;
  /** What kinds ask the presence of, and no more. */
  readonly #detected: readonly ObjectKind[];
  readonly #kinds: readonly AnyKind[];
  #synced = false;

  constructor(private readonly props: ManagerProps) {
    const { config, client, metrics, log } = props;
    this.#kinds = props.kinds ?? KINDS;
    const batches = props.batches ?? BATCHES;
    this.#metadataKeys = metadataKeysFor(config.apiGroup);
    this.#owned = new Map(
      [...this.#kinds, ...batches].flatMap(({ owns }) => owns).map((kind) => [kindId(kind), kind]),
    );
    this.#read = new Map(
      this.#kinds
        .flatMap(({ reads }) => reads)
        .filter((kind) => !this.#owned.has(kindId(kind)))
        .map((kind) => [kindId(kind), kind]),
    );
    this.#detected = this.#kinds.flatMap(({ detects = [] }) => detects);
    this.#prober = config.siteCheck ? new Prober() : undefined;
    this.#watches = new Watches({
      client,
      namespaces: config.watchNamespaces,
      metrics,
      log: log.child({ logger: 'watches' }),
      now: monotonic,
      random: Math.random,
    });
    this.#dependencies = new DependencyTracker({
      settings: config.settings,
      indexes: [
        ...this.#kinds.flatMap(({ indexes }) => indexes),
        ...batches.map(({ requests }) => requests),
      ],
      enqueue: (dependent, urgency) => {
        this.#enqueue(dependent, urgency);
      },
      now: Date.now,
    });
    this.#children = new ChildCache(this.#metadataKeys, (owner, before, after) => {
      countJob(metrics, before, after);
      this.#enqueue(owner, 'now');
    });
    this.#stores = new Map(
      this.#kinds.map(({ definition: { kind } }) => [
        kind,
        new ResourceStore({
          onChange: (key, object) => {
            this.#dependencies.update(kind, key, object);
          },
          onCount: (namespace, count) => {
            metrics.resources(kind, namespace, count);
          },
          enqueue: (key) => {
            this.#enqueue(`${kind}/${key}`, 'now');
            for (const { name, owner } of batches) {
              if (owner === kind) this.#enqueue(`${name}/${key}`, 'soon');
            }
          },
        }),
      ]),
    );
    this.#monitoring = new MonitoringReconciler({
      client,
      namespace: config.leaderElectionNamespace,
      watchNamespaces: config.watchNamespaces,
      scraped: config.metricsSecureBindAddress !== null,
      log: log.child({ logger: 'monitoring' }),
    });
    this.#discovery = new Discovery({
      client,
      kinds: [
        ...[...this.#owned.values(), ...this.#read.values()].filter(({ optional }) => optional),
        ...this.#monitoring.kinds,
        ...this.#detected,
      ],
      onChange: (kind, served) => {
        const serving = this.#serve(kind, served);
        // Where no ClusterRole is granted, what is in no namespace cannot be listed: it only helps.
        if (!kind.clusterScoped) this.#serving.push(serving);
      },
      log: log.child({ logger: 'discovery' }),
    });
    const events = new Events({ client, log, instance: hostname(), now: () => new Date() });
    const applier = new Applier({
      client,
      children: this.#children,
      metadataKeys: this.#metadataKeys,
      onApiGone: () => {
        this.#discovery.hint();
      },
    });
    const podDiagnostics = new PodDiagnostics({ client, now: monotonic });
    const shared = {
      client,
      metadataKeys: this.#metadataKeys,
      dependencies: this.#dependencies,
      children: this.#children,
      kinds: this.#owned,
      resourceManager: new ResourceManager({
        children: this.#children,
        applier,
        now: Date.now,
      }),
      healthChecker: new HealthChecker({
        children: this.#children,
        podDiagnostics,
        prober: this.#prober,
        now: Date.now,
      }),
      finalizer: new Finalizer(client, this.#metadataKeys),
      batchObjects: new BatchObjects(this.#dependencies),
      runs: new Runs(client),
      events,
      metrics,
      log,
      concurrency: config.maxConcurrentReconciles,
      resyncMs: config.resyncIntervalMs,
      now: Date.now,
      monotonic,
      random: Math.random,
    };
    this.#controllers = this.#kinds.map(
      (kind) =>
        new Controller({
          ...shared,
          kind,
          api: objectKind(kind.definition, config.apiGroup),
          validate: (resource) =>
            admit(kind.definition, resource, { group: config.apiGroup }).problems,
          remember: (object) => {
            this.#stores.get(kind.definition.kind)?.remember(object);
          },
        }),
    );
    this.#batches = batches.map(
      (batch) => new BatchController({ ...shared, batch, applier, podDiagnostics }),
    );
    this.#byName = new Map<string, Controller | BatchController>([
      ...this.#controllers.map(
        (controller) => [controller.kind.definition.kind, controller] as const,
      ),
      ...this.#batches.map((controller) => [controller.name, controller] as const),
    ]);
  }

  /** Fills the caches. Resolves when everything is known that is there now. */
  async sync(): Promise<void> {
    const watches = this.#watches;
    for (const controller of this.#controllers) this.#watchResources(controller);
    const others = [...this.#owned.values(), ...this.#read.values()];
    for (const kind of others) if (!kind.optional) this.#watchObjects(kind);
    const needed = watches.unsynced();
    const hint = (): void => {
      this.#discovery.hint();
    };
    // Not waited for: without the right to see definitions, optional APIs are looked for now and then.
    watches.start(CustomResourceDefinition, {
      sink: () => ({ replace: hint, upsert: hint, remove: hint }),
      metadataOnly: true,
      clusterScoped: true,
      onForbidden: hint,
    });
    await this.#discovery.first(watches.signal);
    await Promise.all(needed.map(({ kind }) => watches.synced(kind)));
    // Without an API that is there, its objects would be taken for surplus; one that may not be read must not hold up the rest.
    await Promise.race([
      Promise.all(this.#serving),
      sleep(OPTIONAL_SYNC_MS, undefined, { signal: watches.signal }).catch(() => undefined),
    ]);
    this.#synced = true;
  }

  /** Starts the work: only a leader writes. */
  start(): void {
    for (const { queue } of this.#queues()) queue.start();
    this.#monitoring.start();
  }

  /** Ends the work, finishing what is in hand, then the watches. */
  async stop(): Promise<void> {
    await Promise.all(this.#queues().map(({ queue }) => queue.stop()));
    this.#monitoring.stop();
    this.#discovery.stop();
    this.#watches.stop();
    await this.#prober?.close();
  }

  /** What keeps the caches from being complete; empty when they are. */
  unready(): readonly string[] {
    if (this.#synced) return [];
    return this.#watches
      .unsynced()
      .flatMap(({ kind: { kind }, paths }) =>
        paths.map((path) => `the first list of ${kind} has not arrived (${path})`),
      );
  }

  /** What is wrong when every watch is stuck; empty while any of them hears the server. */
  stuck(): readonly string[] {
    return this.#watches.stuck();
  }

  /** What is known now, for a look without a subscription; undefined until the caches are filled. */
  reader(): ClusterReader | undefined {
    return this.#synced ? this.#dependencies.track('').reader : undefined;
  }

  /** Whether there is work in hand or due now. */
  get busy(): boolean {
    return this.#queues().some(({ queue }) => queue.busy);
  }

  #queues(): readonly (Controller | BatchController)[] {
    return [...this.#controllers, ...this.#batches];
  }

  #enqueue(dependent: string, urgency: 'now' | 'soon'): void {
    const slash = dependent.indexOf('/');
    this.#byName.get(dependent.slice(0, slash))?.enqueue(dependent.slice(slash + 1), urgency);
  }

  #watchResources({ kind, api }: Controller): void {
    const store = this.#stores.get(kind.definition.kind);
    if (!store) return;
    const { watchLabelSelector } = this.props.config;
    this.#watches.start(api, {
      sink: (inScope) => store.scoped(inScope),
      labelSelector: watchLabelSelector,
    });
  }

  #watchObjects(kind: ObjectKind): void {
    if (this.#read.has(kindId(kind))) this.#watchReferences(kind);
    else this.#watchChildren(kind);
  }

  #watchReferences(kind: ObjectKind): void {
    this.#watches.start(kind, {
      sink: (inScope) => this.#announcing(kind, referenceSink(kind, this.#dependencies, inScope)),
      metadataOnly: kind.content !== true,
      clusterScoped: kind.clusterScoped === true,
    });
  }

  /** Children are found by their label. Of kinds that are also referred to, all objects are watched, without their content. */
  #watchChildren(kind: ObjectKind): void {
    const among = (kinds: readonly ObjectKind[] = []): boolean =>
      kinds.some((other) => kindId(other) === kindId(kind));
    const isReferredTo = this.#kinds.some(({ reads }) => among(reads));
    const isRead = isReferredTo || this.#kinds.some(({ readsChildren }) => among(readsChildren));
    this.#watches.start(kind, {
      sink: (inScope) => {
        const children = this.#children.sink(kind, inScope);
        const read = (): Sink => readableSink(kind.kind, this.#dependencies, children, inScope);
        return this.#announcing(kind, isRead ? read() : children);
      },
      ...(isReferredTo ? { metadataOnly: true } : { labelSelector: MANAGED }),
    });
  }

  /** Says that an optional API is served before its first list wakes anybody: to them its objects would be surplus. */
  #announcing(kind: ObjectKind, sink: Sink): Sink {
    if (!kind.optional) return sink;
    const replace: Sink['replace'] = (objects, version) => {
      this.#dependencies.serve(kind, true);
      sink.replace(objects, version);
    };
    return { ...sink, replace };
  }

  async #serve(kind: ObjectKind, served: boolean): Promise<void> {
    if (this.#monitoring.kinds.includes(kind)) {
      this.#monitoring.serve(kind, served);
      return;
    }
    if (this.#detected.includes(kind)) {
      this.#dependencies.serve(kind, served);
      return;
    }
    if (served) {
      this.#watchObjects(kind);
      await this.#watches.synced(kind);
      return;
    }
    this.#watches.end(kind);
    this.#children.drop(kind);
    if (this.#read.has(kindId(kind))) this.#dependencies.drop(kind.kind);
    this.#dependencies.serve(kind, false);
  }
}

function monotonic(): number {
  return performance.now();
}
