import { run } from 'node:test';

import { Summary } from './summary-reporter.js';

export interface RunOptions {
  /** How many files run at a time. */
  readonly concurrency: number;
  /** Of a test and of a suite. The longest suite takes ten minutes on a slow machine. Default: 20 minutes. */
  readonly timeoutMs?: number;
  /** Printed before the counts at the end. */
  readonly remark?: string;
}

export interface RunResult {
  readonly passed: boolean;
  /** Milliseconds by file. */
  readonly durations: ReadonlyMap<string, number>;
}

/**
 * Runs compiled test files, each in a process of its own, and prints their summary. What a file prints, and
 * its result, appear at once, whatever the files before it do. A file that hangs fails: its tests
 * have a timeout, and its process ends with its last test.
 */
export async function runFiles(
  files: Iterable<string> | AsyncIterable<string>,
  { concurrency, timeoutMs = 20 * 60_000, remark = '' }: RunOptions,
): Promise<RunResult> {
  const summary = new Summary();
  const durations = new Map<string, number>();
  const waiting = shared(files);
  const runWaiting = async (): Promise<void> => {
    for await (const file of waiting) {
      const start = performance.now();
      const events = run({ files: [file], timeout: timeoutMs, forceExit: true });
      for await (const text of summary.of(events)) process.stdout.write(text);
      durations.set(file, Math.round(performance.now() - start));
    }
  };
  await Promise.all(Array.from({ length: concurrency }, runWaiting));
  process.stdout.write(summary.end(remark));
  return { passed: !summary.hasFailed, durations };
}

/** One sequence of which several loops take turns. */
async function* shared(files: Iterable<string> | AsyncIterable<string>): AsyncGenerator<string> {
  yield* files;
}
