/**
 * Runs all tests but those on a real node: `node dist/lib/test/run.js [part of a file name]…`.
 * Test files have a process each and share control planes. Files that need one come last: until then
 * none is started. The longest files come first, so that none of them is left at the end.
 */
import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';

import { cacheRoot } from '../testbed/controlplane/binaries.js';
import { projectRoot } from '../testbed/root.js';
import { offerControlPlanes } from './cluster/support/shared-control-plane.js';
import { runFiles } from './support/run-files.js';

/** One more than processors: files wait for pods. More files need more control planes, and took longer. */
const CONCURRENCY = availableParallelism() + 1;
/** Run as one file, `unit.js`, or not here. */
const ELSEWHERE = ['unit', 'golden', 'e2e'];
/** Files that take more than a minute on two busy processors, by their measured time. */
const LONGEST: readonly string[] = [
  'jobs/site-restore',
  'jobs/site-upgrade',
  'jobs/site-init',
  'jobs/site-converge',
  'stand-in/site-documents-faults',
  'jobs/site-backup',
  'stand-in/contract',
  'jobs/site-drop',
  'stand-in/site-documents',
  'cluster/state-matrix',
  'cluster/crash',
  'cluster/install',
  'cluster/recovery',
  'stand-in/desk-documents',
  'cluster/documents',
  'cluster/delayed-events',
  'cluster/leader-failover',
  'cluster/jobs',
  'cluster/fifty-sites',
  'cluster/helm',
  'cluster/namespaced',
  'cluster/leader-network',
  'cluster/restricted',
  'cluster/optional-apis',
  'cluster/webhooks',
  'cluster/operator-downtime',
  'cluster/restart',
  'cluster/upgrade',
  'cluster/invalid-spec',
  'cluster/poison',
  'cluster/cli-changes',
];

const SOURCES = path.join(projectRoot(), 'test');
const COMPILED = path.join(projectRoot(), 'dist/lib/test');

/** Short names, as `cluster/prune`, of the files whose name has one of the parts; all without parts. */
function filesWith(parts: readonly string[]): readonly string[] {
  const names = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => file.slice(0, -'.test.ts'.length))
    .filter((name) => !ELSEWHERE.includes(name.split(path.sep)[0] ?? ''));
  return ['unit', 'golden/apiserver', ...names]
    .filter((name) => parts.length === 0 || parts.some((part) => name.includes(part)))
    .sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
}

/** Whether a file leases a control plane. */
function leases(name: string): boolean {
  return name.startsWith('cluster/');
}

function rank(name: string): number {
  const place = LONGEST.indexOf(name);
  const turn = place === -1 ? LONGEST.length : place;
  return leases(name) ? turn + LONGEST.length + 1 : turn;
}

function compiled(name: string): string {
  return path.join(COMPILED, name === 'unit' ? 'unit.js' : `${name}.test.js`);
}

// Test files and operators are hundreds of processes that compile the same code.
process.env['NODE_COMPILE_CACHE'] ??= path.join(cacheRoot(), 'node-compile-cache');
const names = filesWith(process.argv.slice(2));
if (names.length === 0)
  throw new Error(`no test file is named ${process.argv.slice(2).join(', ')}`);
const sharing = names.filter(leases).length;
await using _controlPlanes = await offerControlPlanes(
  sharing > 1 ? Math.min(sharing, CONCURRENCY) : 0,
);
process.exitCode = (await runFiles(names.map(compiled), CONCURRENCY)) ? 0 : 1;
