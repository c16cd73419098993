import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Chart } from 'cdk8s';
import { bench } from '../../constructs/bench/index.js';
import { objectKind } from '../../constructs/kit/definition.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import { DEFAULT_SETTINGS } from '../../constructs/kit/settings.js';
import type { AnyKind } from '../../constructs/registry.js';
import { ChildCache } from '../../runner/cache/child-cache.js';
import { Notes } from '../../runner/cache/notes.js';
import { Subscriptions } from '../../runner/cache/world.js';
import { Controller } from '../../runner/controller.js';
import { createLogger } from '../../runner/log.js';
import { Metrics } from '../../runner/metrics.js';
import { Applier } from '../../runner/reconcile/apply.js';
import { Convergence } from '../../runner/reconcile/convergence.js';
import { Diagnostician } from '../../runner/reconcile/diagnose.js';
import { Events } from '../../runner/reconcile/events.js';
import { Finalizer } from '../../runner/reconcile/finalizer.js';
import { Observer } from '../../runner/reconcile/observer.js';
import { Runs } from '../../runner/reconcile/runs.js';
import { FakeApi } from './fake-api.js';
import { BENCH, MARKERS } from './plan-builder.js';

const STEPS = 4;
const sitesOf = ({ status }: Resource): number =>
  (status as { readonly sites?: number } | undefined)?.sites ?? 0;

/** A kind whose tree hangs on what its status said: it goes a step with each visit, and then rests. */
const stepping = {
  definition: bench.definition,
  owns: [],
  reads: [],
  indexes: [],
  gather: () => ({}),
  chart: (scope, id) => new Chart(scope, id),
  probes: () => [],
  observe: ({ resource }) => {
    const sites = Math.min(STEPS, sitesOf(resource) + 1);
    const ready = { type: 'Ready', status: 'True', reason: 'Ready', message: '' } as const;
    return { phase: 'Ready', ready, fields: { sites }, again: sites !== sitesOf(resource) };
  },
  teardown: { needed: () => false, blockers: () => undefined, chart: () => undefined },
} as AnyKind;

test('what the next visit reads is written before it, however little it is', async (t) => {
  const client = new FakeApi();
  const log = createLogger({ logLevel: 'error', logEncoder: 'json' });
  const subscriptions = new Subscriptions({
    settings: DEFAULT_SETTINGS,
    indexes: [],
    wake: () => undefined,
    now: Date.now,
  });
  const children = new ChildCache(MARKERS, () => undefined);
  const onApiGone = (): void => undefined;
  const applier = new Applier({ client, children, markers: MARKERS, onApiGone });
  const diagnostician = new Diagnostician({ client, now: () => performance.now() });
  const written: number[] = [];
  let visits = 0;
  const rests = Promise.withResolvers<undefined>();
  const remember = (object: KubeObject): void => {
    subscriptions.update(BENCH.kind, 'n/b', object);
  };
  const controller = new Controller({
    kind: {
      ...stepping,
      observe: (observation) => {
        visits += 1;
        if (visits > 100) rests.reject(new Error('it spins'));
        const judgement = stepping.observe(observation);
        if (!judgement.again) rests.resolve(undefined);
        return judgement;
      },
    },
    api: objectKind(bench.definition, MARKERS.group),
    client: {
      apply: <T>(path: string, object: unknown): Promise<T> => {
        assert.match(path, /\/appbenchs\/b\/status$/);
        const { status } = object as Resource;
        const resource = { ...BENCH, status };
        written.push(sitesOf(resource));
        return Promise.resolve(resource as T);
      },
    },
    kinds: new Map(),
    markers: MARKERS,
    subscriptions,
    children,
    convergence: new Convergence({ children, applier, now: Date.now }),
    observer: new Observer({ children, diagnostician, prober: undefined, now: Date.now }),
    finalizer: new Finalizer(client, MARKERS),
    notes: new Notes(subscriptions),
    runs: new Runs(client),
    events: new Events({ client, log, instance: 'test', now: () => new Date() }),
    metrics: new Metrics([BENCH.kind], false),
    log,
    concurrency: 1,
    resyncMs: 60_000,
    validate: () => [],
    remember,
    now: Date.now,
    monotonic: () => performance.now(),
    random: Math.random,
  });
  remember(BENCH);
  controller.queue.start();
  t.after(() => controller.queue.stop());
  controller.queue.add('n/b');
  await rests.promise;
  assert.deepEqual(written, [1, 2, 3, 4]);
  assert.equal(visits, STEPS + 1);
});
