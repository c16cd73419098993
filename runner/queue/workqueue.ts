import { namespaceOfKey } from '../../constructs/kit/object.js';
import { backoffMs, type BackoffLimits } from '../kit/backoff.js';
import type { OperatorMetrics } from '../telemetry/metrics.js';
import { FairQueue } from './fair-queue.js';

export interface WorkQueueProps {
  /** Handles one key, `<namespace>/<name>`. What it throws counts as a failure of the key. */
  readonly work: (key: string) => Promise<void>;
  /** Keys in work at once. */
  readonly concurrency: number;
  /** Keys of one namespace in work at once. @default as many as `concurrency` */
  readonly share?: number;
  /**
   * A namespace gets more than its share while no other one waits and this many workers stay free.
   * @default a namespace never gets more than its share
   */
  readonly reserve?: number;
  /**
   * Whether a user waits for this key: it is not behind all other keys of its namespace.
   * @default no key
   */
  readonly isAwaited?: (key: string) => boolean;
  /** @default 0.2 s to 30 s */
  readonly backoff?: BackoffLimits;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  /** In [0, 1), for jitter. */
  readonly random: () => number;
  /** Called with the change of the number of keys that wait. */
  readonly onDepth?: (change: number) => void;
  /** Seconds from the time at which a key was due to the start of the work on it. */
  readonly onWait?: (seconds: number) => void;
  readonly onRetry?: () => void;
  /** Called with what first made a key due, when the work on it starts. */
  readonly onWork?: (cause: string) => void;
}

/** Milliseconds. Node fires a timer with a longer delay at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** The cause where no change is known. */
const TIMER = 'timer';
const BACKOFF_MS: BackoffLimits = { first: 200, most: 30_000 };

/** A key whose work has failed. */
interface Failing {
  /** The first failure, and those of the retries that the backoff has scheduled. */
  readonly failures: number;
  /** When the first failure was. */
  readonly since: number;
  readonly retryAt: number;
}

/**
 * Keys to reconcile. A key is in work once at a time; added again meanwhile, it is worked on once
 * more. Of several delays of one key the shortest wins. Namespaces take turns: the keys of one never
 * wait for all keys of another. So do, in a namespace, keys that a user waits for and the others.
 * Keys are ignored before the start and after the stop: the work of a standby is not collected.
 */
export class WorkQueue {
  /** Since when each key is due. */
  readonly #due = new Map<string, number>();
  /** The keys that are due, in the order of their turns. */
  #order = new FairQueue<string>();
  /** How many keys of each namespace are in work. */
  readonly #inWork = new Map<string, number>();
  readonly #later = new Map<string, { at: number; timer: NodeJS.Timeout }>();
  readonly #running = new Map<string, Promise<void>>();
  /** The keys that were added while they were in work, with the first cause. */
  readonly #again = new Map<string, string>();
  /** Of keys that are due. */
  readonly #causes = new Map<string, string>();
  readonly #failing = new Map<string, Failing>();
  #started = false;

  constructor(private readonly props: WorkQueueProps) {}

  /** Takes keys from now on. */
  start(): void {
    this.#started = true;
  }

