import { type SiteBlock, type SiteModel, viewSite } from '../../frappe/site-model.js';
import { Stalled, Waiting } from '../../kit/errors.js';
import { hashOf } from '../../kit/json/hash.js';
import type { ClusterReader } from '../../kit/kind.js';
import type { SiteJob } from '../../api/site-job.js';

/** What the tree of a SiteJob depends on. */
export interface SiteJobInputs {
  /** undefined where the site does not exist: then nothing can run. */
  readonly site: SiteModel | undefined;
  /** Why nothing may run now. */
  readonly blocked: SiteBlock | undefined;
  /** Hash of the spec. */
  readonly specHash: string;
  /** Hash of the work: the Job runs again when it changes, and only then. */
  readonly taskHash: string;
  /** Whether the run ended, also where its Job was deleted: it is not repeated. */
  readonly ended: boolean;
  /** Whether the run began, also where its Job was deleted: it is not repeated. */
  readonly started: boolean;
}

/** Well below the limit of an environment variable. */
const MAX_BYTES = 65_536;

/** @throws Stalled or Waiting, see `Kind.resolve` */
export function resolveJob(job: SiteJob, reader: ClusterReader): SiteJobInputs {
  refuseLong(job);
  const specHash = specHashOf(job);
  const status = job.status?.specHash === specHash ? job.status : undefined;
  const { ended, started } = progressOf(job.spec.schedule === undefined ? status : undefined);
  const { site, blocked } = viewSite(job, reader);
  if (!site && blocked && (ended || !isMade(job)))
    throw new Waiting(blocked.reason, blocked.message);
  return {
    site,
    blocked,
    specHash,
    taskHash: taskHashOf(specHash, status?.refusedJob),
    ended,
    started,
  };
}

/** @param status of the run of a single Job; undefined for a schedule */
function progressOf(status: SiteJob['status']): Pick<SiteJobInputs, 'ended' | 'started'> {
  const ended = status?.completionTime !== undefined;
  return { ended, started: ended || status?.startTime !== undefined };
}

/** Whether there is a schedule or a run that has to be deleted together with its site. */
function isMade({ spec, status }: SiteJob): boolean {
  const made = spec.schedule === undefined ? status?.startTime : status?.appliedHash;
  return made !== undefined;
}

/**
 * @param refused uid of a Job that did nothing, since its site was closed: the run is another one
 */
function taskHashOf(specHash: string, refused: string | undefined): string {
  return refused === undefined ? specHash : hashOf([specHash, refused]);
}

function specHashOf({ spec }: SiteJob): string {
  const { command = null, method = null, kwargs = null, resources = null } = spec;
  return hashOf([command, method, kwargs, spec.timeout, spec.backoffLimit, resources]);
}

function refuseLong({ spec }: SiteJob): void {
  const problems = (['command', 'kwargs'] as const).flatMap((field) => {
    const size = new TextEncoder().encode(JSON.stringify(spec[field] ?? '')).length;
    const message = `Too long: may be at most ${MAX_BYTES} bytes as JSON, has ${size}`;
    return size > MAX_BYTES ? [{ path: `spec.${field}`, message }] : [];
  });
  if (problems.length > 0) throw Stalled.invalid(problems);
}
