import { requireStoreSecrets } from '../framework/backup-store.js';
import { type SiteHold, type SiteModel, viewSite } from '../framework/site-model.js';
import { Waiting } from '../kit/errors.js';
import { hashOf } from '../kit/hash.js';
import type { World } from '../kit/kind.js';
import { backupNames } from '../kit/names.js';
import type { SiteBackup } from './api.js';

/** What the tree of a SiteBackup depends on. */
export interface BackupFacts {
  /** undefined where there is none. */
  readonly site: SiteModel | undefined;
  /** Why no backup may begin now; undefined where one may. */
  readonly hold: SiteHold | undefined;
  /** What a backup is asked for, as a hash: a single one is made again when this changes, and only then. */
  readonly run: string;
  /** Whether the single backup has ended and its Job is gone: it is not made again. */
  readonly ended: boolean;
}

/** @throws Waiting, see `Kind.gather` */
export function gatherBackup(backup: SiteBackup, world: World): BackupFacts {
  const { namespace = 'default', name } = backup.metadata;
  const { spec, status } = backup;
  const run = runOf(backup);
  const once = spec.schedule === undefined;
  const made = world.get(once ? 'Job' : 'CronJob', namespace, backupNames(name).backup, isThere);
  const ended = once && status?.endedRun === run;
  const { site, hold } = viewSite(backup, world);
  // Without a site nothing can be made; a schedule that was made goes.
  if (!site && hold && !ended && (once || !made)) throw new Waiting(hold.reason, hold.message);
  if (!ended) requireStoreSecrets(spec.destination, namespace, 'spec.destination', world);
  return { site, hold, run, ended: ended && !made };
}

function isThere(): boolean {
  return true;
}

function runOf({ spec }: SiteBackup): string {
  const { withFiles, compress, include, exclude, destination } = spec;
  return hashOf([withFiles, compress, include, exclude, destination]);
}
