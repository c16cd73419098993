#!/usr/bin/env node
import { runOperator } from './operator.js';

process.exitCode = await runOperator(process.argv.slice(2), process.env);
// Calls that hang must not keep the process: all that should end has had its time by now.
setTimeout(() => process.exit(), 500).unref();
