/** Which command runs which test files. The folder of a file says it. */
import { readdirSync } from 'node:fs';
import path from 'node:path';

import { projectRoot } from '../testbed/project-root.js';

/** Files that run in one process, `unit.js`. */
const IN_ONE_PROCESS = ['unit', 'golden'];
/** Needs root: `npm run test:e2e`. */
const REAL_NODE = 'e2e';
/** Run by `npm test`, on a real API server. */
const API: readonly string[] = [
  'golden/apiserver',
  'cluster/admission',
  'cluster/adoption',
  'cluster/backups',
  'cluster/deletion',
  'cluster/desk',
  'cluster/drift',
  'cluster/leader',
  'cluster/lifecycle',
  'cluster/name-conflicts',
  'cluster/ninth-kind',
  'cluster/prune',
  'cluster/references',
  'cluster/restart',
  'cluster/users',
  'cluster/webhooks',
];
/** Run by `npm test`, and need no server. */
const SERVERLESS: readonly string[] = ['unit', 'python'];

/** Short names, as `cluster/prune`, of all test files that need no root. */
export function allFiles(): readonly string[] {
  const names = readdirSync(path.join(projectRoot(), 'test'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => file.slice(0, -'.test.ts'.length))
    .filter((name) => ![...IN_ONE_PROCESS, REAL_NODE].includes(folderOf(name)));
  return ['unit', 'golden/apiserver', ...names];
}

/** Whether `npm test` runs a file. */
export function isFirstTier(name: string): boolean {
  return SERVERLESS.includes(name) || API.includes(name);
}

/** Whether a file of `npm test` waits for a control plane. */
export function needsServer(name: string): boolean {
  return !SERVERLESS.includes(name);
}

/** Whether a file leases a control plane that others use after it. */
export function leases(name: string): boolean {
  return name.startsWith('cluster/');
}

/** What `npm test` leaves to other commands. */
export function notRun(names: readonly string[]): string {
  const others = Map.groupBy(
    names.filter((name) => !isFirstTier(name)),
    folderOf,
  );
  const counts = [...others].map(([folder, { length }]) => `${folder} ${length}`);
  return [
    '\nNot run:',
    `- ${counts.join(', ')} test files: npm run test:all`,
    '- lint, words, formats, generated files: npm run check',
    '- real pods on a real node, as root on Debian: npm run test:e2e\n',
  ].join('\n');
}

function folderOf(name: string): string {
  return name.split(path.sep)[0] ?? '';
}
