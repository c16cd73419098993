import type { Opaque, Resources } from '../kit/api.js';
import type { CommonStatus } from '../kit/condition.js';
import type { Resource } from '../kit/object.js';
import type { Duration, Schedule, SiteScoped, TimeZone } from './site-scoped.js';

/** Something that runs in a site: once, or by a schedule. */
export type SiteJob = Resource<SiteJobSpec, SiteJobStatus>;

/** What should run, and when.
 * @cel has(self.command) != has(self.method) ;; give one of command and method
 * @cel !has(self.kwargs) || has(self.method) ;; kwargs belong to method
 * @cel !has(self.command) || self.command.size() == 0 || self.command[0].matches('^[a-z][a-z0-9_-]*$') ;; command starts with the name of a bench command, such as migrate: bench and its --site are put before it
 * @cel !has(self.command) || !self.command.exists(a, a == '--site' || a.startsWith('--site=')) ;; command must not name a site: siteRef does
 * @cel has(self.schedule) == has(oldSelf.schedule) ;; schedule cannot be added or removed: a single run stays one, and a schedule is stopped with suspend
 * @cel has(self.schedule) || !(has(self.timeZone) || has(self.suspend) || has(self.startingDeadline)) ;; timeZone, suspend and startingDeadline belong to a schedule
 * @cel self.timeout.matches('[1-9]') ;; timeout must be longer than nothing
 * @cel !has(self.startingDeadline) || self.startingDeadline.matches('[1-9]') ;; startingDeadline must be longer than nothing */
export interface SiteJobSpec extends SiteScoped {
  /** Arguments of `bench --site <site>`, each as it is: no shell reads them.
   * @minItems 1
   * @maxItems 64
   * @listType atomic */
  readonly command?: readonly CommandArgument[];
  /** Dotted path of a Python function in the site's applications, such as `frappe.utils.global_search.sync_global_search`.
   * @minLength 3
   * @maxLength 255
   * @pattern ^[A-Za-z_][A-Za-z0-9_]*([.][A-Za-z_][A-Za-z0-9_]*)+$ */
  readonly method?: string;
  /** Keyword arguments of the function, at most 64 KiB as JSON. Everyone who can read pods can read them, so they must not contain secrets. */
  readonly kwargs?: Opaque;
  /** When it runs. It runs once, and again when the spec changes, when not given. */
  readonly schedule?: Schedule;
  /** Time zone of the schedule. By default UTC. */
  readonly timeZone?: TimeZone;
  /** Stops the schedule while true. */
  readonly suspend?: boolean;
  /** How late a run of the schedule may still start. By default any time.
   * @maxLength 8 */
  readonly startingDeadline?: Duration;
  /** What happens when a run of the schedule is due while another is under way.
   * @default Forbid */
  readonly concurrencyPolicy: 'Allow' | 'Forbid' | 'Replace';
  /** How long one attempt of a run may take: then it is ended.
   * @default 1h
   * @maxLength 8 */
  readonly timeout: Duration;
  /** How often a failed run is tried again.
   * @default 0
   * @type integer
   * @format int32
   * @minimum 0
   * @maximum 20 */
  readonly backoffLimit: number;
  /** Successful runs of a schedule whose Jobs and logs are kept.
   * @default 3
   * @type integer
   * @format int32
   * @minimum 0
   * @maximum 100 */
  readonly successfulJobsHistoryLimit: number;
  /** Failed runs of a schedule whose Jobs and logs are kept.
   * @default 1
   * @type integer
   * @format int32
   * @minimum 0
   * @maximum 100 */
  readonly failedJobsHistoryLimit: number;
  /** Compute resources of a run. By default those of the bench's default worker. */
  readonly resources?: Resources;
}

/** An argument of a command.
 * @maxLength 4096
 * @pattern ^[^\x00]*$ */
export type CommandArgument = string;

/** What has run. */
export interface SiteJobStatus extends CommonStatus {
  /** Where the job is in its life. */
  readonly phase?:
    'Pending' | 'Running' | 'Succeeded' | 'Scheduled' | 'Suspended' | 'Failed' | 'Deleting';
  /** Name of the Job of the last run. */
  readonly job?: string;
  /** Hash of what the last run had to do, from the spec. */
  readonly specHash?: string;
  /** When the last run started.
   * @format date-time */
  readonly startTime?: string;
  /** When the last run ended.
   * @format date-time */
  readonly completionTime?: string;
  /** Exit code of the last run.
   * @type integer
   * @format int32 */
  readonly exitCode?: number;
  /** The last lines of the last run's log. */
  readonly log?: string;
  /** When the schedule last started a run.
   * @format date-time */
  readonly lastScheduleTime?: string;
  /** When a run last succeeded.
   * @format date-time */
  readonly lastSuccessfulTime?: string;
  /** Number of runs that are under way.
   * @type integer
   * @format int32 */
  readonly active?: number;
  /** uid of a Job that found the site closed and has run nothing: another one takes its place. */
  readonly refusedJob?: string;
}
