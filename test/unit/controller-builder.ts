import assert from 'node:assert/strict';
import { objectKind } from '../../constructs/kit/definition.js';
import { bench } from '../../constructs/bench/index.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import { DEFAULT_SETTINGS } from '../../constructs/kit/settings.js';
import type { AnyKind } from '../../constructs/registry.js';
import { Applier } from '../../runner/apply/applier.js';
import { ResourceManager } from '../../runner/apply/resource-manager.js';
import { BatchObjects } from '../../runner/cache/batch-objects.js';
import { ChildCache } from '../../runner/cache/child-cache.js';
import { DependencyTracker } from '../../runner/cache/dependencies.js';
import { Controller } from '../../runner/controller/controller.js';
import { HealthChecker } from '../../runner/health/health-checker.js';
import { JobRuns } from '../../runner/health/termination-message.js';
import { PodDiagnostics } from '../../runner/health/pod-diagnostics.js';
import type { ProbeManager } from '../../runner/health/probe-manager.js';
import { Events } from '../../runner/reconcile/events.js';
import { Finalizer } from '../../runner/reconcile/finalizer.js';
import { createLogger } from '../../runner/telemetry/log.js';
import { OperatorMetrics } from '../../runner/telemetry/metrics.js';
import { FakeApi } from './fake-api.js';
import { BENCH, METADATA_KEYS } from './plan-builder.js';

/** A controller of one kind, whose only output is written statuses. */
export function aController(
  kind: AnyKind,
  written: (resource: Resource) => void,
  monotonic: () => number,
  probes?: ProbeManager,
): {
  readonly controller: Controller;
  readonly update: (name: string, object: KubeObject | undefined) => void;
} {
  const client = new FakeApi();
  const log = createLogger({ logLevel: 'error', logEncoder: 'json' });
  const dependencies = new DependencyTracker({
    settings: DEFAULT_SETTINGS,
    indexes: [],
    enqueue: () => undefined,
    now: Date.now,
  });
  const children = new ChildCache(METADATA_KEYS, () => undefined);
  const onApiGone = (): void => undefined;
  const applier = new Applier({ client, children, metadataKeys: METADATA_KEYS, onApiGone });
  const podDiagnostics = new PodDiagnostics({ client, now: () => performance.now() });
  const update = (name: string, object: KubeObject | undefined): void => {
    dependencies.update(BENCH.kind, `n/${name}`, object);
  };
  const controller = new Controller({
    kind,
    api: objectKind(bench.definition, METADATA_KEYS.group),
    client: {
      // The kinds here record nothing of their status.
      request: () => Promise.reject(new Error('no request is made')),
      apply: <T>(path: string, object: unknown): Promise<T> => {
        const { metadata, status } = object as Resource;
        assert.ok(path.endsWith(`/appbenchs/${metadata.name}/status`), path);
        const resource = { ...BENCH, metadata: { ...BENCH.metadata, name: metadata.name }, status };
        written(resource);
        return Promise.resolve(resource as T);
      },
    },
    kinds: new Map(),
    metadataKeys: METADATA_KEYS,
    dependencies,
    children,
    resourceManager: new ResourceManager({ children, applier, now: Date.now }),
    healthChecker: new HealthChecker({
      children,
      podDiagnostics,
      probes,
      now: Date.now,
    }),
    finalizer: new Finalizer(client, METADATA_KEYS),
    batchObjects: new BatchObjects(dependencies),
    jobRuns: new JobRuns(client),
    events: new Events({ client, log, instance: 'test', now: () => new Date() }),
    metrics: new OperatorMetrics([BENCH.kind], false),
    log,
    concurrency: 1,
    resyncMs: 60_000,
    validate: () => [],
    remember: (object) => {
      update(object.metadata.name, object);
    },
    now: Date.now,
    monotonic,
    random: Math.random,
  });
  return { controller, update };
}
