/**
 * Runs the unit tests and the golden scenarios in this one process, each file as a suite.
 * With `--watch` the compiler runs beside them, and a change of a compiled file runs them again.
 */
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { suite } from 'node:test';
import { fileURLToPath } from 'node:url';

import { projectRoot } from '../testbed/project-root.js';

const FOLDERS = ['unit', 'golden'];

if (process.argv.includes('--watch')) {
  watch();
} else {
  for (const folder of FOLDERS) declare(folder);
}

/**
 * A file's hooks belong to its suite, so that no other file runs them.
 * The sources say which files exist: the compiler leaves the output of a deleted one behind.
 */
function declare(folder: string): void {
  const files = readdirSync(`${projectRoot()}/test/${folder}`)
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => file.replace(/ts$/, 'js'))
    .sort();
  for (const file of files) {
    void suite(`${folder}/${file}`, async () => {
      await import(new URL(`./${folder}/${file}`, import.meta.url).href);
    });
  }
}

function watch(): void {
  const start = (args: readonly string[]): void => {
    spawn(process.execPath, args, { stdio: 'inherit' });
  };
  const compiler = new URL('../../../node_modules/typescript-native/bin/tsc', import.meta.url);
  start([fileURLToPath(compiler), '-b', '--watch', '--preserveWatchOutput']);
  start([
    '--watch',
    '--watch-preserve-output',
    ...process.execArgv,
    fileURLToPath(import.meta.url),
  ]);
}
