import { Waiting } from '../kit/errors.js';
import type { ClusterReader } from '../kit/kind.js';
import { MANAGED_BY, MANAGED_BY_LABEL } from '../kit/labels.js';
import type { KubeObject } from '../kit/object.js';

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

/** @throws Waiting with the reason ClaimMissing or ClaimUnusable */
export function requireClaims(
  namespace: string,
  claims: readonly ExistingClaim[],
  reader: ClusterReader,
): void {
  for (const claim of claims) requireClaim(namespace, claim, reader);
}

function requireClaim(
  namespace: string,
  { name, path, accessModes }: ExistingClaim,
  reader: ClusterReader,
): void {
  if (name === undefined) return;
  const found = reader.get('PersistentVolumeClaim', namespace, name, claimView);
  const subject = `${path}: PersistentVolumeClaim "${name}"`;
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
