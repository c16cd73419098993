/** What a replica sees of its group. */
export interface GroupView {
  /** The identities of all replicas that work, the own one included. */
  readonly replicas: readonly string[];
  /** The holder of each shard; undefined if it is free. */
  readonly holders: readonly (string | undefined)[];
}

/**
 * How many shards a replica should hold. All replicas that see the same compute the same numbers: they
 * differ by one at most, and the replicas that hold the most keep the larger ones.
 */
export function shareOf(identity: string, { replicas, holders }: GroupView): number {
  const all = [...new Set([...replicas, identity])];
  const held = (one: string): number => holders.filter((holder) => holder === one).length;
  const order = all.sort((a, b) => held(b) - held(a) || (a < b ? -1 : 1));
  const least = Math.floor(holders.length / all.length);
  return least + (order.indexOf(identity) < holders.length % all.length ? 1 : 0);
}
