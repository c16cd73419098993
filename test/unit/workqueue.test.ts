import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { FairQueue } from '../../runner/queue/fair-queue.js';
import { meteredQueue, WorkQueue } from '../../runner/queue/workqueue.js';
import { OperatorMetrics } from '../../runner/telemetry/metrics.js';
import { randomFrom } from '../../testbed/random.js';
import { Bench, settle } from './workqueue-benchmark.js';

describe('a queue', () => {
  test('works on a key once, however often it was added before the work begins', async (t) => {
    const bench = new Bench(t);
    await bench.add('a', 'a', 'a');
    await bench.end('a');
    assert.deepEqual(bench.begun, ['a']);
    assert.equal(bench.queue.busy, false);
  });

  test('reconciles a key once at a time, and once more if it was added meanwhile', async (t) => {
    const bench = new Bench(t);
    await bench.add('a');
    await bench.add('a', 'a');
    assert.deepEqual(bench.begun, ['a']);
    await bench.end('a');
    assert.deepEqual(bench.begun, ['a', 'a']);
    await bench.end('a');
    assert.deepEqual(bench.begun, ['a', 'a']);
  });

  test('reconciles as many keys at once as configured, in the order in which they were added', async (t) => {
    const bench = new Bench(t, 2);
    await bench.add('a', 'b', 'c', 'd');
    assert.deepEqual(bench.begun, ['a', 'b']);
    assert.equal(bench.queue.depth, 2);
    await bench.end('b');
    assert.deepEqual(bench.begun, ['a', 'b', 'c']);
  });

  test('does not starve the other keys if one key is always added again', async (t) => {
    const bench = new Bench(t, 1);
    await bench.add('loud', 'quiet');
    await bench.add('loud');
    await bench.end('loud');
    assert.deepEqual(bench.begun, ['loud', 'quiet']);
  });

  test('begins no work in the stack of whoever adds the key', (t) => {
    const bench = new Bench(t);
    bench.queue.add('a');
    assert.deepEqual(bench.begun, []);
  });

  test('collects nothing before the start: a standby would keep the keys of deleted resources', async (t) => {
    const begun: string[] = [];
    let depth = 0;
    const queue = new WorkQueue({
      work: async (key) => void begun.push(key),
      concurrency: 1,
      now: () => performance.now(),
      random: () => 0,
      onDepth: (change) => {
        depth += change;
      },
    });
    t.after(() => queue.stop());
    queue.add('a');
    queue.addAfter('b', 1);
    await sleep(5);
    assert.deepEqual([depth, queue.busy], [0, false]);
    queue.start();
    await sleep(5);
    assert.deepEqual(begun, []);
  });

  test('reports the number of waiting keys, and their waiting times', async (t) => {
    const bench = new Bench(t, 1);
    await bench.add('a', 'b');
    await bench.pass(1_500);
    await bench.end('a');
    assert.deepEqual(bench.depths, [1, 0, 1, 0]);
    assert.deepEqual(bench.waits, [0, 1.5]);
  });
});

describe('a key for later', () => {
  test('is reconciled when its time has come', async (t) => {
    const bench = new Bench(t);
    bench.queue.addAfter('a', 1_000);
    await bench.pass(990);
    assert.deepEqual(bench.begun, []);
    await bench.pass(10);
    assert.deepEqual(bench.begun, ['a']);
  });

  for (const [first, second] of [
    [1_000, 500],
    [500, 1_000],
  ] as const) {
    test(`is reconciled at the earliest of its times, planned for ${first} then ${second} ms`, async (t) => {
      const bench = new Bench(t);
      bench.queue.addAfter('a', first);
      bench.queue.addAfter('a', second);
      await bench.pass(500);
      assert.deepEqual(bench.begun, ['a']);
      await bench.end('a');
      await bench.pass(1_000);
      assert.deepEqual(bench.begun, ['a'], 'and the other plan is forgotten');
    });
  }

  test('is reconciled now if it is added meanwhile, and not again later', async (t) => {
    const bench = new Bench(t);
    bench.queue.addAfter('a', 1_000);
    await bench.add('a');
    assert.deepEqual(bench.begun, ['a']);
    await bench.end('a');
    await bench.pass(2_000);
    assert.deepEqual(bench.begun, ['a']);
  });

  test('that is planned while it is reconciled is reconciled afterwards', async (t) => {
    const bench = new Bench(t);
    await bench.add('a');
    bench.queue.addAfter('a', 100);
    await bench.pass(200);
    assert.deepEqual(bench.begun, ['a']);
    await bench.end('a');
    assert.deepEqual(bench.begun, ['a', 'a']);
  });

  test('is not reconciled at once if it is planned for later than a timer can wait', async (t) => {
    const begun: string[] = [];
    const queue = new WorkQueue({
      work: async (key) => void begun.push(key),
      concurrency: 1,
      now: () => performance.now(),
      random: () => 0,
    });
    t.after(() => queue.stop());
    queue.start();
    queue.addAfter('a', 30 * 24 * 3_600_000);
    await sleep(50);
    assert.deepEqual(begun, []);
  });

  test('is not reconciled any more once it is forgotten', async (t) => {
    const bench = new Bench(t);
    bench.queue.addAfter('a', 100);
    bench.queue.forget('a');
    await bench.pass(200);
    assert.deepEqual(bench.begun, []);
  });
});

