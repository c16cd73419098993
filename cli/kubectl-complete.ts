#!/usr/bin/env node
/**
 * Completion of `kubectl appbench`: kubectl runs this program with the words so far, and reads candidates
 * and a directive. Imports are dynamic, so that the check of Node.js runs first.
 */
import '../runner/kit/require-node.js';

const { complete } = await import('./commands/completion/complete.js');

/** Directives of cobra: no space after the only candidate, and no file names. */
const NO_SPACE = 2;
const NO_FILES = 4;
const FILES = 0;

const out = await complete(process.argv.slice(2));
const lines = out.split('\n').filter((line) => line !== '' && line !== ':file');
const hasFiles = out.includes(':file\n');
const isOpen = lines.some((line) => line.endsWith('/'));
const directive = (hasFiles ? FILES : NO_FILES) | (isOpen ? NO_SPACE : 0);
process.stdout.write([...lines, `:${directive}`, ''].join('\n'));
