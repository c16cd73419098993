import assert from 'node:assert/strict';

import { API_VERSION } from '../../cluster/support/builders.js';
import { at, conditionOf, type Manifest } from '../../cluster/support/objects.js';
import type { E2e } from '../harness.js';

const CLAIM = 'backups';

/** Where the backups of a SiteBackup on a volume are stored. */
export const BACKUP_DESTINATION = { pvc: { claimName: CLAIM } };

/** The volume of `BACKUP_DESTINATION`. */
export function backupsClaim(accessMode: 'ReadWriteOnce' | 'ReadWriteMany'): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: CLAIM },
    spec: { accessModes: [accessMode], resources: { requests: { storage: '1Gi' } } },
  };
}

/** Backs a site up by a SiteBackup of a name, and waits until it is stored. */
export async function backUp(
  cluster: E2e,
  namespace: string,
  { name, site, timeoutMs }: { readonly name: string; readonly site: string; readonly timeoutMs: number }, // prettier-ignore
): Promise<void> {
  await cluster.apply(namespace, {
    apiVersion: API_VERSION,
    kind: 'SiteBackup',
    metadata: { name },
    spec: { siteRef: { name: site }, destination: BACKUP_DESTINATION },
  });
  await cluster.becomes('SiteBackup', namespace, name, {
    what: 'is stored',
    check: (live) => {
      const phase = at(live, 'status.phase');
      assert.notEqual(phase, 'Failed', conditionOf(live, 'Ready')?.message);
      return phase === 'Succeeded';
    },
    timeoutMs,
  });
}