describe('a key that fails', () => {
  /** Milliseconds until it is tried again. */
  const backoff = async (bench: Bench, key: string): Promise<number> => {
    const [tries, failedAt] = [bench.begun.length, bench.time];
    await bench.end(key, new Error('no'));
    while (bench.begun.length === tries) await bench.pass(10);
    return bench.time - failedAt;
  };

  test('is tried again after 0.2 s, 0.2 s, 0.4 s, 0.8 s …: after as long as it has failed', async (t) => {
    const bench = new Bench(t);
    bench.random = 1;
    await bench.add('a');
    for (const wanted of [200, 200, 400, 800, 1_600]) {
      assert.equal(await backoff(bench, 'a'), wanted);
    }
    assert.equal(bench.queue.failures('a'), 5);
    assert.equal(bench.retries, 5);
  });

  for (const [random, wanted] of [
    [0, 150],
    [0.5, 180],
  ] as const) {
    test(`is spread by a quarter, and never later: ${wanted} ms in place of 200`, async (t) => {
      const bench = new Bench(t);
      bench.random = random;
      await bench.add('a');
      assert.equal(await backoff(bench, 'a'), wanted);
    });
  }

  test('is tried at least every 30 seconds', async (t) => {
    const bench = new Bench(t);
    bench.random = 0.999;
    await bench.add('a');
    // The clock jumps from one try to the next.
    for (let failure = 0; failure < 40; failure++) {
      const tries = bench.begun.length;
      await bench.end('a', new Error('no'));
      bench.time += 30_000;
      t.mock.timers.tick(30_000);
      await settle();
      assert.equal(bench.begun.length, tries + 1, `after failure ${failure}`);
    }
  });

  test('is tried soon after a short fault, however many events caused failures in it', async (t) => {
    const bench = new Bench(t, 1);
    bench.random = 0.999;
    for (let wake = 0; wake < 15; wake++) {
      // The retry of the backoff may have begun before.
      if (!bench.isWorking('a')) await bench.add('a');
      await bench.end('a', new Error('no'));
      await bench.pass(130);
    }
    if (bench.isWorking('a')) await bench.end('a', new Error('no'));
    const [tries, healedAt] = [bench.begun.length, bench.time];
    assert.ok(healedAt <= 2_000 && tries >= 15, `${tries} tries in ${healedAt} ms`);
    assert.ok(bench.queue.failures('a') < 6, `${bench.queue.failures('a')} failures`);
    while (bench.begun.length === tries) await bench.pass(10);
    assert.ok(bench.time - healedAt <= 2_000, `${bench.time - healedAt} ms`);
  });

  for (const outage of [300, 1_000, 5_000, 20_000, 120_000]) {
    test(`is tried within ${Math.min(outage, 30_000)} ms after an outage of ${outage} ms`, async (t) => {
      const bench = new Bench(t, 1);
      const random = randomFrom(outage);
      await bench.add('a');
      const failed: number[] = [];
      while (bench.time < outage) {
        bench.random = random();
        failed.push(bench.time);
        await bench.end('a', new Error('no'));
        while (!bench.isWorking('a')) await bench.pass(outage > 60_000 ? 1_000 : 10);
      }
      const wait = bench.time - outage;
      assert.ok(wait <= Math.min(outage, 30_000), `${wait} ms`);
      // From 30 s on it is tried each half a minute.
      assert.ok(failed.length < 20 + outage / 20_000, `${failed.length} tries`);
    });
  }

  test('begins again after a success', async (t) => {
    const bench = new Bench(t);
    bench.random = 1;
    await bench.add('a');
    await backoff(bench, 'a');
    await backoff(bench, 'a');
    await bench.end('a');
    assert.equal(bench.queue.failures('a'), 0);
    await bench.add('a');
    assert.equal(await backoff(bench, 'a'), 200);
  });

  test('blocks no other key', async (t) => {
    const bench = new Bench(t, 1);
    await bench.add('a', 'b');
    await bench.end('a', new Error('no'));
    assert.deepEqual(bench.begun, ['a', 'b']);
  });
});

