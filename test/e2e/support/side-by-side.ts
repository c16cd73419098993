import { availableParallelism } from 'node:os';
import { suite } from 'node:test';

/**
 * Suites at a time, with as many in the other cluster. On two processors a second one made the load 27:
 * a worker lost a job.
 */
const CONCURRENCY = availableParallelism() < 4 ? 1 : 2;

/**
 * Suites that mostly wait for pods, and neither disturb the node nor measure it.
 * @param files the import of each file, by its name
 */
export function sideBySide(files: Readonly<Record<string, () => Promise<unknown>>>): void {
  void suite('side by side', { concurrency: CONCURRENCY }, () => {
    for (const [name, load] of Object.entries(files)) {
      void suite(name, { concurrency: 1 }, async () => {
        await load();
      });
    }
  });
}
