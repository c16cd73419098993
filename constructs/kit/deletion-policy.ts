import { childLabels, INSTANCE_LABEL } from './labels.js';
import type { Resource } from './object.js';
import { metadataKeysOf } from './metadata-keys.js';
import { skipsCleanup } from './annotations.js';

/** Whether the data of a resource outlives it: a cleanup that is skipped drops nothing. */
export function retainsData(resource: Resource<{ readonly deletionPolicy: string }>): boolean {
  return resource.spec.deletionPolicy !== 'Delete' || skipsCleanup(resource);
}

/** Labels of a child that holds data: whether it outlives its resource, and none that a GitOps tool tracks. */
export function dataLabels(
  resource: Resource<{ readonly deletionPolicy: string }>,
  component: string,
): Record<string, string> {
  const { [INSTANCE_LABEL]: _tracked, ...labels } = childLabels(resource, component);
  return { ...labels, [metadataKeysOf(resource).retain]: String(retainsData(resource)) };
}
