import { suite } from 'node:test';

/** Suites at a time: with those of the other cluster they use two processors by four fifths. */
const CONCURRENCY = 2;

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
