import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, mock, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Chart } from 'cdk8s';
import { bench } from '../../constructs/bench/index.js';
import { objectKind } from '../../constructs/kit/definition.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import { DEFAULT_SETTINGS } from '../../constructs/kit/settings.js';
import type { AnyKind } from '../../constructs/registry.js';
import { ChildCache } from '../../runner/cache/child-cache.js';
import { BatchObjects } from '../../runner/cache/batch-objects.js';
import { DependencyTracker } from '../../runner/cache/dependencies.js';
import { Controller } from '../../runner/controller/controller.js';
import { createLogger } from '../../runner/telemetry/log.js';
import { OperatorMetrics } from '../../runner/telemetry/metrics.js';
import { Applier } from '../../runner/apply/applier.js';
import { ResourceManager } from '../../runner/apply/resource-manager.js';
import { PodDiagnostics } from '../../runner/health/pod-diagnostics.js';
import { Events } from '../../runner/reconcile/events.js';
import { Finalizer } from '../../runner/reconcile/finalizer.js';
import { HealthChecker } from '../../runner/health/health-checker.js';
import { JobRuns } from '../../runner/health/job-runs.js';
import { FakeApi } from './fake-api.js';
import { BENCH, METADATA_KEYS } from './plan-builder.js';

const STEPS = 4;
const sitesOf = ({ status }: Resource): number =>
  (status as { readonly sites?: number } | undefined)?.sites ?? 0;

/** A kind whose tree depends on its status: each reconcile is one step, until the last. */
const stepping = {
  definition: bench.definition,
  owns: [],
  reads: [],
  references: [],
  reasons: {},
  durableStatus: [],
  indexes: [],
  resolve: () => ({}),
  chart: (scope, id) => new Chart(scope, id),
  probes: () => [],
  evaluate: ({ resource }) => {
    const sites = Math.min(STEPS, sitesOf(resource) + 1);
    const ready = { type: 'Ready', status: 'True', reason: 'Ready', message: '' } as const;
    return {
      phase: 'Ready',
      ready,
      fields: { sites },
      reconcileAgain: sites !== sitesOf(resource),
    };
  },
  cleanup: { needed: () => false, blockers: () => undefined, chart: () => undefined },
} as AnyKind;

/** A controller of one kind, whose only output is written statuses. */
function aController(
  kind: AnyKind,
  written: (resource: Resource) => void,
  monotonic: () => number,
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
      prober: undefined,
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

test('a small change that the next reconcile reads is written before it', async (t) => {
  const written: number[] = [];
  let reconciles = 0;
  const rests = Promise.withResolvers<undefined>();
  const { controller, update } = aController(
    {
      ...stepping,
      evaluate: (observation) => {
        reconciles += 1;
        if (reconciles > 100) rests.reject(new Error('it spins'));
        const statusResult = stepping.evaluate(observation);
        if (!statusResult.reconcileAgain) rests.resolve(undefined);
        return statusResult;
      },
    },
    (resource) => written.push(sitesOf(resource)),
    () => performance.now(),
  );
  update('b', BENCH);
  controller.queue.start();
  t.after(() => controller.queue.stop());
  controller.queue.add('n/b');
  await rests.promise;
  assert.deepEqual(written, [1, 2, 3, 4]);
  assert.equal(reconciles, STEPS + 1);
});

describe('of changes to a message only, one is written in two seconds', () => {
  const NAMES = ['a', 'b', 'c', 'd', 'e'];
  let time = 0;
  let words = 0;
  let reported: string[] = [];
  let controller: Controller;
  let update: (name: string, object: KubeObject | undefined) => void;
  const named = (name: string): Resource => ({ ...BENCH, metadata: { ...BENCH.metadata, name } });
  const evaluate: AnyKind['evaluate'] = () => {
    const ready = { type: 'Ready', status: 'True', reason: 'Ready' } as const;
    return { phase: 'Ready', ready: { ...ready, message: String(++words) } };
  };

  /** Reconciles them at a time, one after the other, and returns the names of written statuses. */
  const reconcileAt = async (
    seconds: number,
    names: readonly string[] = NAMES,
  ): Promise<string> => {
    time = seconds * 1_000;
    reported = [];
    for (const name of names) controller.queue.add(`n/${name}`);
    while (controller.queue.busy) await setImmediate();
    return reported.join(' ');
  };

  beforeEach(async () => {
    // The clock is the test's own: what is planned for later comes by `visitAt` only.
    mock.timers.enable({ apis: ['setTimeout'] });
    ({ controller, update } = aController(
      { ...stepping, evaluate },
      ({ metadata }) => reported.push(metadata.name),
      () => time,
    ));
    for (const name of NAMES) update(name, named(name));
    controller.queue.start();
    assert.equal(await reconcileAt(0), 'a b c d e', 'a first status is more than a word');
    assert.equal(await reconcileAt(1), 'a');
  });
  afterEach(async () => {
    await controller.queue.stop();
    mock.timers.reset();
  });

  test('of each in its turn, in any order of arrival', async () => {
    const all: string[] = [];
    for (let second = 2; second <= 13; second++) all.push(await reconcileAt(second));
    assert.deepEqual(all, ['', 'b', '', 'c', '', 'd', '', 'e', '', 'a', '', 'b']);
  });

  test('also while the resource whose turn it is is not reconciled', async () => {
    const others = ['c', 'd', 'e'];
    assert.equal(await reconcileAt(3, others), '');
    assert.equal(await reconcileAt(5, others), 'c');
    assert.equal(await reconcileAt(7), 'b');
  });

  test('and a resource without an update, or that was deleted, has no turn', async () => {
    update('b', named('b'));
    update('c', undefined);
    assert.equal(await reconcileAt(2), 'b');
    assert.equal(await reconcileAt(3), 'd');
  });
});
