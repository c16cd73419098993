import { run } from 'node:test';

import { summaryReporter } from './summary-reporter.js';

/**
 * Runs compiled test files, each in a process of its own, and prints their summary.
 * @returns whether all tests passed
 */
export async function runFiles(files: string[], concurrency: number): Promise<boolean> {
  let passed = true;
  const events = run({ files, concurrency });
  events.on('test:fail', () => (passed = false));
  for await (const text of summaryReporter(events)) process.stdout.write(text);
  return passed;
}
