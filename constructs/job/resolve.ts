import { type SiteBlock, type SiteModel, viewSite } from '../frappe/site-model.js';
import { Stalled, Waiting } from '../kit/errors.js';
import { hashOf } from '../kit/hash.js';
import type { ClusterReader } from '../kit/kind.js';
import type { SiteJob } from './api.js';

/** What the tree of a SiteJob depends on. */
export interface SiteJobInputs {
  /** undefined where the site is gone: then nothing can run. */
  readonly site: SiteModel | undefined;
  /** Why nothing may run now. */
  readonly blocked: SiteBlock | undefined;
  /** What has to be done, as a hash. */
  readonly specHash: string;
  /** What the Job has to do, as a hash: it runs again when this changes, and only then. */
  readonly run: string;
  /** Whether that has been done, or has failed: it is not done again, also when its Job is gone. */
  readonly ended: boolean;
  /** Whether that has at least begun: what may be half done is not begun again, also when its Job is gone. */
  readonly begun: boolean;
}

/** What fits into an environment variable with room to spare. */
const MOST_BYTES = 65_536;

/** @throws Stalled or Waiting, see `Kind.resolve` */
export function resolveJob(job: SiteJob, reader: ClusterReader): SiteJobInputs {
  refuseLong(job);
  const specHash = specHashOf(job);
  const once = job.spec.schedule === undefined;
  const status = job.status?.specHash === specHash ? job.status : undefined;
  const ended = once && status?.completionTime !== undefined;
  const begun = ended || (once && status?.startTime !== undefined);
  const { site, blocked } = viewSite(job, reader);
  if (!site && blocked && (ended || !isMade(job)))
    throw new Waiting(blocked.reason, blocked.message);
  return { site, blocked, specHash, run: runHash(specHash, status?.refusedJob), ended, begun };
}

/** Whether there is a schedule or a run that has to be deleted together with its site. */
function isMade({ spec, status }: SiteJob): boolean {
  const made = spec.schedule === undefined ? status?.startTime : status?.appliedHash;
  return made !== undefined;
}

/** @param refused uid of a Job that did nothing, since its site was closed: the run is another one */
function runHash(specHash: string, refused: string | undefined): string {
  return refused === undefined ? specHash : hashOf([specHash, refused]);
}

function specHashOf({ spec }: SiteJob): string {
  const { command = null, method = null, kwargs = null, resources = null } = spec;
  return hashOf([command, method, kwargs, spec.timeout, spec.backoffLimit, resources]);
}

function refuseLong({ spec }: SiteJob): void {
  const problems = (['command', 'kwargs'] as const).flatMap((field) => {
    const size = new TextEncoder().encode(JSON.stringify(spec[field] ?? '')).length;
    const message = `Too long: may be at most ${MOST_BYTES} bytes as JSON, has ${size}`;
    return size > MOST_BYTES ? [{ path: `spec.${field}`, message }] : [];
  });
  if (problems.length > 0) throw Stalled.invalid(problems);
}
