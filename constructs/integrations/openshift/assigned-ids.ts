import type { ClusterReader } from '../../kit/kind.js';
import { SecurityContextConstraints } from './kinds.js';

/**
 * Whether the platform assigns the user and the groups of each pod, and refuses pods that name
 * others. OpenShift's API server itself serves this API, so it does not disappear in an outage.
 */
export function assignsIds(reader: Pick<ClusterReader, 'serves'>): boolean {
  return reader.serves(SecurityContextConstraints);
}
