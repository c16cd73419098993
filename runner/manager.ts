import { hostname } from 'node:os';
import {
  markers as markersFor,
  MANAGED_BY,
  MANAGED_BY_LABEL,
  type Markers,
} from '../constructs/kit/labels.js';
import { objectKind } from '../constructs/kit/definition.js';
import { keyOf, type KubeObject } from '../constructs/kit/object.js';
import { kindId, type ObjectKind } from '../constructs/kit/object-kind.js';
import { admit } from '../constructs/kit/schema.js';
import { KINDS, type AnyKind } from '../constructs/registry.js';
import { Applier } from './apply.js';
import { type Child } from './child.js';
import { ChildCache } from './child-cache.js';
import type { Client } from './client.js';
import type { Config } from './config.js';
import { Convergence } from './convergence.js';
import { Controller } from './controller.js';
import { Diagnostician } from './diagnose.js';
import { CustomResourceDefinition, Discovery } from './discovery.js';
import { Events } from './events.js';
import { Finalizer } from './finalizer.js';
import type { Logger } from './log.js';
import type { Metrics } from './metrics.js';
import { Observer } from './observer.js';
import { Prober } from './probe.js';
import { Reflector, type Sink } from './reflector.js';
import { resourcePath } from './resource-path.js';
import { ResourceStore } from './resource-store.js';
import { ServiceMonitorKeeper } from './service-monitor.js';
import { Subscriptions } from './world.js';

export interface ManagerProps {
  readonly config: Config;
  readonly client: Client;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** @default all kinds that have a controller */
  readonly kinds?: readonly AnyKind[];
}

/** A watch that has been silent for this long is stuck: bookmarks come once a minute. */
const STUCK_MS = 300_000;
const MANAGED = `${MANAGED_BY_LABEL}=${MANAGED_BY}`;

/** Everything that runs: the watches that fill the caches, and a controller for each kind. */
export class Manager {
  readonly #controllers: readonly Controller[];
  readonly #byKind: ReadonlyMap<string, Controller>;
  readonly #stores: ReadonlyMap<string, ResourceStore>;
  readonly #subscriptions: Subscriptions;
  readonly #children: ChildCache;
  readonly #discovery: Discovery;
  readonly #serviceMonitor: ServiceMonitorKeeper;
  readonly #prober: Prober | undefined;
  readonly #markers: Markers;
  readonly #stop = new AbortController();
  readonly #reflectors = new Map<
    string,
    { readonly abort: AbortController; readonly all: Reflector[] }
  >();
  readonly #owned: ReadonlyMap<string, ObjectKind>;
  readonly #kinds: readonly AnyKind[];
  #synced = false;

