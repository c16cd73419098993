import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { WorkQueue } from '../../runner/controller/workqueue.js';
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

  test('keeps what is added before the start, and works on it then', async (t) => {
    const begun: string[] = [];
    const queue = new WorkQueue({
      work: async (key) => void begun.push(key),
      concurrency: 1,
      now: () => 0,
      random: () => 0,
    });
    t.after(() => queue.stop());
    queue.add('a');
    queue.add('b');
    await settle();
    assert.deepEqual(begun, []);
    queue.start();
    await settle();
    assert.deepEqual(begun, ['a', 'b']);
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

  test('is tried again after 0.2 s, 0.4 s, 0.8 s …', async (t) => {
    const bench = new Bench(t);
    await bench.add('a');
    for (const wanted of [200, 400, 800, 1_600]) {
      assert.equal(await backoff(bench, 'a'), wanted);
    }
    assert.equal(bench.queue.failures('a'), 4);
    assert.equal(bench.retries, 4);
  });

  for (const [random, wanted] of [
    [0, 150],
    [0.99, 250],
  ] as const) {
    test(`is spread by a quarter: ${wanted} ms in place of 200`, async (t) => {
      const bench = new Bench(t);
      bench.random = random;
      await bench.add('a');
      assert.equal(await backoff(bench, 'a'), wanted);
    });
  }

  test('is tried at least every five minutes or so', async (t) => {
    const bench = new Bench(t);
    await bench.add('a');
    // Each failure doubles the wait; the clock jumps from one try to the next.
    for (let failure = 0; failure < 40; failure++) {
      const tries = bench.begun.length;
      await bench.end('a', new Error('no'));
      bench.time += 375_000;
      t.mock.timers.tick(375_000);
      await settle();
      assert.equal(bench.begun.length, tries + 1, `after failure ${failure}`);
    }
  });

  test('begins again after a success', async (t) => {
    const bench = new Bench(t);
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
      random: () => -1.5 + 0.001,
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
