import { isObject } from './json/is-object.js';
import type { Resource } from './object.js';
import { metadataKeysOf } from './metadata-keys.js';

/** Whether nothing may be written for a resource, by its spec or its annotation. */
export function isPaused(resource: Resource): boolean {
  // A CRD that lost its schema stores resources without a spec.
  const { spec } = resource;
  return (
    (isObject(spec) && spec['paused'] === true) ||
    resource.metadata.annotations?.[metadataKeysOf(resource).paused] === 'true'
  );
}

/** The value with which a user requests that the init Job runs again. */
export function runAgainOf(resource: Resource): string | undefined {
  return resource.metadata.annotations?.[metadataKeysOf(resource).runAgain];
}

/** Whether the cleanup of a deleted resource is skipped. */
export function skipsCleanup(resource: Resource): boolean {
  return resource.metadata.annotations?.[metadataKeysOf(resource).skipDrop] === 'true';
}
