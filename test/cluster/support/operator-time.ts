/**
 * Preloaded into the operator's process by tests: its timers and its monotonic clock run faster, or its
 * clock is ahead, so that tests need not wait for half a minute. It never runs in the product.
 */
import { createRequire, syncBuiltinESMExports } from 'node:module';

const factor = Number(process.env['TEST_TIME_FACTOR'] ?? '1');
const aheadMs = Number(process.env['TEST_CLOCK_AHEAD_MS'] ?? '0');

type Timer = (callback: unknown, ms?: number, ...rest: readonly unknown[]) => unknown;

function fasterTimer(original: Timer): Timer {
  return (callback, ms = 1, ...rest) => original(callback, ms / factor, ...rest);
}

if (factor !== 1) {
  const monotonic = performance.now.bind(performance);
  performance.now = () => monotonic() * factor;
  for (const name of ['setTimeout', 'setInterval'] as const) {
    Object.assign(globalThis, { [name]: fasterTimer(globalThis[name] as Timer) });
  }
  const timers = createRequire(import.meta.url)('node:timers/promises') as {
    setTimeout: (ms?: number, ...rest: readonly unknown[]) => unknown;
  };
  const sleep = timers.setTimeout;
  timers.setTimeout = (ms = 1, ...rest) => sleep(ms / factor, ...rest);
  syncBuiltinESMExports();
}

if (aheadMs !== 0) {
  const now = Date.now.bind(Date);
  Date.now = () => now() + aheadMs;
}
