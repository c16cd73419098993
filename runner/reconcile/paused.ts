import type { Markers } from '../../constructs/kit/labels.js';
import type { Resource } from '../../constructs/kit/object.js';

/** Whether nothing may be written for a resource, by its spec or its annotation. */
export function isPaused(resource: Resource, markers: Markers): boolean {
  const { paused: inSpec } = resource.spec as { readonly paused?: boolean };
  return inSpec === true || resource.metadata.annotations?.[markers.paused] === 'true';
}
