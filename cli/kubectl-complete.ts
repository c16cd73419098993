#!/usr/bin/env node
/** Completion of `kubectl appbench`: kubectl runs this with the words so far, and reads candidates and a directive. */
import { complete } from './commands/completion/complete.js';

/** Cobra's directives: no space after the only candidate, and no file names. */
const NO_SPACE = 2;
const NO_FILES = 4;
const FILES = 0;

const out = await complete(process.argv.slice(2), process.env);
const lines = out.split('\n').filter((line) => line !== '' && line !== ':file');
const files = out.includes(':file\n');
const open = lines.some((line) => line.endsWith('/'));
const directive = (files ? FILES : NO_FILES) | (open ? NO_SPACE : 0);
// The shell waits: a call that is still without its answer is not waited for.
process.stdout.write([...lines, `:${directive}`, ''].join('\n'), () => process.exit());
