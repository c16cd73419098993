import { run } from 'node:test';

import { Summary } from './summary-reporter.js';

export interface RunOptions {
  /** How many files run at a time. */
  readonly concurrency: number;
  /** Of a test and of a suite. The longest suite takes ten minutes on a slow machine. Default: 20 minutes. */
  readonly timeoutMs?: number;
}

/**
 * Runs compiled test files, each in a process of its own, and prints their summary. What a file prints, and
 * its result, appear at once, whatever the files before it do. A file that hangs fails: its tests
 * have a timeout, and its process ends with its last test.
 * @returns whether all tests passed
 */
export async function runFiles(
  files: readonly string[],
  { concurrency, timeoutMs = 20 * 60_000 }: RunOptions,
): Promise<boolean> {
  const summary = new Summary();
  const waiting = files.values();
  const runWaiting = async (): Promise<void> => {
    for (const file of waiting) {
      const events = run({ files: [file], timeout: timeoutMs, forceExit: true });
      for await (const text of summary.of(events)) process.stdout.write(text);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, runWaiting));
  process.stdout.write(summary.end());
  return !summary.hasFailed;
}
