import type { Resource } from './object.js';
import { metadataKeysOf } from './metadata-keys.js';
import { skipsCleanup } from './annotations.js';

/** Whether the data of a resource outlives it: a cleanup that is skipped drops nothing. */
export function retainsData(resource: Resource<{ readonly deletionPolicy: string }>): boolean {
  return resource.spec.deletionPolicy !== 'Delete' || skipsCleanup(resource);
}

/** The label of a child that holds data: whether it outlives its resource. */
export function retention(
  resource: Resource<{ readonly deletionPolicy: string }>,
): Record<string, string> {
  return { [metadataKeysOf(resource).retain]: String(retainsData(resource)) };
}
