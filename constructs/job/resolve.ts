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
  const { spec, status } = job;
  const { site, blocked } = viewSite(job, reader);
  const specHash = hashOf([
    spec.command ?? null,
    spec.method ?? null,
    spec.kwargs ?? null,
    spec.timeout,
    spec.backoffLimit,
    spec.resources ?? null,
  ]);
  const told = spec.schedule === undefined && status?.specHash === specHash ? status : undefined;
  const ended = told?.completionTime !== undefined;
  // What was made for a site goes with it: a schedule, and a run that is under way.
  const made = spec.schedule === undefined ? status?.startTime : status?.appliedHash;
  if (!site && blocked && (ended || made === undefined))
    throw new Waiting(blocked.reason, blocked.message);
  const refused = status?.specHash === specHash ? status.refusedJob : undefined;
  return {
    site,
    blocked,
    specHash,
    run: refused === undefined ? specHash : hashOf([specHash, refused]),
    ended,
    begun: ended || told?.startTime !== undefined,
  };
}

function refuseLong({ spec }: SiteJob): void {
  const problems = (['command', 'kwargs'] as const).flatMap((field) => {
    const size = new TextEncoder().encode(JSON.stringify(spec[field] ?? '')).length;
    const message = `Too long: may be at most ${MOST_BYTES} bytes as JSON, has ${size}`;
    return size > MOST_BYTES ? [{ path: `spec.${field}`, message }] : [];
  });
  if (problems.length > 0) throw Stalled.invalid(problems);
}
