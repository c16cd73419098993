import type { ClusterReader } from '../kit/kind.js';
import { valuesIdOf } from '../kit/secret-values.js';
import { versionOf } from '../kit/object.js';
import type { BenchModel } from './bench-model.js';

/**
 * Changes with the login to Redis: a generated password that was generated again is another
 * Secret, the URLs of servers outside are another version of theirs. undefined where the Secret is
 * missing. Pods that read the old one at their start must restart.
 */
export function redisVersion(
  { redis, namespace }: BenchModel,
  reader: ClusterReader,
): string | undefined {
  if (!redis.external) return reader.get('Secret', namespace, redis.password.secret, valuesIdOf);
  const urls = reader.get('Secret', namespace, redis.cacheUrl.secret, versionOf);
  if (urls === undefined || redis.ca === undefined) return urls;
  return `${urls}/${reader.get('Secret', namespace, redis.ca.secret, versionOf) ?? ''}`;
}
