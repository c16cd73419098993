import { nameOwnerOf, isOlder } from '../frappe/name-conflict.js';
import { Stalled } from '../kit/errors.js';
import type { Index, ClusterReader } from '../kit/kind.js';
import type { DocumentResource } from './sync.js';

/**
 * Two resources of one document would undo each other's work: the younger is refused.
 * @param index the resources of a document, by its value for this resource
 * @param path the field that names the document
 * @throws Stalled naming the older one
 */
export function refuseTakenDocument<R extends DocumentResource>(
  resource: R,
  index: Index<R>,
  path: string,
  name: string,
  reader: ClusterReader,
): void {
  const mine = nameOwnerOf(resource);
  const conflicting = index
    .values(resource)
    .flatMap((value) => reader.list(index, value, nameOwnerOf))
    .find((claim) => claim.name !== mine.name && isOlder(claim, mine));
  if (!conflicting) return;
  throw new Stalled(
    'DocumentTaken',
    `${path}: Invalid value: "${name}": ${resource.kind} ${conflicting.name} stands for this document of site ${resource.spec.siteRef.name} already`,
  );
}
