import type { ClusterReader } from '../kit/kind.js';
import { uidOf, versionOf } from '../kit/object.js';
import type { BenchModel } from './bench-model.js';

/**
 * What changes when the way into Redis does: a generated password that was made anew is another
 * Secret, the URLs of servers outside are another version of theirs. undefined where the Secret is
 * not there. Whatever read the old one at its start has to start again.
 */
export function redisVersion(
  { redis, namespace }: BenchModel,
  reader: ClusterReader,
): string | undefined {
  return redis.external
    ? reader.get('Secret', namespace, redis.cacheUrl.secret, versionOf)
    : reader.get('Secret', namespace, redis.password.secret, uidOf);
}
