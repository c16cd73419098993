import { setTimeout as sleep } from 'node:timers/promises';

/** A clock; tests pass their own. */
export interface Clock {
  /** Monotonic milliseconds, for deadlines. */
  monotonic(): number;
  /** The time of day, for people. */
  now(): Date;
  /** Resolves after a time, or when the signal is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  monotonic: () => performance.now(),
  now: () => new Date(),
  sleep: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => undefined),
};
