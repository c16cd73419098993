import { metadataKeysFor } from '../../../constructs/kit/metadata-keys.js';
import { keyOf } from '../../../constructs/kit/object.js';
import { KINDS, type AnyKind } from '../../../constructs/registry.js';
import { isForbidden, isNotFound } from '../../../runner/api/api-error.js';
import { LEASE_NAME } from '../../../runner/leader/leader-election.js';
import { type Lease, LeaseKind } from '../../../runner/leader/lease-object.js';
import { bucketOf, shardOf } from '../../../runner/shards/buckets.js';
import { shardLease, shardsOf } from '../../../runner/shards/group-leases.js';
import type { ApiClient } from '../../kube/connect.js';
import { listOf } from '../../kube/snapshot.js';
import type { Node } from './tree-node.js';

const CLOCK_SKEW_MS = 60_000;

/** The holder of each shard, by its number; empty without shards. */
export type ShardHolders = readonly (string | undefined)[];

/** Reads who holds the shards of the operator; without the right to list Leases it is not shown. */
export async function shardHolders(
  client: Pick<ApiClient, 'request'>,
  apiGroup: string,
): Promise<ShardHolders> {
  const label = metadataKeysFor(apiGroup).shards;
  try {
    const leases: readonly Lease[] = await listOf(
      client,
      { kind: LeaseKind, labelSelector: label },
      undefined,
    );
    // Leases of shards stay after the operator works without them.
    const group = leases.find(({ metadata }) => metadata.name === LEASE_NAME);
    const shards = shardsOf(group?.spec?.holderIdentity ?? '') ?? 0;
    return Array.from({ length: shards }, (_, shard) =>
      podOf(leases.find(({ metadata }) => metadata.name === shardLease(shard))),
    );
  } catch (error) {
    if (isForbidden(error) || isNotFound(error)) return [];
    throw error;
  }
}

/** The trees with the replica of each bench. */
export function withReplicas(
  nodes: readonly Node[],
  holders: ShardHolders,
  kinds: readonly AnyKind[] = KINDS,
): readonly Node[] {
  if (holders.length === 0) return nodes;
  const roots = new Set(
    kinds.flatMap(({ definition, references }) => (references.length > 0 ? [] : definition.kind)),
  );
  return nodes.map((node) => {
    if (!roots.has(node.kind)) return node;
    const shard = shardOf(bucketOf(keyOf(node.namespace, node.name)), holders.length);
    const replica = holders[shard] ?? null;
    return { ...node, details: { ...node.details, shard, replica } };
  });
}

/** The pod of a holder, whose identity is `<pod>_<uuid>`; undefined where it renews no more. */
function podOf(lease: Lease | undefined): string | undefined {
  const { renewTime = '', leaseDurationSeconds = 0 } = lease?.spec ?? {};
  // The clocks of the cluster and of this machine may differ.
  if (Date.now() - Date.parse(renewTime) > leaseDurationSeconds * 1_000 + CLOCK_SKEW_MS) return;
  return lease?.spec?.holderIdentity?.replace(/_[^_]*$/, '') || undefined;
}
