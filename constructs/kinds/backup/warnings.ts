import type { Problem } from '../../kit/errors.js';
import type { ClusterReader } from '../../kit/kind.js';
import { benchNames } from '../../kit/names.js';
import type { AppSite } from '../../api/site.js';
import type { SiteBackup } from '../../api/backup.js';

/** What is legal in the spec of a SiteBackup, but seldom meant. */
export function backupWarnings(backup: SiteBackup, reader: ClusterReader): readonly Problem[] {
  const { metadata, spec } = backup;
  const { namespace = 'default' } = metadata;
  const { pvc } = spec.destination;
  const warnings: Problem[] = [];
  const warn = (path: string, message: string): void => void warnings.push({ path, message });
  const bench = reader.get('AppSite', namespace, spec.siteRef.name, benchNameOf);
  if (pvc && bench !== undefined && pvc.claimName === benchNames(bench).sites) {
    warn(
      'spec.destination.pvc.claimName',
      `"${pvc.claimName}" is the volume that holds the sites: what loses them loses these backups`,
    );
  }
  if (spec.schedule !== undefined && spec.retention === undefined && pvc) {
    warn('spec.retention', 'without a retention every backup is kept, until the volume is full');
  }
  for (const field of ['include', 'exclude'] as const) {
    if (spec[field]) warn(`spec.${field}`, 'such a backup cannot be restored as a whole');
  }
  if (spec.deletionPolicy === 'Delete') {
    warn('spec.deletionPolicy', 'Delete removes the stored backups with the object');
  }
  return warnings;
}

function benchNameOf({ spec }: AppSite): string {
  return spec.benchRef.name;
}
