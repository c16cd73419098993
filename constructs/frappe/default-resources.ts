import type { GunicornSettings, Resources } from '../kit/api.js';
import type { FrappeImage } from './image.js';

/*
 * Requests of containers whose resources a spec does not name. They are what the framework was
 * measured to use at rest, with room for a job or a request (docs/sizing.md). There are no limits: what
 * an app may use is not known here.
 */

const requests = (cpu: string, memory: string): Resources => ({ requests: { cpu, memory } });

/** Of a container that runs a program of the framework to its end. */
export const FRAMEWORK_REQUESTS = requests('20m', '160Mi');
export const WORKER_REQUESTS = requests('20m', '96Mi');
export const SCHEDULER_REQUESTS = requests('10m', '96Mi');
export const SOCKETIO_REQUESTS = requests('10m', '96Mi');
export const NGINX_REQUESTS = requests('10m', '32Mi');
export const EXPORTER_REQUESTS = requests('10m', '32Mi');
/** Of each of both servers. */
export const REDIS_REQUESTS = requests('10m', '64Mi');
export const DATABASE_REQUESTS = requests('50m', '384Mi');

const [MASTER_MIB, PROCESS_MIB, THREAD_MIB, CHROME_MIB] = [64, 64, 8, 192];
/** The first major version of the framework that prints with Chrome, in the pods of gunicorn. */
const PRINTS_WITH_CHROME = 16;

/** Of web processes: the preloaded application once, what each process and thread adds, and Chrome. */
export function gunicornRequests(
  { workers, threads }: Required<Pick<GunicornSettings, 'workers' | 'threads'>>,
  { major = PRINTS_WITH_CHROME }: Partial<Pick<FrappeImage, 'major'>>,
): Resources {
  const chrome = major >= PRINTS_WITH_CHROME ? CHROME_MIB : 0;
  const memory = MASTER_MIB + workers * (PROCESS_MIB + threads * THREAD_MIB) + chrome;
  return requests(`${workers * 25}m`, `${memory}Mi`);
}
