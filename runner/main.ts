#!/usr/bin/env node
import { runOperator } from './operator.js';

process.exitCode = await runOperator(process.argv.slice(2), process.env);
// Everything has had its time to end: a hanging request must not keep the process.
setTimeout(() => process.exit(), 500).unref();
