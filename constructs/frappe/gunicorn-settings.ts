import type { GunicornSettings, Resources } from '../kit/api.js';
import { bytesOf } from '../kit/quantity.js';

/** Memory of one process: what the framework and usual apps load, and what requests add. */
const PROCESS_BYTES = 256 * 1024 * 1024;
const MAX_PROCESSES = 16;

/** Numbers of gunicorn, with every default decided. */
export function gunicornSettings(
  settings: GunicornSettings | undefined,
  resources: Resources | undefined,
): Required<GunicornSettings> {
  const { workers, threads, timeoutSeconds, maxRequests, maxRequestsJitter } = settings ?? {};
  return {
    workers: workers ?? derivedWorkers(resources),
    threads: threads ?? 4,
    timeoutSeconds: timeoutSeconds ?? 120,
    maxRequests: maxRequests ?? 5000,
    maxRequestsJitter: maxRequestsJitter ?? 500,
  };
}

/** gunicorn's own advice for a number of CPUs, within the memory. */
function derivedWorkers(resources: Resources | undefined): number {
  const { cpu, memory } = resources?.limits ?? {};
  const wanted = cpu === undefined ? 2 : Math.floor(2 * bytesOf(cpu)) + 1;
  const possible = memory === undefined ? wanted : Math.floor(bytesOf(memory) / PROCESS_BYTES);
  return Math.max(1, Math.min(wanted, possible, MAX_PROCESSES));
}
