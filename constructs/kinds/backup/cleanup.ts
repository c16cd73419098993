import { benchModel } from '../../frappe/bench-model.js';
import { bareBench, type SiteModel, viewSite } from '../../frappe/site-model.js';
import { Waiting } from '../../kit/errors.js';
import type { Cleanup, ClusterReader } from '../../kit/kind.js';
import { skipsCleanup } from '../../kit/annotations.js';
import { metadataKeysOf } from '../../kit/metadata-keys.js';
import type { SiteBackup } from '../../api/backup.js';
import { BackupDeleteChart } from './chart.js';

/**
 * `Delete` removes the stored backups of this object, also when the site does not exist. `Retain`
 * leaves them.
 */
export const backupCleanup: Cleanup<SiteBackup> = {
  needed: deletes,
  leftOutside: (backup) =>
    deletes(backup) && 's3' in backup.spec.destination
      ? (backup.status?.backups ?? []).map(({ location }) => `backup ${location}`)
      : [],
  blockers(backup, reader) {
    if (hasBegun(backup) && !siteOf(backup, reader)) {
      throw new Waiting(
        'BenchMissing',
        `the stored backups cannot be removed: there is no AppBench "${backup.status?.bench ?? ''}", whose image removes them; to skip this, annotate the resource with ${metadataKeysOf(backup).skipDrop}=true`,
      );
    }
  },
  chart(scope, id, backup, reader) {
    const site = deletes(backup) && hasBegun(backup) ? siteOf(backup, reader) : undefined;
    return site && new BackupDeleteChart(scope, id, backup, site);
  },
};

function deletes(backup: SiteBackup): boolean {
  return backup.spec.deletionPolicy === 'Delete' && !skipsCleanup(backup);
}

/** Whether there can be a backup: the bench is noted with the first Job. */
function hasBegun({ status }: SiteBackup): boolean {
  return status?.bench !== undefined;
}

/** The site; without one, its bench under the site's name. */
function siteOf(backup: SiteBackup, reader: ClusterReader): SiteModel | undefined {
  const { namespace = 'default' } = backup.metadata;
  const { site } = viewSite(backup, reader);
  if (site) return site;
  const { name } = backup.spec.siteRef;
  const bench = reader.get('AppBench', namespace, backup.status?.bench ?? '', bareBench);
  return bench && { name, namespace, siteName: name, bench: benchModel(bench, reader) };
}
