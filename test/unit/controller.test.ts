import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, mock, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Chart } from 'cdk8s';
import { bench } from '../../constructs/kinds/bench/index.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import type { AnyKind } from '../../constructs/registry.js';
import { ApiError } from '../../runner/api/api-error.js';
import type { Controller } from '../../runner/controller/controller.js';
import type { LiveResources } from '../../runner/reconcile/live-resources.js';
import { aController, controllerOf } from './controller-builder.js';
import { BENCH } from './plan-builder.js';

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
  cleanup: { needed: () => false, reads: [], blockers: () => undefined, chart: () => undefined },
} as AnyKind;

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

describe('of changes to a message only, one of each resource is written in five seconds', () => {
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
    // The clock is the test's own: what is planned for later comes by `reconcileAt` only.
    mock.timers.enable({ apis: ['setTimeout'] });
    ({ controller, update } = aController(
      { ...stepping, evaluate },
      ({ metadata }) => reported.push(metadata.name),
      () => time,
    ));
    for (const name of NAMES) update(name, named(name));
    controller.queue.start();
    assert.equal(await reconcileAt(0), 'a b c d e', 'a first status is more than a word');
  });
  afterEach(async () => {
    await controller.queue.stop();
    mock.timers.reset();
  });

  test('however often it is reconciled, and independent of the others', async () => {
    assert.equal(await reconcileAt(4), '');
    assert.equal(await reconcileAt(5, ['a']), 'a');
    assert.equal(await reconcileAt(6, ['a', 'b']), 'b');
    assert.equal(await reconcileAt(9.9, ['a', 'b']), '');
    assert.equal(await reconcileAt(11), 'a b c d e');
  });

  test('and one that was deleted and created again is written at once', async () => {
    update('c', undefined);
    assert.equal(await reconcileAt(1), '');
    update('c', named('c'));
    assert.equal(await reconcileAt(2), 'c');
  });
});

test('a report is not the status of another resource of the same name', async (t) => {
  const statuses: string[] = [];
  let isFirst = true;
  const again = { ...BENCH, metadata: { ...BENCH.metadata, uid: 'again' } };
  const kind: AnyKind = {
    ...stepping,
    evaluate: ({ resource: { metadata } }) => {
      if (isFirst) {
        // It is deleted and created again during its reconcile.
        isFirst = false;
        update('b', undefined);
        update('b', again);
        controller.queue.add('n/b');
      }
      const message = String(metadata.uid);
      return { phase: 'Ready', ready: { type: 'Ready', status: 'True', reason: 'Ready', message } };
    },
  };
  const { controller, update } = aController(
    kind,
    ({ status }) => {
      const { conditions } = status as { readonly conditions: readonly { message: string }[] };
      statuses.push(conditions.map(({ message }) => message).join());
    },
    () => performance.now(),
  );
  update('b', BENCH);
  controller.queue.start();
  t.after(() => controller.queue.stop());
  controller.queue.add('n/b');
  while (controller.queue.busy) await setImmediate();
  assert.deepEqual(statuses, ['again']);
});

test('while a status cannot be written, its event is not recorded', async (t) => {
  const events: string[] = [];
  const failed = { type: 'Ready', status: 'False', reason: 'Failed', message: '' } as const;
  const denied = Promise.reject(new Error('denied'));
  denied.catch(() => undefined);
  let isDenied = true;
  const { controller, dependencies } = controllerOf(
    { ...stepping, evaluate: () => ({ phase: 'Failed', ready: failed }) },
    {
      request: <T>(_method: string, path: string): Promise<T> => {
        events.push(path);
        return Promise.resolve(undefined as T);
      },
      apply: <T>(_path: string, object: unknown): Promise<T> =>
        isDenied ? denied : Promise.resolve(object as T),
    },
  );
  dependencies.update(BENCH.kind, 'n/b', BENCH);
  controller.queue.start();
  t.after(() => controller.queue.stop());
  for (let attempt = 0; attempt < 3; attempt++) {
    controller.queue.add('n/b');
    while (controller.queue.busy) await setImmediate();
  }
  assert.deepEqual(events, []);
  isDenied = false;
  controller.queue.add('n/b');
  while (controller.queue.busy) await setImmediate();
  assert.equal(events.length, 1);
});

test('a status that is answered with 404 is written again, unless the resource is deleted', async (t) => {
  for (const exists of [true, false]) {
    let writes = 0;
    const refresh = (): Promise<boolean> => Promise.resolve(exists);
    const { controller, dependencies } = controllerOf(
      stepping,
      {
        request: <T>(): Promise<T> => Promise.resolve(undefined as T),
        apply: <T>(path: string, object: unknown): Promise<T> => {
          writes += 1;
          if (writes === 1) return Promise.reject(ApiError.of(path, 404, 'not found'));
          return Promise.resolve(object as T);
        },
      },
      { live: { refresh } as unknown as LiveResources },
    );
    dependencies.update(BENCH.kind, 'n/b', BENCH);
    controller.queue.start();
    t.after(() => controller.queue.stop());
    controller.queue.add('n/b');
    while (controller.queue.busy) await setImmediate();
    assert.equal(controller.queue.failures('n/b'), exists ? 1 : 0);
  }
});