  constructor(private readonly props: ManagerProps) {
    const { config, client, metrics, log } = props;
    this.#kinds = props.kinds ?? KINDS;
    this.#markers = markersFor(config.apiGroup);
    this.#owned = new Map(
      this.#kinds.flatMap(({ owns }) => owns).map((kind) => [kindId(kind), kind]),
    );
    this.#prober = config.siteCheck ? new Prober() : undefined;
    this.#subscriptions = new Subscriptions({
      settings: config.settings,
      indexes: this.#kinds.flatMap(({ indexes }) => indexes),
      wake: (reader, urgency) => {
        this.#wake(reader, urgency);
      },
    });
    this.#children = new ChildCache(this.#markers, (owner, before, after) => {
      this.#countJob(before, after);
      this.#wake(owner, 'now');
    });
    this.#stores = new Map(
      this.#kinds.map(({ definition: { kind } }) => [
        kind,
        new ResourceStore({
          onChange: (key, object) => {
            this.#subscriptions.update(kind, key, object);
          },
          onCount: (namespace, count) => {
            metrics.resources(kind, namespace, count);
          },
          wake: (key) => {
            this.#wake(`${kind}/${key}`, 'now');
          },
        }),
      ]),
    );
    this.#serviceMonitor = new ServiceMonitorKeeper({
      client,
      namespace: config.leaderElectionNamespace,
      log: log.child({ logger: 'service-monitor' }),
    });
    this.#discovery = new Discovery({
      client,
      kinds: [
        ...[...this.#owned.values()].filter(({ optional }) => optional),
        this.#serviceMonitor.kind,
      ],
      onChange: (kind, served) => void this.#serve(kind, served),
      log: log.child({ logger: 'discovery' }),
    });
    const events = new Events({ client, log, instance: hostname(), now: () => new Date() });
    const shared = {
      client,
      markers: this.#markers,
      subscriptions: this.#subscriptions,
      children: this.#children,
      kinds: this.#owned,
      convergence: new Convergence({
        children: this.#children,
        applier: new Applier({ client, children: this.#children, markers: this.#markers }),
        now: Date.now,
      }),
      observer: new Observer({
        children: this.#children,
        diagnostician: new Diagnostician({ client, now: monotonic }),
        prober: this.#prober,
        now: Date.now,
      }),
      finalizer: new Finalizer(client, this.#markers),
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
    this.#byKind = new Map(
      this.#controllers.map((controller) => [controller.kind.definition.kind, controller]),
    );
  }

  /** Fills the caches. Resolves when everything is known that is there now. */
  async sync(): Promise<void> {
    for (const controller of this.#controllers) this.#watchResources(controller);
    for (const kind of this.#owned.values()) if (!kind.optional) this.#watchChildren(kind);
    this.#reflect('CustomResourceDefinition', CustomResourceDefinition, {
      sink: {
        replace: () => this.#discovery.hint(),
        upsert: () => this.#discovery.hint(),
        remove: () => this.#discovery.hint(),
      },
      metadataOnly: true,
      namespaced: false,
    });
    await this.#discovery.first(this.#stop.signal);
    await Promise.all(this.#all().map((reflector) => reflector.whenSynced));
    this.#synced = true;
  }

  /** Starts the work: only a leader writes. */
  start(): void {
    for (const controller of this.#controllers) controller.queue.start();
    this.#serviceMonitor.start();
  }

  /** Ends the work, finishing what is in hand, then the watches. */
  async stop(): Promise<void> {
    await Promise.all(this.#controllers.map(({ queue }) => queue.stop()));
    this.#serviceMonitor.stop();
    this.#discovery.stop();
    this.#stop.abort();
    await this.#prober?.close();
  }

  /** What keeps the caches from being complete; empty when they are. */
  unready(): readonly string[] {
    if (this.#synced) return [];
    return [...this.#reflectors].flatMap(([kind, { all }]) =>
      all.every(({ synced }) => synced) ? [] : [`the first list of ${kind} has not arrived`],
    );
  }

  /** What is wrong when every watch is stuck; empty while any of them hears the server. */
  stuck(): readonly string[] {
    const all = this.#all();
    return all.length > 0 && all.every(({ silence }) => silence > STUCK_MS)
      ? [`no watch has heard the API server for ${STUCK_MS / 1000} seconds`]
      : [];
  }

  /** Whether there is work in hand or due now. */
  get busy(): boolean {
    return this.#controllers.some(({ queue }) => queue.busy);
  }

  #all(): Reflector[] {
    return [...this.#reflectors.values()].flatMap(({ all }) => all);
  }

  #wake(reader: string, urgency: 'now' | 'soon'): void {
    const slash = reader.indexOf('/');
    this.#byKind.get(reader.slice(0, slash))?.wake(reader.slice(slash + 1), urgency);
  }

  #watchResources({ kind, api }: Controller): void {
    const store = this.#stores.get(kind.definition.kind);
    if (!store) return;
    const { watchLabelSelector } = this.props.config;
    this.#reflect(kind.definition.kind, api, {
      sink: store,
      sinkOf: (inScope) => store.scoped(inScope),
      ...(watchLabelSelector ? { labelSelector: watchLabelSelector } : {}),
    });
  }

  /** Children are found by their label. Of Secrets, which kinds also refer to, all are watched, without their content. */
  #watchChildren(kind: ObjectKind): void {
    const read = this.#kinds.some(({ reads }) =>
      reads.some((other) => kindId(other) === kindId(kind)),
    );
    this.#reflect(kind.kind, kind, {
      sinkOf: (inScope) => {
        const children = this.#children.sink(kind, inScope);
        return read ? this.#readable(kind, children, inScope) : children;
      },
      ...(read ? { metadataOnly: true } : { labelSelector: MANAGED }),
      ...(kind.kind === 'ConfigMap' ? { metadataOnly: false } : {}),
    });
  }

  /** Children among all objects of a kind, and the barest metadata of all of them for those who refer to them. */
  #readable(kind: ObjectKind, children: Sink, inScope: (namespace: string) => boolean): Sink {
    const isChild = ({ metadata }: KubeObject): boolean =>
      metadata.labels?.[MANAGED_BY_LABEL] === MANAGED_BY;
    const put = (object: KubeObject): void => {
      const { namespace, name, uid, resourceVersion } = object.metadata;
      const { apiVersion } = object;
      this.#subscriptions.update(kind.kind, keyOf(namespace, name), {
        apiVersion,
        kind: kind.kind,
        metadata: {
          name,
          ...(namespace === undefined ? {} : { namespace }),
          ...(uid === undefined ? {} : { uid }),
          ...(resourceVersion === undefined ? {} : { resourceVersion }),
        },
      });
    };
    return {
      replace: (objects, version) => {
        const present = new Set(
          objects.map(({ metadata }) => keyOf(metadata.namespace, metadata.name)),
        );
        for (const key of [...this.#subscriptions.objects(kind.kind).keys()]) {
          if (!present.has(key) && inScope(key.slice(0, key.indexOf('/')))) {
            this.#subscriptions.update(kind.kind, key, undefined);
          }
        }
        objects.forEach(put);
        children.replace(objects.filter(isChild), version);
      },
      upsert: (object) => {
        put(object);
        // One that has lost its label is no longer known as a child, and is looked at again.
        if (isChild(object)) children.upsert(object);
        else children.remove(object);
      },
      remove: (object) => {
        const { namespace, name } = object.metadata;
        this.#subscriptions.update(kind.kind, keyOf(namespace, name), undefined);
        children.remove(object);
      },
    };
  }

  async #serve(kind: ObjectKind, served: boolean): Promise<void> {
    if (kind === this.#serviceMonitor.kind) {
      this.#serviceMonitor.serve(served);
      return;
    }
    if (served) {
      this.#watchChildren(kind);
      const begun = this.#reflectors.get(kind.kind);
      await Promise.all(begun?.all.map(({ whenSynced }) => whenSynced) ?? []);
      // Gone again while its first list was on its way.
      if (this.#reflectors.get(kind.kind) !== begun) return;
    } else {
      this.#reflectors.get(kind.kind)?.abort.abort();
      this.#reflectors.delete(kind.kind);
      this.#children.drop(kind);
    }
    this.#subscriptions.serve(kind, served);
  }

  #reflect(
    name: string,
    kind: ObjectKind,
    options: {
      readonly sink?: Sink;
      readonly sinkOf?: (inScope: (namespace: string) => boolean) => Sink;
      readonly labelSelector?: string;
      readonly metadataOnly?: boolean;
      readonly namespaced?: boolean;
    },
  ): void {
    const { client, config, metrics, log } = this.props;
    const { sink, sinkOf, namespaced = true, labelSelector, metadataOnly } = options;
    const scopes =
      namespaced && config.watchNamespaces.length > 0 ? config.watchNamespaces : [undefined];
    const abort = new AbortController();
    const signal = AbortSignal.any([this.#stop.signal, abort.signal]);
    const all = scopes.map((namespace) => {
      const target = sinkOf?.((other) => namespace === undefined || other === namespace) ?? sink;
      if (!target) throw new Error(`no sink for ${name}`);
      return new Reflector({
        client,
        path: resourcePath(kind, namespace),
        ...(labelSelector === undefined ? {} : { labelSelector }),
        ...(metadataOnly ? { metadataOnly } : {}),
        sink: target,
        signal,
        now: monotonic,
        random: Math.random,
        onRestart: (reason, error) => {
          metrics.watchRestarted(name, reason);
          log[reason === 'Expired' ? 'debug' : 'warn']('a watch begins again', {
            logger: 'reflector',
            kind: name,
            reason,
            error,
          });
        },
      });
    });
    this.#reflectors.set(name, { abort, all });
    for (const reflector of all) void reflector.run();
  }

  #countJob(before: Child | undefined, after: Child | undefined): void {
    const job = after ?? before;
    if (job?.kind.kind !== 'Job') return;
    const { metrics } = this.props;
    if (!after) metrics.forgetJob(job.namespace, job.name);
    else metrics.jobStatus(after.namespace, after.name, JOB_STATES[after.health.state]);
  }
}

const JOB_STATES = {
  Ready: 'Succeeded',
  Failed: 'Failed',
  InProgress: 'Active',
  Terminating: 'Active',
  Missing: 'Active',
} as const;

function monotonic(): number {
  return performance.now();
}
