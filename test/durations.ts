/** How long each test file took the last time, in the cache: the longest begin first. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { cacheRoot } from '../testbed/controlplane/binaries.js';

type Durations = Readonly<Record<string, number>>;

const FILE = path.join(cacheRoot(), 'test-durations.json');

/** Milliseconds by short name, as `api/prune`. */
export function readDurations(): Durations {
  try {
    return JSON.parse(readFileSync(FILE, 'utf8')) as Durations;
  } catch {
    // None yet, or a file that a killed run left behind: any order does.
    return {};
  }
}

export function writeDurations(measured: Durations): void {
  mkdirSync(cacheRoot(), { recursive: true });
  const temporary = `${FILE}.${process.pid}`;
  writeFileSync(temporary, JSON.stringify({ ...readDurations(), ...measured }));
  renameSync(temporary, FILE);
}
