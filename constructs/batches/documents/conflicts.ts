import { nameOwnerOf, isOlder } from '../../frappe/oldest-wins.js';
import type { Refusal } from '../../kit/errors.js';
import type { Index, ClusterReader } from '../../kit/kind.js';
import type { DocumentResource } from './sync.js';

/** How a resource names its document. */
export interface DocumentName<R extends DocumentResource> {
  /** The resources of a document, by its value for this resource. */
  readonly index: Index<R>;
  /** The field that names the document. */
  readonly path: string;
  readonly name: string;
}

/** Two resources of one document would overwrite each other's changes: the younger is refused. */
export function takenDocument<R extends DocumentResource>(
  resource: R,
  { index, path, name }: DocumentName<R>,
  reader: ClusterReader,
): readonly Refusal[] {
  const owner = nameOwnerOf(resource);
  const conflicting = index
    .values(resource)
    .flatMap((value) => reader.list(index, value, nameOwnerOf))
    .find((other) => other.name !== owner.name && isOlder(other, owner));
  if (!conflicting) return [];
  const message = `${path}: Invalid value: "${name}": ${resource.kind} ${conflicting.name} already manages this document of site ${resource.spec.siteRef.name}`;
  return [{ reason: 'DocumentTaken', message }];
}
