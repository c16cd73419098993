/**
 * Ends the process with one line when its Node.js is too old. Entry points import this module before
 * any other: it runs on old releases, and what they import next may not.
 */
import { nodeVersionProblem } from './node-version.js';

const problem = nodeVersionProblem(process.versions.node);
if (problem !== undefined) {
  process.stderr.write(`${problem}\n`);
  process.exit(1);
}
