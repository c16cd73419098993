/** Which command runs which test files: the folder of a file says it. */
import { readdirSync } from 'node:fs';
import path from 'node:path';

import { projectRoot } from '../testbed/project-root.js';

/** Run by `unit.js`, in one process. */
const IN_ONE_PROCESS = ['unit', 'golden'];
/** Needs root: `npm run test:e2e`. */
const REAL_NODE = 'e2e';
/** What `npm test` runs on a real API server. */
const API = 'api';
/** What `npm test` runs without one. */
const SERVERLESS = ['unit', 'python'];
/** Folders whose files lease a control plane that others use after them. */
const LEASING = [API, 'cluster'];

/** Short names, as `api/prune`, of all test files that need no root. */
export function allFiles(): readonly string[] {
  const names = readdirSync(path.join(projectRoot(), 'test'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => file.slice(0, -'.test.ts'.length))
    .filter((name) => ![...IN_ONE_PROCESS, REAL_NODE].includes(folderOf(name)));
  return ['unit', ...names];
}

/** Whether `npm test` runs a file. */
export function isFirstTier(name: string): boolean {
  return SERVERLESS.includes(name) || folderOf(name) === API;
}

/** Whether a file of `npm test` waits for a control plane. */
export function needsServer(name: string): boolean {
  return !SERVERLESS.includes(name);
}

/** Whether a file leases a control plane. */
export function leases(name: string): boolean {
  return LEASING.includes(folderOf(name));
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
