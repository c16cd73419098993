import type { ClusterReader } from '../kit/kind.js';
import { SecurityContextConstraints } from '../kit/object-kind.js';

/** The API groups by which a platform is known, of which no object is read. */
export const PLATFORM_KINDS = [SecurityContextConstraints];

/**
 * Whether the platform gives each pod its user and its groups, and refuses those that name others, as
 * OpenShift does. Its security API is part of the API server: it does not go with a part that is down.
 */
export function assignsIds(reader: Pick<ClusterReader, 'serves'>): boolean {
  return reader.serves(SecurityContextConstraints);
}