  /** Forgets the keys that wait, starts no more work, and resolves when the running work has ended. */
  async stop(): Promise<void> {
    this.#started = false;
    for (const { timer } of this.#later.values()) clearTimeout(timer);
    this.#later.clear();
    this.props.onDepth?.(-this.#due.size);
    this.#due.clear();
    this.#causes.clear();
    this.#order = new FairQueue();
    await Promise.allSettled(this.#running.values());
  }

  get depth(): number {
    return this.#due.size;
  }

  get busy(): boolean {
    return this.#due.size > 0 || this.#running.size > 0;
  }

  /** How often the key has failed in a row; failures between two retries do not count. */
  failures(key: string): number {
    return this.#failing.get(key)?.failures ?? 0;
  }

  /** @param cause what makes the key due, for `onWork` */
  add(key: string, cause = TIMER): void {
    if (!this.#started) return;
    this.#cancelLater(key);
    if (this.#running.has(key)) {
      if (!this.#again.has(key)) this.#again.set(key, cause);
      return;
    }
    if (this.#due.has(key)) return;
    this.#due.set(key, this.props.now());
    this.#causes.set(key, cause);
    this.#order.push(namespaceOfKey(key), key, this.props.isAwaited?.(key));
    this.props.onDepth?.(1);
    this.#pump();
  }

  /** Adds the key after some milliseconds, unless it is added before. */
  addAfter(key: string, delayMs: number, cause = TIMER): void {
    if (!this.#started) return;
    const at = this.props.now() + delayMs;
    const planned = this.#later.get(key);
    if (this.#due.has(key) || (planned && planned.at <= at)) return;
    this.#cancelLater(key);
    const timer = setTimeout(
      () => {
        this.#later.delete(key);
        this.add(key, cause);
      },
      // Early for the longest delays: that reconcile schedules the next one.
      Math.min(delayMs, LONGEST_TIMER_MS),
    );
    timer.unref();
    this.#later.set(key, { at, timer });
  }

  /** Forgets the failures and delays of a key. */
  forget(key: string): void {
    this.#failing.delete(key);
    this.#cancelLater(key);
  }

  #cancelLater(key: string): void {
    const planned = this.#later.get(key);
    if (!planned) return;
    clearTimeout(planned.timer);
    this.#later.delete(key);
  }

  #pump(): void {
    const { concurrency, now, onDepth, onWait } = this.props;
    while (this.#started && this.#running.size < concurrency) {
      const key = this.#next();
      if (key === undefined) return;
      const since = this.#due.get(key) ?? now();
      this.#due.delete(key);
      this.props.onWork?.(this.#causes.get(key) ?? TIMER);
      this.#causes.delete(key);
      onDepth?.(-1);
      onWait?.((now() - since) / 1000);
      this.#count(key, 1);
      this.#running.set(key, this.#run(key));
    }
  }

  #next(): string | undefined {
    const { concurrency, share = concurrency, reserve = concurrency } = this.props;
    const key = this.#order.take((namespace) => (this.#inWork.get(namespace) ?? 0) < share);
    if (key !== undefined || this.#running.size >= concurrency - reserve) return key;
    return this.#order.take(() => true);
  }

  async #run(key: string): Promise<void> {
    try {
      // Never in the caller's stack: a listener may add keys while it changes a store. And not in its
      // turn of the event loop: thousands of reconciles without a call would let no event in.
      await new Promise(setImmediate);
      // The work sees every change that was announced until now.
      this.#again.delete(key);
      await this.props.work(key);
      this.#failing.delete(key);
    } catch {
      this.props.onRetry?.();
      this.#retry(key);
    }
    this.#running.delete(key);
    this.#count(key, -1);
    const again = this.#again.get(key);
    this.#again.delete(key);
    if (again !== undefined) this.add(key, again);
    this.#pump();
  }

  /** Events that cause failures before the next retry do not postpone it. */
  #retry(key: string): void {
    const { backoff = BACKOFF_MS, random } = this.props;
    const now = this.props.now();
    const before = this.#failing.get(key) ?? { failures: 0, since: now, retryAt: now };
    const isDue = before.retryAt <= now;
    const failing = isDue
      ? {
          failures: before.failures + 1,
          since: before.since,
          retryAt: now + backoffMs(now - before.since, backoff, random()),
        }
      : before;
    this.#failing.set(key, failing);
    this.addAfter(key, failing.retryAt - now, 'retry');
  }

  #count(key: string, change: 1 | -1): void {
    const namespace = namespaceOfKey(key);
    const inWork = (this.#inWork.get(namespace) ?? 0) + change;
    if (inWork > 0) this.#inWork.set(namespace, inWork);
    else this.#inWork.delete(namespace);
  }
}

/**
 * The part of the workers that is the share of a namespace, and the part that a namespace beyond its
 * share leaves free. Turns are not enough: if an admission webhook of one namespace does not answer, each
 * of its keys holds a worker for up to 30 s, and soon they hold all. With a quarter, a namespace that is
 * alone has 7 of 10 workers, and three namespaces that hang leave one of 10 to the others.
 */
const SHARE = 1 / 4;

/** A work queue whose depth, waits and retries are counted under the name of its controller. */
export function meteredQueue(
  controller: string,
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
  keys: Pick<WorkQueueProps, 'work' | 'isAwaited'>,
): WorkQueue {
  const share = Math.ceil(concurrency * SHARE);
  return new WorkQueue({
    ...keys,
    concurrency,
    share,
    reserve: share,
    now,
    random,
    onDepth: (change) => {
      metrics.queueDepth.inc({ controller }, change);
    },
    onWait: (seconds) => {
      metrics.queueWait.observe({ controller }, seconds);
    },
    onRetry: () => {
      metrics.queueRetries.inc({ controller });
    },
    onWork: (cause) => {
      metrics.causes.inc({ controller, cause });
    },
  });
}