describe('namespaces take turns', () => {
  const many = Array.from({ length: 5_000 }, (_, index) => `loud/${index}`);

  test('a key is among the next when 5,000 keys of another namespace are due', async (t) => {
    const workers = 10;
    const bench = new Bench(t, workers);
    await bench.add(...many, 'quiet/a');
    assert.equal(bench.queue.depth, 5_001 - workers);
    assert.ok(bench.begun.every((key) => key.startsWith('loud/')));
    await bench.end('loud/0');
    await bench.end('loud/1');
    assert.ok(bench.begun.slice(workers).includes('quiet/a'), bench.begun.slice(workers).join());
  });

  test('each key of a namespace waits for one key of each other namespace', async (t) => {
    const bench = new Bench(t, 1);
    await bench.add('z/0', 'a/1', 'a/2', 'a/3', 'b/1', 'b/2', 'c/1');
    for (const key of ['z/0', 'a/1', 'b/1', 'c/1', 'a/2', 'b/2']) await bench.end(key);
    assert.deepEqual(bench.begun, ['z/0', 'a/1', 'b/1', 'c/1', 'a/2', 'b/2', 'a/3']);
  });

  test('a namespace has at most its share of the workers, and its other keys are kept', async (t) => {
    const bench = new Bench(t, 4, true, 2);
    await bench.add('a/1', 'a/2', 'a/3', 'a/4', 'b/1', 'c/1', 'd/1');
    assert.deepEqual(bench.begun, ['a/1', 'a/2', 'b/1', 'c/1']);
    await bench.end('b/1');
    assert.deepEqual(bench.begun.slice(4), ['d/1'], 'not a third key of a');
    await bench.end('c/1');
    assert.equal(bench.begun.length, 5);
    await bench.end('a/1', new Error('no'));
    assert.deepEqual(bench.begun.slice(5), ['a/3']);
  });

  test('keys that a user waits for take turns with the others of their namespace', () => {
    const queue = new FairQueue<string>();
    for (const item of ['a1', 'a2', 'a3', 'a4']) queue.push('a', item);
    queue.push('b', 'b1');
    for (const item of ['awaited1', 'awaited2', 'awaited3']) queue.push('a', item, true);
    const all = Array.from({ length: 9 }, () => queue.take(() => true));
    assert.deepEqual(
      all.filter((item) => item !== 'b1'),
      ['awaited1', 'a1', 'awaited2', 'a2', 'awaited3', 'a3', 'a4', undefined],
    );
  });

  test('a turn costs the same however many keys are due', () => {
    // Counted, not timed: a queue of 200,000 keys would take minutes if each turn looked at all.
    const queue = new FairQueue<number>();
    for (let item = 0; item < 200_000; item++) queue.push(`namespace-${item % 1_000}`, item);
    for (let item = 0; item < 200_000; item++)
      assert.equal(
        queue.take(() => true),
        item,
      );
    assert.equal(
      queue.take(() => true),
      undefined,
    );
  });
});

describe('a namespace whose work hangs', () => {
  const keysOf = (namespace: string): readonly string[] =>
    Array.from({ length: 50 }, (_, index) => `${namespace}/${index}`);

  /** The queue of a controller. The work on the keys of some namespaces hangs until `timeOut`. */
  const started = (t: TestContext, concurrency: number, ...hanging: readonly string[]) => {
    const begun: string[] = [];
    let call = Promise.withResolvers<undefined>();
    const props = { concurrency, monotonic: () => 0, random: () => 0 };
    const queue = meteredQueue('bench', new OperatorMetrics([], false), props, {
      work: async (key) => {
        begun.push(key);
        if (hanging.some((namespace) => key.startsWith(`${namespace}/`))) await call.promise;
      },
    });
    const settled = async (): Promise<void> => {
      for (let round = 0; round < 50; round++) await settle();
    };
    const timeOut = async (): Promise<void> => {
      const { reject } = call;
      call = Promise.withResolvers<undefined>();
      reject(new Error('timed out'));
      await settled();
    };
    t.after(async () => {
      const stop = queue.stop();
      await timeOut();
      await stop;
    });
    queue.start();
    const add = async (...namespaces: readonly string[]): Promise<void> => {
      for (const key of namespaces.flatMap(keysOf)) queue.add(key);
      await settled();
    };
    const begunOf = (namespace: string): number =>
      begun.filter((key) => key.startsWith(`${namespace}/`)).length;
    return { add, begunOf, timeOut };
  };

  for (const [added, when] of [
    [['hung', 'healthy'], 'together'],
    [['healthy', 'hung', 'other'], 'with others'],
  ] as const) {
    test(`leaves workers to a namespace whose keys come ${when}`, async (t) => {
      const { add, begunOf } = started(t, 10, 'hung');
      await add(...added);
      for (const namespace of added)
        if (namespace !== 'hung') assert.equal(begunOf(namespace), 50, namespace);
    });
  }

  test('leaves workers to a namespace whose keys come later', async (t) => {
    const { add, begunOf } = started(t, 10, 'hung');
    await add('hung');
    await add('healthy');
    assert.equal(begunOf('healthy'), 50);
  });

  test('leaves a worker together with two more, once the first calls have timed out', async (t) => {
    const hanging = ['hung-1', 'hung-2', 'hung-3'];
    const { add, begunOf, timeOut } = started(t, 10, ...hanging);
    await add(...hanging, 'healthy');
    assert.deepEqual(hanging.map(begunOf), [7, 3, 0]);
    await timeOut();
    assert.equal(begunOf('healthy'), 50);
    assert.deepEqual(hanging.map(begunOf), [10, 6, 3]);
  });

  for (const [workers, most] of [
    [1, 1],
    [2, 1],
    [4, 3],
    [10, 7],
    [100, 75],
  ] as const) {
    test(`has at most ${most} of ${workers} workers, and as many while no other one waits`, async (t) => {
      const { add, begunOf } = started(t, workers, 'hung');
      // With 100 workers, more keys than workers.
      await add('hung', 'hung/more');
      assert.equal(begunOf('hung'), most);
    });
  }
});

