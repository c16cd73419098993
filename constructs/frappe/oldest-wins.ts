import type { Refusal } from '../kit/errors.js';
import type { ClusterReader } from '../kit/kind.js';
import type { KubeObject, Resource } from '../kit/object.js';

/** What decides which of two resources keeps a name that both want: the oldest wins. */
export interface NameOwner {
  readonly kind: string;
  readonly name: string;
  readonly created: string;
  /** Only where owners of several namespaces are compared. */
  readonly namespace?: string;
}

export function nameOwnerOf(object: KubeObject): NameOwner {
  return {
    kind: object.kind,
    name: object.metadata.name,
    created: object.metadata.creationTimestamp ?? '',
  };
}

/**
 * Whether one owner is older than another. One without a time exists in a preview only. Equal
 * times, which have seconds, are decided by kind, name and namespace, so that exactly one of two
 * wins.
 */
export function isOlder(a: NameOwner, b: NameOwner): boolean {
  if (a.created !== b.created)
    return a.created !== '' && (b.created === '' || a.created < b.created);
  if (a.kind !== b.kind) return a.kind < b.kind;
  return a.name === b.name ? (a.namespace ?? '') < (b.namespace ?? '') : a.name < b.name;
}

/**
 * A bench and a site of one name in one namespace would share the names of their children: the
 * younger one is refused.
 */
export function takenName(
  resource: Resource,
  otherKind: string,
  reader: ClusterReader,
): readonly Refusal[] {
  const { namespace = 'default', name } = resource.metadata;
  const conflicting = reader.get(otherKind, namespace, name, nameOwnerOf);
  if (!conflicting || !isOlder(conflicting, nameOwnerOf(resource))) return [];
  const message = `metadata.name: Invalid value: "${name}": the ${otherKind} of this name in this namespace has children of the same names; choose another name`;
  // The news of the older one may be the later: what was made until then would be in its way for ever.
  return [{ reason: 'NameTaken', message, losesNames: true }];
}
