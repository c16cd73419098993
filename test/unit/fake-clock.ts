import type { Clock } from '../../runner/kit/clock.js';

/** Lets what waits for nothing but promises go on. */
export const settle = (): Promise<void> => new Promise(setImmediate);

/** A clock that the test advances. */
export class FakeClock implements Clock {
  private time = 0;
  private readonly sleepers = new Set<{ readonly at: number; readonly wake: () => void }>();

  monotonic(): number {
    return this.time;
  }
  now(): Date {
    return new Date(this.time);
  }
  sleep(ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = (): void => {
        // A loop that sleeps would leave a listener each time, and adding one looks at all others.
        signal.removeEventListener('abort', wake);
        this.sleepers.delete(sleeper);
        resolve();
      };
      const sleeper = { at: this.time + ms, wake };
      this.sleepers.add(sleeper);
      signal.addEventListener('abort', wake);
    });
  }

  async pass(ms: number): Promise<void> {
    const end = this.time + ms;
    await settle();
    for (;;) {
      const due = [...this.sleepers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (!due) break;
      this.time = Math.max(this.time, due.at);
      due.wake();
      await settle();
    }
    this.time = end;
  }

  /** As when the process is stopped: time passes, and no timer fires before the end. */
  stall(ms: number): void {
    this.time += ms;
  }
}
