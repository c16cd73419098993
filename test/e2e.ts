/**
 * Runs the tests on a real node, in two clusters side by side: `node dist/lib/test/e2e.js`. Their
 * tests wait for pods most of the time. One file: `node --test dist/lib/test/e2e/faults.test.js`.
 */
import path from 'node:path';
import { run } from 'node:test';

import { projectRoot } from '../testbed/root.js';
import { summaryReporter } from './support/summary-reporter.js';

const CLUSTERS = ['first-cluster', 'second-cluster'];

const folder = path.join(projectRoot(), 'dist/lib/test/e2e');
const events = run({
  files: CLUSTERS.map((name) => path.join(folder, `${name}.js`)),
  concurrency: CLUSTERS.length,
});
events.on('test:fail', () => (process.exitCode = 1));
for await (const text of summaryReporter(events)) process.stdout.write(text);
