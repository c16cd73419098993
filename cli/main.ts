#!/usr/bin/env node
/** `app-operator` and `kubectl appbench`. Imports are dynamic, so that the check of Node.js runs first. */
import '../runner/kit/require-node.js';

const { cacheCompiledCode } = await import('./io/compile-cache.js');
cacheCompiledCode(process.env);
const { processStreams } = await import('./io/streams.js');
const { runProgram } = await import('./program.js');
process.exitCode = await runProgram(process.argv.slice(2), processStreams());
