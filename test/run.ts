/**
 * Runs test files that need no root: `node dist/lib/test/run.js [--first | --rest] [part of a file name]…`.
 * With `--first` those of `npm test`, with `--rest` the others, else all. They have a process each and
 * share control planes. The longest come first, so that none of them is left at the end.
 */
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { messageOf } from '../constructs/kit/errors.js';
import { cacheRoot, ensureBinaries } from '../testbed/controlplane/binaries.js';
import { printProgress } from '../testbed/controlplane/progress.js';
import { projectRoot } from '../testbed/project-root.js';
import { offerControlPlanes } from './cluster/support/shared-control-plane.js';
import { readDurations, writeDurations } from './durations.js';
import { runFiles } from './support/run-files.js';
import { allFiles, isFirstTier, leases, needsServer, notRun } from './tiers.js';

/** More than processors: files wait for pods, and for servers. */
const CONCURRENCY = availableParallelism() + 2;

const { values, positionals: parts } = parseArgs({
  allowPositionals: true,
  options: {
    first: { type: 'boolean', default: false },
    rest: { type: 'boolean', default: false },
  },
});

/** The files that the arguments name. */
function chosen(): readonly string[] {
  return allFiles()
    .filter((name) => (values.first ? isFirstTier(name) : values.rest ? !isFirstTier(name) : true))
    .filter((name) => parts.length === 0 || parts.some((part) => name.includes(part)));
}

/** The longest first; a file that has never run is one of them. */
function longestFirst(names: readonly string[]): readonly string[] {
  const known = readDurations();
  const durationOf = (name: string): number => known[name] ?? Infinity;
  return [...names].sort((a, b) => durationOf(b) - durationOf(a) || a.localeCompare(b));
}

/**
 * Both kinds of files over the whole run: a control plane takes a tenth of a processor also without work,
 * so the fewer work at a time, the better.
 */
function mixed(names: readonly string[]): readonly string[] {
  const groups = [names.filter(leases), names.filter((name) => !leases(name))];
  const placed = groups.flatMap((group) =>
    group.map((name, index) => ({ name, place: (index + 0.5) / group.length })),
  );
  return placed.sort((a, b) => a.place - b.place).map(({ name }) => name);
}

function compiled(name: string): string {
  return path.join(projectRoot(), 'dist/lib/test', name === 'unit' ? 'unit.js' : `${name}.test.js`);
}

/** Why an API server cannot be started; undefined if one can. */
async function problemOfServers(): Promise<string | undefined> {
  try {
    await ensureBinaries({ onProgress: printProgress });
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/**
 * The files in their order. Servers that are not in the cache are downloaded or built meanwhile, and what
 * needs them waits: a build takes minutes.
 */
async function* inOrder(names: readonly string[]): AsyncGenerator<string> {
  const later = names.filter(needsServer);
  const problem = later.length > 0 ? problemOfServers() : undefined;
  yield* names.filter((name) => !needsServer(name)).map(compiled);
  const why = await problem;
  if (why === undefined) yield* mixed(longestFirst(later)).map(compiled);
  else {
    console.error(`${later.length} test files not run: no API server: ${why}`);
    process.exitCode = 1;
  }
}

// Test files and operators are hundreds of processes that compile the same code.
process.env['NODE_COMPILE_CACHE'] ??= path.join(cacheRoot(), 'node-compile-cache');
const names = chosen();
if (names.length === 0) throw new Error(`no test file is named ${parts.join(', ')}`);
const sharing = names.filter(leases).length;
await using _controlPlanes = await offerControlPlanes(
  sharing > 1 ? Math.min(sharing, CONCURRENCY) : 0,
);
const { passed, durations } = await runFiles(inOrder(names), {
  concurrency: CONCURRENCY,
  ...(values.first ? { remark: notRun(allFiles()) } : {}),
});
writeDurations(
  Object.fromEntries(
    names.flatMap((name) => {
      const duration = durations.get(compiled(name));
      return duration === undefined ? [] : [[name, duration]];
    }),
  ),
);
if (!passed) process.exitCode = 1;
