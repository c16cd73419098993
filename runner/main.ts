#!/usr/bin/env node
/** The operator. Imports are dynamic, so that the check of Node.js runs first. */
import './kit/require-node.js';

const { runOperator } = await import('./operator.js');
process.exitCode = await runOperator(process.argv.slice(2), process.env);
// A call that never returns must not keep the process alive after the shutdown timeout.
setTimeout(() => process.exit(), 500).unref();
