import { hostname } from 'node:os';
import { objectKind } from '../constructs/kit/definition.js';
import { metadataKeysFor, type MetadataKeys } from '../constructs/kit/metadata-keys.js';
import { joined, type KubeObject, type ObjectKey } from '../constructs/kit/object.js';
import { kindId, type ObjectKind } from '../constructs/kit/object-kind.js';
import { admit } from '../constructs/kit/schema/admit.js';
import { BATCHES, KINDS, type AnyBatch, type AnyKind } from '../constructs/registry.js';
import type { Client } from './api/client.js';
import { Applier } from './apply/applier.js';
import { ResourceManager } from './apply/resource-manager.js';
import { BatchController } from './batch/batch-controller.js';
import { BatchObjects } from './cache/batch-objects.js';
import type { Child } from './cache/child.js';
import { ChildCache } from './cache/child-cache.js';
import { DependencyTracker, type Enqueue } from './cache/dependencies.js';
import { Discovery } from './cache/discovery.js';
import { CrdCheck } from './cache/crd-check.js';
import { InvalidObjects, type OnInvalid } from './cache/invalid-objects.js';
import { referenceSink } from './cache/readable-sink.js';
import { ResourceStore } from './cache/store.js';
import { FORBIDDEN_SHOWN_MS, watchConditions } from './cache/watch-conditions.js';
import { type WatchedKind, watchedKinds } from './cache/watch-mode.js';
import { Watches } from './cache/watches.js';
import type { Config } from './config/config.js';
import { Controller } from './controller/controller.js';
import { HealthChecker } from './health/health-checker.js';
import { JobRuns } from './health/job-runs.js';
import { PodDiagnostics } from './health/pod-diagnostics.js';
import { ProbeManager } from './health/probe-manager.js';
import { Events } from './reconcile/events.js';
import { Finalizer, LiveResources, type OwnKind } from './reconcile/live-resources.js';
import { countJob } from './cache/job-metrics.js';
import type { Logger } from './telemetry/log.js';
import type { OperatorMetrics } from './telemetry/metrics.js';
import { MonitoringReconciler } from './monitoring/monitoring-reconciler.js';

export interface ManagerProps {
  readonly config: Config;
  readonly client: Client;
  readonly metrics: OperatorMetrics;
  readonly log: Logger;
  /** @default all kinds of the registry */
  readonly kinds?: readonly AnyKind[];
  /** @default all batches of the registry */
  readonly batches?: readonly AnyBatch[];
}

/** The parts that the manager starts and stops. */
export interface Wiring {
  /** The kinds of objects that are watched, besides ours. */
  readonly watched: readonly WatchedKind[];
  readonly controllers: readonly Controller[];
  readonly batches: readonly BatchController[];
  readonly stores: ReadonlyMap<string, ResourceStore>;
  readonly dependencies: DependencyTracker;
  readonly children: ChildCache;
  readonly discovery: Discovery;
  readonly monitoring: MonitoringReconciler;
  readonly probes: ProbeManager | undefined;
  readonly watches: Watches;
}

/** The port by which caches enqueue keys of controllers that are built after them. */
class Enqueuer {
  readonly #byName = new Map<string, Pick<Controller, 'enqueue'>>();

  /** @param dependent `<name of the controller>/<namespace>/<name>` */
  readonly enqueue: Enqueue = (dependent, urgency, cause) => {
    const slash = dependent.indexOf('/');
    this.#byName
      .get(dependent.slice(0, slash))
      ?.enqueue(dependent.slice(slash + 1), urgency, cause);
  };

  register(name: string, controller: Pick<Controller, 'enqueue'>): void {
    this.#byName.set(name, controller);
  }
}

/**
 * Builds all parts: caches first, then what reads them, then the controllers.
 * @param onServed called when the cluster starts or stops to serve an optional API
 */
