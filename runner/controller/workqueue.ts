import type { OperatorMetrics } from '../telemetry/metrics.js';

export interface WorkQueueProps {
  /** Handles one key. What it throws counts as a failure of the key. */
  readonly work: (key: string) => Promise<void>;
  /** Keys in work at once. */
  readonly concurrency: number;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  /** In [0, 1), for jitter. */
  readonly random: () => number;
  readonly onDepth?: (depth: number) => void;
  /** Seconds from the time at which a key was due to the start of the work on it. */
  readonly onWait?: (seconds: number) => void;
  readonly onRetry?: () => void;
}

/** Milliseconds. Node fires a timer with a longer delay at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;
const BACKOFF_MS = { first: 200, most: 300_000 };

/**
 * Keys to reconcile. A key is in work once at a time; added again meanwhile, it is worked on once
 * more. Of several delays of one key the shortest wins.
 */
export class WorkQueue {
  readonly #due = new Map<string, number>();
  readonly #later = new Map<string, { at: number; timer: NodeJS.Timeout }>();
  readonly #running = new Map<string, Promise<void>>();
  readonly #again = new Set<string>();
  readonly #failures = new Map<string, number>();
  #started = false;

  constructor(private readonly props: WorkQueueProps) {}

  /** Starts the work, also on the keys that were added before. */
  start(): void {
    this.#started = true;
    this.#pump();
  }

  /** Starts no more work, and resolves when the running work has ended. */
  async stop(): Promise<void> {
    this.#started = false;
    for (const { timer } of this.#later.values()) clearTimeout(timer);
    this.#later.clear();
    await Promise.allSettled(this.#running.values());
  }

  get depth(): number {
    return this.#due.size;
  }

  get busy(): boolean {
    return this.#due.size > 0 || this.#running.size > 0;
  }

  /** How often the key has failed in a row. */
  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  add(key: string): void {
    this.#cancelLater(key);
    if (this.#running.has(key)) {
      this.#again.add(key);
      return;
    }
    if (this.#due.has(key)) return;
    this.#due.set(key, this.props.now());
    this.props.onDepth?.(this.#due.size);
    this.#pump();
  }

  /** Adds the key after some milliseconds, unless it is added before. */
  addAfter(key: string, delayMs: number): void {
    const at = this.props.now() + delayMs;
    const planned = this.#later.get(key);
    if (this.#due.has(key) || (planned && planned.at <= at)) return;
    this.#cancelLater(key);
    const timer = setTimeout(
      () => {
        this.#later.delete(key);
        this.add(key);
      },
      // Early for the longest delays: that reconcile schedules the next one.
      Math.min(delayMs, LONGEST_TIMER_MS),
    );
    timer.unref();
    this.#later.set(key, { at, timer });
  }

  /** Forgets the failures and delays of a key. */
  forget(key: string): void {
    this.#failures.delete(key);
    this.#cancelLater(key);
  }

  #cancelLater(key: string): void {
    const planned = this.#later.get(key);
    if (!planned) return;
    clearTimeout(planned.timer);
    this.#later.delete(key);
  }

  #pump(): void {
    while (this.#started && this.#running.size < this.props.concurrency) {
      const next = this.#due.entries().next();
      if (next.done) return;
      const [key, since] = next.value;
      this.#due.delete(key);
      this.props.onDepth?.(this.#due.size);
      this.props.onWait?.((this.props.now() - since) / 1000);
      this.#running.set(key, this.#run(key));
    }
  }

  async #run(key: string): Promise<void> {
    try {
      // Never in the caller's stack: a listener may add keys while it changes a store.
      await Promise.resolve();
      // The work sees every change that was announced until now.
      this.#again.delete(key);
      await this.props.work(key);
      this.#failures.delete(key);
    } catch {
      const failures = this.failures(key) + 1;
      this.#failures.set(key, failures);
      this.props.onRetry?.();
      const backoff = Math.min(BACKOFF_MS.most, BACKOFF_MS.first * 2 ** (failures - 1));
      this.addAfter(key, backoff * (0.75 + this.props.random() / 2));
    }
    this.#running.delete(key);
    if (this.#again.delete(key)) this.add(key);
    this.#pump();
  }
}

/** A work queue whose depth, waits and retries are counted under the name of its controller. */
export function meteredQueue(
  name: string,
  metrics: OperatorMetrics,
  {
    concurrency,
    monotonic: now,
    random,
  }: {
    readonly concurrency: number;
    /** Milliseconds. */
    readonly monotonic: () => number;
    /** In [0, 1), for jitter. */
    readonly random: () => number;
  },
  work: WorkQueueProps['work'],
): WorkQueue {
  return new WorkQueue({
    work,
    concurrency,
    now,
    random,
    onDepth: (depth) => {
      metrics.queueLength(name, depth);
    },
    onWait: (seconds) => {
      metrics.waited(name, seconds);
    },
    onRetry: () => {
      metrics.retried(name);
    },
  });
}
