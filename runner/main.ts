#!/usr/bin/env node
import { runOperator } from './operator.js';

process.exitCode = await runOperator(process.argv.slice(2), process.env);