export function wire(
  props: ManagerProps,
  onServed: (kind: ObjectKind, served: boolean) => void,
): Wiring {
  const { config, client, log, kinds = KINDS, batches = BATCHES } = props;
  const enqueuer = new Enqueuer();
  const metadataKeys = metadataKeysFor(config.apiGroup);
  const watched = watchedKinds(kinds, batches);
  const read = watched.filter(({ mode }) => mode !== 'children').map(({ kind }) => kind);
  const caches = buildCaches(props, { metadataKeys, enqueue: enqueuer.enqueue, read });
  const monitoring = new MonitoringReconciler({
    client,
    namespace: config.leaderElectionNamespace,
    watchNamespaces: config.watchNamespaces,
    scraped: config.metricsSecureBindAddress !== null,
    log: log.child({ logger: 'monitoring' }),
  });
  const optional = watched.map(({ kind }) => kind).filter((kind) => kind.optional);
  const detected = kinds.flatMap(({ detects = [] }) => detects);
  const crds = new CrdCheck({
    client,
    group: config.apiGroup,
    definitions: kinds.map(({ definition }) => definition),
    log: log.child({ logger: 'discovery' }),
    onChange: (kind) => {
      built.controllers.find(({ kind: { definition } }) => definition.kind === kind)?.enqueueAll();
    },
  });
  const discovery = new Discovery({
    client,
    kinds: [...optional, ...monitoring.kinds, ...detected],
    onChange: onServed,
    onPoll: () => crds.refresh(),
    log: log.child({ logger: 'discovery' }),
  });
  const probes = config.siteCheck
    ? new ProbeManager({
        enqueue: (owner) => enqueuer.enqueue(owner, 'now', 'probe'),
        monotonic,
        random: Math.random,
      })
    : undefined;
  const built = buildControllers(props, {
    ...caches,
    metadataKeys,
    discovery,
    crds,
    probes,
  });
  for (const controller of built.controllers) {
    enqueuer.register(controller.kind.definition.kind, controller);
  }
  for (const batch of built.batches) enqueuer.register(batch.name, batch);
  return { watched, ...caches, ...built, discovery, monitoring, probes };
}

type Caches = Pick<Wiring, 'stores' | 'dependencies' | 'children' | 'watches'>;

function buildCaches(
  props: ManagerProps,
  {
    metadataKeys,
    enqueue,
    read,
  }: {
    readonly metadataKeys: MetadataKeys;
    readonly enqueue: Enqueue;
    /** The kinds of which resources read any object. */
    readonly read: readonly ObjectKind[];
  },
): Caches {
  const { config, client, metrics, log, kinds = KINDS, batches = BATCHES } = props;
  const indexes = [
    ...kinds.flatMap((kind) => kind.indexes),
    ...batches.map(({ requests }) => requests),
  ];
  const onInvalid = new InvalidObjects({ metrics, log: log.child({ logger: 'watches' }) }).report;
  const dependencies = new DependencyTracker({
    settings: config.settings,
    indexes,
    enqueue,
    onInvalid,
    now: Date.now,
  });
  const onChild = (
    owner: string,
    before: Child | undefined,
    after: Child | undefined,
    isOwn: boolean,
  ): void => {
    countJob(metrics, before, after);
    if (!isOwn) enqueue(owner, 'next', causeOf(before, after));
  };
  const children = new ChildCache(metadataKeys, onChild, onInvalid, {
    batches: new Set(batches.map(({ name }) => name)),
    // A list that missed it: no event brings it to the resources that wait for it.
    onMissed: (kind, object) => {
      if (read.includes(kind)) referenceSink(kind, dependencies, () => true).upsert(object);
    },
  });
  const stores = buildStores(props, { dependencies, enqueue, onInvalid });
  const watches = new Watches({
    client,
    namespaces: config.watchNamespaces,
    metrics,
    onInvalid,
    log: log.child({ logger: 'watches' }),
    now: monotonic,
    random: Math.random,
  });
  return { dependencies, children, stores, watches };
}

function buildStores(
  { metrics, kinds = KINDS, batches = BATCHES }: ManagerProps,
  {
    dependencies,
    enqueue,
    onInvalid,
  }: {
    readonly dependencies: DependencyTracker;
    readonly enqueue: Enqueue;
    readonly onInvalid: OnInvalid;
  },
): Wiring['stores'] {
  const stores = kinds.map(({ definition }) => {
    const { kind } = definition;
    const batchesOfKind = batches.filter(({ owner }) => owner === kind);
    const store = new ResourceStore({
      definition,
      onInvalid,
      onChange: (key, object) => {
        dependencies.update(kind, key, object);
      },
      onCount: (namespace, count) => {
        metrics.resources(kind, namespace, count);
      },
      enqueue: (key) => {
        enqueue(joined(kind, key), 'now', kind);
        for (const { name } of batchesOfKind) enqueue(joined(name, key), 'soon', kind);
      },
    });
    return [kind, store] as const;
  });
  return new Map(stores);
}

