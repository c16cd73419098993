import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';

import { WorkQueue } from '../../runner/queue/workqueue.js';

/** All that is due without a timer. */
export const settle = async (): Promise<void> => {
  for (let round = 0; round < 5; round++) await new Promise(setImmediate);
};

/** A queue whose clock and whose work the benchmark controls. */
export class Bench {
  readonly begun: string[] = [];
  readonly depths: number[] = [];
  readonly waits: number[] = [];
  retries = 0;
  time = 0;
  random = 0.5;
  readonly queue: WorkQueue;
  readonly #held = new Map<string, PromiseWithResolvers<undefined>>();

  constructor(
    private readonly context: TestContext,
    concurrency = 2,
    private readonly blockedReason = true,
    share = concurrency,
  ) {
    context.mock.timers.enable({ apis: ['setTimeout'] });
    this.queue = new WorkQueue({
      work: (key) => this.#work(key),
      concurrency,
      share,
      now: () => this.time,
      random: () => this.random,
      onDepth: (change) => void this.depths.push((this.depths.at(-1) ?? 0) + change),
      onWait: (seconds) => void this.waits.push(seconds),
      onRetry: () => {
        this.retries++;
      },
    });
    this.queue.start();
  }

  /** Adds keys, and lets their work begin. */
  async add(...keys: readonly string[]): Promise<void> {
    for (const key of keys) this.queue.add(key);
    await settle();
  }

  async end(key: string, error?: Error): Promise<void> {
    const held = this.#held.get(key);
    assert.ok(held, `${key} is in work`);
    this.#held.delete(key);
    if (error) held.reject(error);
    else held.resolve(undefined);
    await settle();
  }

  isWorking(key: string): boolean {
    return this.#held.has(key);
  }

  async pass(ms: number): Promise<void> {
    for (let step = 0; step < ms; step += 10) {
      this.time += Math.min(10, ms - step);
      this.context.mock.timers.tick(Math.min(10, ms - step));
      await settle();
    }
  }

  async #work(key: string): Promise<void> {
    this.begun.push(key);
    if (!this.blockedReason) return;
    assert.ok(!this.#held.has(key), `${key} is in work twice`);
    const held = Promise.withResolvers<undefined>();
    this.#held.set(key, held);
    await held.promise;
  }
}
