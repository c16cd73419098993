/** Exits with 1 where a picture of the docs is not what the code of today shows. */
import { readFileSync } from 'node:fs';

import { dashboardFile, staleDashboard } from './dashboard.js';
import { staleStatus, statusFile } from './status.js';

const CHECKS = [
  [statusFile(), staleStatus],
  [dashboardFile(), staleDashboard],
] as const;

for (const [file, staleOf] of CHECKS) {
  const reason = staleOf(readFileSync(file, 'utf8'));
  if (reason === undefined) continue;
  console.error(`${file} is stale: ${reason}; run npm run pictures`);
  process.exitCode = 1;
}