/** `Deployment changed` */
function causeOf(before: Child | undefined, after: Child | undefined): string {
  const change = !before ? 'created' : after ? 'changed' : 'deleted';
  return `${(after ?? before)?.kind.kind ?? ''} ${change}`;
}

interface ControllerInputs extends Caches {
  readonly metadataKeys: MetadataKeys;
  readonly discovery: Discovery;
  readonly crds: CrdCheck;
  readonly probes: ProbeManager | undefined;
}

function buildControllers(
  props: ManagerProps,
  inputs: ControllerInputs,
): Pick<Wiring, 'controllers' | 'batches'> {
  const { config, kinds = KINDS, batches = BATCHES } = props;
  const { stores, watches, crds } = inputs;
  const { apiGroup: group } = config;
  const shared = sharedParts(props, inputs);
  return {
    controllers: kinds.map(
      (kind) =>
        new Controller({
          ...shared,
          kind,
          api: objectKind(kind.definition, group),
          crdProblem: () => crds.problemOf(kind.definition),
          unservedStatus: () => crds.missing(kind.definition.kind),
          watchConditions: () => {
            const used = [objectKind(kind.definition, group), ...kind.owns, ...kind.reads];
            return watchConditions(used, watches.broken(FORBIDDEN_SHOWN_MS));
          },
          validate: (resource) =>
            admit(kind.definition, resource, { group, isStored: true }).problems,
          write: (key, write) => storeOf(stores, kind).write(key, write),
        }),
    ),
    batches: batches.map((batch) => new BatchController({ ...shared, batch })),
  };
}

function storeOf(stores: Caches['stores'], { definition: { kind } }: AnyKind): ResourceStore {
  const store = stores.get(kind);
  if (!store) throw new Error(`${kind}: has no store`);
  return store;
}

/** What all controllers share. */
function sharedParts(
  { config, client, metrics, log, kinds = KINDS, batches = BATCHES }: ManagerProps,
  { dependencies, children, stores, metadataKeys, discovery, probes }: ControllerInputs,
) {
  const ours = kinds.map((kind): [string, OwnKind] => {
    const { kind: name } = kind.definition;
    const found = (object: KubeObject): void => stores.get(name)?.upsert(object);
    const cached = (key: ObjectKey): KubeObject | undefined => dependencies.objects(name).get(key);
    return [name, { api: objectKind(kind.definition, config.apiGroup), kind, found, cached }];
  });
  const owned = [...kinds, ...batches].flatMap(({ owns }) => owns);
  const live = new LiveResources(client, new Map(ours), metadataKeys);
  const applier = new Applier({
    client,
    children,
    metadataKeys,
    valuesIds: dependencies.valuesIds,
    isCurrent: (resource) => live.isCurrent(resource),
    isCurrentWithParents: (resource) => live.isCurrentWithParents(resource),
    onApiGone: () => {
      discovery.hint();
    },
  });
  const podDiagnostics = new PodDiagnostics({ client, now: monotonic });
  return {
    client,
    metadataKeys,
    dependencies,
    children,
    metrics,
    log,
    monotonic,
    live,
    applier,
    podDiagnostics,
    kinds: new Map(owned.map((kind) => [kindId(kind), kind])),
    resourceManager: new ResourceManager({ children, applier, now: Date.now }),
    healthChecker: new HealthChecker({ children, podDiagnostics, probes, now: Date.now }),
    finalizer: new Finalizer(client, metadataKeys),
    batchObjects: new BatchObjects(dependencies),
    jobRuns: new JobRuns(client, children, monotonic),
    events: new Events({ client, log, instance: hostname(), now: () => new Date() }),
    concurrency: config.maxConcurrentReconciles,
    resyncMs: config.resyncIntervalMs,
    now: Date.now,
    random: Math.random,
  };
}

function monotonic(): number {
  return performance.now();
}
