import type { Clock } from '../../runner/clock.js';

export const settle = async (): Promise<void> => {
  for (let round = 0; round < 5; round++) await new Promise(setImmediate);
};

/** A clock that the test advances. */
export class FakeClock implements Clock {
  private time = 0;
  private readonly sleepers = new Set<{ readonly at: number; readonly enqueue: () => void }>();

  monotonic(): number {
    return this.time;
  }
  now(): Date {
    return new Date(this.time);
  }
  sleep(ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const sleeper = { at: this.time + ms, enqueue: resolve };
      this.sleepers.add(sleeper);
      signal.addEventListener('abort', () => {
        this.sleepers.delete(sleeper);
        resolve();
      });
    });
  }

  async pass(ms: number): Promise<void> {
    const end = this.time + ms;
    await settle();
    for (;;) {
      const due = [...this.sleepers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (!due) break;
      this.sleepers.delete(due);
      this.time = Math.max(this.time, due.at);
      due.enqueue();
      await settle();
    }
    this.time = end;
  }

  /** As when the process is stopped: time passes, and no timer fires before the end. */
  stall(ms: number): void {
    this.time += ms;
  }
}
