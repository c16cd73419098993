import { Waiting } from '../kit/errors.js';
import type { ClusterReader } from '../kit/kind.js';
import { versionOf, type KubeObject } from '../kit/object.js';

/**
 * What is picked of a Secret that must be there: its version, unless something else is asked for.
 * @param path where it is named in the spec
 * @throws Waiting with the reason SecretMissing
 */
export function requireSecret(
  reader: ClusterReader,
  namespace: string,
  name: string,
  path: string,
  pick: (secret: KubeObject) => string = versionOf,
): string {
  const picked = reader.get('Secret', namespace, name, pick);
  if (picked !== undefined) return picked;
  throw new Waiting(
    'SecretMissing',
    `${path}: the Secret "${name}" is not there: create it in namespace ${namespace}`,
  );
}
