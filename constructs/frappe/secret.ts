import { Waiting } from '../kit/errors.js';
import type { ClusterReader } from '../kit/kind.js';
import { versionOf, type KubeObject } from '../kit/object.js';

/** A key of a Secret, as messages name it. */
export function keyOfSecret(key: string, secret: string): string {
  return `key "${key}" of Secret "${secret}"`;
}

/** A Secret that a spec names. */
export interface SecretReference {
  readonly namespace: string;
  readonly name: string;
  /** The field that names it. */
  readonly path: string;
}

/**
 * What `pick` takes of a Secret that must exist: by default its version.
 * @throws Waiting with the reason SecretMissing
 */
export function requireSecret(
  { namespace, name, path }: SecretReference,
  reader: ClusterReader,
  pick: (secret: KubeObject) => string = versionOf,
): string {
  const picked = reader.get('Secret', namespace, name, pick);
  if (picked !== undefined) return picked;
  throw new Waiting(
    'SecretMissing',
    `${path}: there is no Secret "${name}" in namespace ${namespace}; create it`,
  );
}
