import { requireStoreSecrets } from '../../frappe/backup-store.js';
import { type SiteBlock, type SiteModel, viewSite } from '../../frappe/site-model.js';
import { Waiting } from '../../kit/errors.js';
import { hashOf } from '../../kit/json/hash.js';
import type { ClusterReader } from '../../kit/kind.js';
import type { SiteBackup } from '../../api/backup.js';

/** What the tree of a SiteBackup depends on. */
export interface BackupInputs {
  /** undefined where the site does not exist. */
  readonly site: SiteModel | undefined;
  /** Why no backup may begin now; undefined where one may. */
  readonly blocked: SiteBlock | undefined;
  /** Hash of the request: a single backup is made again when it changes, and only then. */
  readonly taskHash: string;
  /** Whether the single backup is stored: its Job is deleted, and not created again. */
  readonly ended: boolean;
}

/** @throws Waiting, see `Kind.resolve` */
export function resolveBackup(backup: SiteBackup, reader: ClusterReader): BackupInputs {
  const { namespace = 'default' } = backup.metadata;
  const { spec, status } = backup;
  const taskHash = taskHashOf(backup);
  const once = spec.schedule === undefined;
  const ended = once && status?.endedRun === taskHash;
  const { site, blocked } = viewSite(backup, reader);
  // Without a site nothing can be created; an existing schedule is deleted.
  const made = !once && status?.bench !== undefined;
  if (!site && blocked && !ended && !made) throw new Waiting(blocked.reason, blocked.message);
  if (!ended) requireStoreSecrets(spec.destination, namespace, 'spec.destination', reader);
  return { site, blocked, taskHash, ended };
}

function taskHashOf({ spec, status }: SiteBackup): string {
  const { withFiles, compress, include, exclude, destination } = spec;
  const request = hashOf([withFiles, compress, include, exclude, destination]);
  return status?.refusedJob === undefined ? request : hashOf([request, status.refusedJob]);
}
