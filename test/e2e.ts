/**
 * Runs the tests on a real node, in two clusters side by side: `node dist/lib/test/e2e.js`. Their
 * tests wait for pods most of the time. One file: `node --test dist/lib/test/e2e/faults.test.js`.
 */
import path from 'node:path';

import { projectRoot } from '../testbed/project-root.js';
import { runFiles } from './support/run-files.js';

const CLUSTERS = ['first-cluster', 'second-cluster'];

const folder = path.join(projectRoot(), 'dist/lib/test/e2e');
const files = CLUSTERS.map((name) => path.join(folder, `${name}.js`));
const { passed } = await runFiles(files, { concurrency: CLUSTERS.length });
process.exitCode = passed ? 0 : 1;
