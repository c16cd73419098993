import { createHash } from 'node:crypto';

/**
 * Benches are divided into this many buckets, and buckets into shards. It never changes: children have
 * their bucket as a label, so another number of shards changes no object.
 */
export const BUCKETS = 256;
export const ALL_BUCKETS: readonly number[] = Array.from(
  { length: BUCKETS },
  (_, bucket) => bucket,
);

/** The bucket of a bench, by its `<namespace>/<name>`. */
export function bucketOf(bench: string): number {
  return hash(bench) % BUCKETS;
}

/** The shard of a bucket: that of the highest hash, so that another shard takes only its share. */
export function shardOf(bucket: number, shards: number): number {
  let best = { shard: 0, weight: -1 };
  for (let shard = 0; shard < shards; shard++) {
    const weight = hash(`${bucket}/${shard}`);
    if (weight > best.weight) best = { shard, weight };
  }
  return best.shard;
}

/** The buckets of each shard, in their order; of a shard without any, none. */
export function bucketsByShard(shards: number): ReadonlyMap<number, readonly number[]> {
  return Map.groupBy(ALL_BUCKETS, (bucket) => shardOf(bucket, shards));
}

function hash(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0);
}
