import { Waiting } from '../kit/errors.js';
import type { ClusterReader } from '../kit/kind.js';
import { MANAGED_BY, MANAGED_BY_LABEL } from '../kit/labels.js';
import { keyOf, type KubeObject, type Resource } from '../kit/object.js';
import { benchesByClaim, sitesByClaim } from './indexes.js';
import { isOlder, nameOwnerOf } from './oldest-wins.js';

/** A claim that a spec names in place of one that the operator makes. */
export interface ExistingClaim {
  /** undefined where the operator makes one. */
  readonly name: string | undefined;
  /** The field that names it. */
  readonly path: string;
  /** Access modes of which it must have one. */
  readonly accessModes: readonly string[];
}

/** Of the volume of one pod. */
export const ONE_POD = ['ReadWriteOnce', 'ReadWriteMany', 'ReadWriteOncePod'] as const;

/**
 * A claim is the volume of one resource, the oldest that names it, and of one field: the files of two
 * would be in one folder.
 * @throws Waiting with the reason ClaimMissing or ClaimUnusable
 */
export function requireClaims(
  resource: Resource,
  claims: readonly ExistingClaim[],
  reader: ClusterReader,
): void {
  const paths = new Map<string, string>();
  for (const claim of claims) {
    const { name, path } = claim;
    if (name === undefined) continue;
    const first = paths.get(name);
    if (first !== undefined) {
      throw new Waiting(
        'ClaimUnusable',
        `${subjectOf(path, name)} is that of ${first} too; ${OWN}`,
      );
    }
    paths.set(name, path);
    requireClaim(resource.metadata.namespace ?? 'default', { ...claim, name }, reader);
    refuseSharedClaim(resource, { name, path }, reader);
  }
}

const OWN = 'each volume needs a claim of its own';

function subjectOf(path: string, name: string): string {
  return `${path}: PersistentVolumeClaim "${name}"`;
}

function refuseSharedClaim(
  resource: Resource,
  { name, path }: { readonly name: string; readonly path: string },
  reader: ClusterReader,
): void {
  const key = keyOf(resource.metadata.namespace ?? 'default', name);
  const self = nameOwnerOf(resource);
  const older = [
    ...reader.list(benchesByClaim, key, nameOwnerOf),
    ...reader.list(sitesByClaim, key, nameOwnerOf),
  ].find((other) => isOlder(other, self));
  if (!older) return;
  const message = `${subjectOf(path, name)} is the volume of ${older.kind} "${older.name}", which is older; ${OWN}`;
  throw new Waiting('ClaimUnusable', message);
}

function requireClaim(
  namespace: string,
  { name, path, accessModes }: ExistingClaim & { readonly name: string },
  reader: ClusterReader,
): void {
  const found = reader.get('PersistentVolumeClaim', namespace, name, claimView);
  const subject = subjectOf(path, name);
  if (!found) {
    const message = `${path}: there is no PersistentVolumeClaim "${name}" in namespace ${namespace}; create it`;
    throw new Waiting('ClaimMissing', message);
  }
  if (found.ours) {
    const message = `${subject} is one that the operator makes and deletes; name another one, or none`;
    throw new Waiting('ClaimUnusable', message);
  }
  if (found.deleting) throw new Waiting('ClaimUnusable', `${subject} is being deleted`);
  if (found.lost) throw new Waiting('ClaimUnusable', `${subject} has lost its volume`);
  // A preview knows no more of it than its name.
  if (!found.accessModes || found.accessModes.some((mode) => accessModes.includes(mode))) return;
  const message = `${subject} has access mode ${found.accessModes.join(', ')}, not ${accessModes.join(' or ')}; use another claim`;
  throw new Waiting('ClaimUnusable', message);
}

interface Claim extends KubeObject {
  readonly spec?: { readonly accessModes?: readonly string[] };
  readonly status?: { readonly phase?: string };
}

function claimView(object: KubeObject) {
  const { metadata, spec, status } = object as Claim;
  return {
    accessModes: spec?.accessModes,
    ours: metadata.labels?.[MANAGED_BY_LABEL] === MANAGED_BY,
    deleting: metadata.deletionTimestamp !== undefined,
    lost: status?.phase === 'Lost',
  };
}