describe('the end of a queue', () => {
  test('waits for the work in hand, also for work that fails', async (t) => {
    const bench = new Bench(t);
    await bench.add('a', 'b', 'c');
    let stopped = false;
    const stop = bench.queue.stop().then(() => (stopped = true));
    await settle();
    assert.equal(stopped, false);
    await bench.end('a');
    assert.equal(stopped, false);
    await bench.end('b', new Error('no'));
    await stop;
    assert.deepEqual(bench.begun, ['a', 'b'], 'and begins no other');
  });

  test('begins no more work: waiting, planned, failed or added keys', async (t) => {
    const bench = new Bench(t);
    await bench.add('a');
    bench.queue.addAfter('later', 10);
    const stop = bench.queue.stop();
    await bench.end('a', new Error('no'));
    await stop;
    await bench.add('new');
    await bench.pass(1_000);
    assert.deepEqual(bench.begun, ['a']);
    assert.equal(bench.queue.busy, false);
  });

  test('reports that no key waits any more', async (t) => {
    const bench = new Bench(t, 1);
    await bench.add('a', 'b', 'c');
    await bench.add('a');
    assert.equal(bench.depths.at(-1), 2);
    const stop = bench.queue.stop();
    assert.equal(bench.depths.at(-1), 0);
    await bench.end('a', new Error('no'));
    await stop;
    bench.queue.add('d');
    bench.queue.addAfter('e', 10);
    await bench.pass(100);
    assert.deepEqual([bench.depths.at(-1), bench.queue.depth, bench.queue.busy], [0, 0, false]);
  });
});

test('every added key is reconciled after it was added, one at a time', async (t) => {
  for (let seed = 1; seed <= 50; seed++) {
    const random = randomFrom(seed);
    const added = new Map<string, number>();
    const reconciled = new Map<string, number>();
    const running = new Set<string>();
    let clock = 0;
    const queue = new WorkQueue({
      work: async (key) => {
        assert.ok(!running.has(key), `${key} is in work twice`);
        assert.ok(running.size < 3, 'too much at once');
        running.add(key);
        reconciled.set(key, ++clock);
        await new Promise(setImmediate);
        running.delete(key);
        if (random() < 0.2) throw new Error('no');
      },
      concurrency: 3,
      now: () => performance.now(),
      // Backoff in a blink: what fails comes back at once.
      random: () => -3 + 0.001,
    });
    t.after(() => queue.stop());
    queue.start();
    for (let step = 0; step < 60; step++) {
      const key = `k${Math.floor(random() * 5)}`;
      added.set(key, ++clock);
      if (random() < 0.5) queue.add(key);
      else queue.addAfter(key, random() * 3);
      if (random() < 0.4) await new Promise(setImmediate);
    }
    await new Promise((resolve) => setTimeout(resolve, 15));
    while (queue.busy) await new Promise(setImmediate);
    for (const [key, when] of added) {
      assert.ok((reconciled.get(key) ?? 0) > when, `seed ${seed}: ${key} is not worked on`);
    }
  }
});

test('a queue lets events in between keys whose work waits for nothing', async (t) => {
  let worked = 0;
  const queue = new WorkQueue({
    work: async () => void (worked += 1),
    concurrency: 10,
    now: () => 0,
    random: () => 0,
  });
  t.after(() => queue.stop());
  queue.start();
  for (let index = 0; index < 5_000; index++) queue.add(`loud/${index}`);
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  assert.ok(worked < 100, `${worked} keys before the first event`);
  while (queue.busy) await new Promise(setImmediate);
  assert.equal(worked, 5_000);
});
