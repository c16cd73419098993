/**
 * Runs files of end-to-end tests side by side on one node, each with its tests in order:
 * `MUTATED_FILES='requests removal' node --test --test-isolation=none suites.js`.
 */
import { suite, test } from 'node:test';

// First, so that the node outlives each of the files.
import '../e2e/harness.js';

/** Title of a test of each file, which a pattern of names has to include. */
const LOADED = 'the file is loaded';

const files = (process.env['MUTATED_FILES'] ?? '').split(' ').filter(Boolean);

void suite('mutations', { concurrency: true }, () => {
  for (const file of files) {
    void suite(file, { concurrency: 1 }, async () => {
      // A pattern leaves out a suite that has no test of such a name before its file is loaded.
      test(LOADED, () => undefined);
      await import(new URL(`../e2e/${file}.test.js`, import.meta.url).href);
    });
  }
});
