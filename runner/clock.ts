import { setTimeout as sleep } from 'node:timers/promises';

/** Time, as far as waiting and deciding need it; tests bring their own. */
export interface Clock {
  /** Milliseconds that only ever grow, and evenly: what deadlines are measured by. */
  monotonic(): number;
  /** The time of day, for people. */
  now(): Date;
  /** Resolves after a time, or at once when the signal is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  monotonic: () => performance.now(),
  now: () => new Date(),
  sleep: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => undefined),
};
