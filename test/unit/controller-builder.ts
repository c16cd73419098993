import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { objectKind } from '../../constructs/kit/definition.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import { DEFAULT_SETTINGS } from '../../constructs/kit/operator-settings.js';
import { KINDS, type AnyKind } from '../../constructs/registry.js';
import { Applier } from '../../runner/apply/applier.js';
import { ResourceManager } from '../../runner/apply/resource-manager.js';
import { BatchObjects } from '../../runner/cache/batch-objects.js';
import { ChildCache } from '../../runner/cache/child-cache.js';
import { DependencyTracker } from '../../runner/cache/dependencies.js';
import { Controller, type ControllerProps } from '../../runner/controller/controller.js';
import { HealthChecker } from '../../runner/health/health-checker.js';
import { JobRuns } from '../../runner/health/job-runs.js';
import { PodDiagnostics } from '../../runner/health/pod-diagnostics.js';
import type { ProbeManager } from '../../runner/health/probe-manager.js';
import { Events } from '../../runner/reconcile/events.js';
import { Finalizer } from '../../runner/reconcile/live-resources.js';
import { createLogger } from '../../runner/telemetry/log.js';
import { OperatorMetrics } from '../../runner/telemetry/metrics.js';
import { BENCH, METADATA_KEYS } from './plan-builder.js';

/** A controller of one kind and the caches that it reads, with all that it needs. */
export function controllerOf(
  kind: AnyKind,
  client: ControllerProps['client'],
  more: Partial<ControllerProps> & { readonly probes?: ProbeManager | undefined } = {},
): {
  readonly controller: Controller;
  readonly dependencies: DependencyTracker;
  readonly children: ChildCache;
} {
  const log = createLogger({ logLevel: 'error', logEncoder: 'json' }, new PassThrough());
  const dependencies = new DependencyTracker({
    settings: DEFAULT_SETTINGS,
    indexes: KINDS.flatMap(({ indexes }) => indexes),
    enqueue: () => undefined,
    now: Date.now,
  });
  const children = new ChildCache(METADATA_KEYS, () => undefined);
  const onApiGone = (): void => undefined;
  const applier = new Applier({ client, children, metadataKeys: METADATA_KEYS, onApiGone });
  const podDiagnostics = new PodDiagnostics({ client, now: () => performance.now() });
  const { probes, ...props } = more;
  const controller = new Controller({
    kind,
    client,
    api: objectKind(kind.definition, METADATA_KEYS.group),
    kinds: new Map(),
    metadataKeys: METADATA_KEYS,
    dependencies,
    children,
    resourceManager: new ResourceManager({ children, applier, now: Date.now }),
    healthChecker: new HealthChecker({ children, podDiagnostics, probes, now: Date.now }),
    finalizer: new Finalizer(client, METADATA_KEYS),
    batchObjects: new BatchObjects(dependencies),
    jobRuns: new JobRuns(client, children),
    events: new Events({ client, log, instance: 'test', now: () => new Date() }),
    metrics: new OperatorMetrics([kind.definition.kind], false),
    log,
    concurrency: 1,
    resyncMs: 60_000,
    validate: () => [],
    write: (_key, write) => write(),
    now: Date.now,
    monotonic: () => performance.now(),
    random: Math.random,
    ...props,
  });
  return { controller, dependencies, children };
}

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
  const client: ControllerProps['client'] = {
    // The kinds here record nothing of their status.
    request: () => Promise.reject(new Error('no request is made')),
    apply: <T>(path: string, object: unknown): Promise<T> => {
      const { metadata, status } = object as Resource;
      assert.ok(path.endsWith(`/appbenchs/${metadata.name}/status`), path);
      const resource = { ...BENCH, metadata: { ...BENCH.metadata, name: metadata.name }, status };
      written(resource);
      return Promise.resolve(resource as T);
    },
  };
  const { controller, dependencies } = controllerOf(kind, client, {
    probes,
    monotonic,
    write: async (_key, write) => {
      const answer = await write();
      if (answer) update(answer.metadata.name, answer);
      return answer;
    },
  });
  const update = (name: string, object: KubeObject | undefined): void => {
    dependencies.update(BENCH.kind, `n/${name}`, object);
  };
  return { controller, update };
}
