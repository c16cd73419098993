import { ApiError } from '../../runner/api/api-error.js';
import type { Lease } from '../../runner/leader/lease-object.js';

interface Operation {
  readonly value: string;
}

/** What a JSON patch makes of a lease: a test of the holder, then a time. @throws ApiError 404, 422 */
export function patchedLease(lease: Lease | undefined, operations: unknown): Lease {
  if (!lease) throw new ApiError(404, 'NotFound', {}, 'PATCH: 404');
  const [holder, time] = operations as readonly [Operation, Operation];
  if (holder.value !== lease.spec?.holderIdentity)
    throw new ApiError(422, 'Invalid', {}, 'PATCH: 422');
  return { ...lease, spec: { ...lease.spec, renewTime: time.value } };
}
