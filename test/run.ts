/**
 * Runs all tests but those on a real node: `node dist/lib/test/run.js [part of a file name]…`.
 * Test files have a process each and share control planes. The longest files come first, so that none
 * of them is left at the end.
 */
import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';

import { cacheRoot } from '../testbed/controlplane/binaries.js';
import { projectRoot } from '../testbed/root.js';
import { offerControlPlanes } from './cluster/support/shared-control-plane.js';
import { runFiles } from './support/run-files.js';

/** More than processors: files wait for pods, and for servers. */
const CONCURRENCY = availableParallelism() + 2;
/** Run as one file, `unit.js`, or not here. */
const ELSEWHERE = ['unit', 'golden', 'e2e'];
/** Files that take more than half a minute beside two others, by their measured time. */
const LONGEST: readonly string[] = [
  'checks',
  'jobs/site-restore',
  'jobs/site-backup',
  'jobs/site-init',
  'jobs/site-upgrade',
  'jobs/site-converge',
  'cluster/state-matrix',
  'cluster/documents',
  'cluster/shards',
  'cluster/pages',
  'stand-in/site-documents-faults',
  'stand-in/versions',
  'unit',
  'jobs/site-upgrade-version',
  'jobs/backup-store',
  'jobs/attacks',
  'jobs/site-drop',
  'jobs/database-tls',
  'tools/generate',
  'cluster/crash',
  'cluster/recovery',
  'cluster/restricted',
  'cluster/fifty-sites',
  'cluster/jobs',
  'cluster/cli-changes',
  'cluster/upgrade',
  'cluster/restart',
  'cluster/install',
  'cluster/etcd-restore',
  'cluster/helm',
  'chart/template',
  'cluster/optional-apis',
  'cluster/connection-faults',
  'process/render-command',
  'stand-in/gunicorn-worker',
  'cluster/deletion',
  'cluster/leader-failover',
  'cluster/namespaced',
  'testbed/controlplane/workloads',
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

function rank(name: string): number {
  const place = LONGEST.indexOf(name);
  return place === -1 ? LONGEST.length : place;
}

/** Whether a file leases a control plane. */
function leases(name: string): boolean {
  return name.startsWith('cluster/');
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
process.exitCode = (await runFiles(mixed(names).map(compiled), { concurrency: CONCURRENCY }))
  ? 0
  : 1;
