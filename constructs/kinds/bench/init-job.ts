import { Construct } from 'constructs';
import type * as k8s from '../../kit/k8s.js';
import type { BenchModel } from '../../frappe/bench-model.js';
import { SOCKETIO_PORT } from '../../kit/constants.generated.js';
import { requestedImage, type FrappeImage } from '../../frappe/image.js';
import { refreshOf } from '../../frappe/image-digest.js';
import { FrappeJob } from '../../frappe/job.js';
import { jobCommand, secretEnv } from '../../frappe/pod.js';
import { keyOfSecret } from '../../frappe/secret.js';
import { queueDeclarations } from '../../frappe/worker.js';
import { runAgainOf } from '../../kit/annotations.js';
import { hashOf } from '../../kit/json/hash.js';
import { benchNames } from '../../kit/names.js';
import type { AppBench } from '../../api/bench.js';

const REDIS_CA_DIR = '/app-operator/redis-ca';

export interface BenchInitProps {
  readonly bench: BenchModel;
  readonly owner: AppBench;
  /** Hash of what the Job is created to do, see `benchInitTaskHash`. */
  readonly taskHash: string;
  /** Whether the node must ask the registry what the image refers to now. */
  readonly pulls: boolean;
}

/**
 * The Job that prepares the shared volume for the image: apps.txt, assets, common configuration.
 */
export class BenchInit extends Construct {
  constructor(scope: Construct, id: string, { bench, owner, taskHash, pulls }: BenchInitProps) {
    super(scope, id);
    const image: FrappeImage = pulls ? { ...bench.image, pullPolicy: 'Always' } : bench.image;
    const authority = redisAuthority(bench);
    new FrappeJob(this, 'job', {
      bench: { ...bench, image },
      owner,
      name: benchNames(bench.name).init,
      component: 'init',
      taskHash,
      container: {
        name: 'init',
        command: jobCommand('bench_init.py'),
        env: [
          { name: 'BENCH_APPS', value: JSON.stringify(bench.apps) },
          { name: 'SOCKETIO_PORT', value: String(SOCKETIO_PORT) },
          { name: 'COMMON_CONFIG', value: JSON.stringify(commonConfig(bench)) },
          { name: 'DB_HOST', value: bench.database.host },
          { name: 'DB_PORT', value: String(bench.database.port) },
          { name: 'DB_TYPE', value: bench.database.provider },
          ...redisEnv(bench),
          ...authority.env,
        ],
        extraMounts: authority.mounts,
      },
      extraVolumes: authority.volumes,
    });
  }
}

/** Keys of the common configuration that the scripts do not set by themselves. */
function commonConfig({ queuePrefix, workers, schedulerTickSeconds }: BenchModel): object {
  const queues = queueDeclarations(workers);
  return {
    bench_id: queuePrefix,
    ...(queues ? { workers: queues } : {}),
    ...(schedulerTickSeconds === undefined
      ? {}
      : { scheduler_tick_interval: schedulerTickSeconds }),
  };
}

/**
 * Hash of what the init Job is created to do. The image is as the spec names it: the digest that the
 * Job finds must not make it run again.
 */
export function benchInitTaskHash(
  resource: AppBench,
  bench: BenchModel,
  redisVersion: string | undefined,
): string {
  const requested = requestedImage(resource.spec);
  const tick = bench.schedulerTickSeconds;
  const refresh = refreshOf(resource, requested);
  const runAgain = runAgainOf(resource);
  const image = { ...bench.image, reference: requested };
  return hashOf([
    benchConfigHash({ ...bench, image }, redisVersion),
    bench.apps,
    ...(tick === undefined ? [] : [{ tick }]),
    ...(runAgain === undefined ? [] : [{ runAgain }]),
    ...(refresh === undefined ? [] : [{ refresh }]),
  ]);
}

/** Hash of what the pods read at their start. */
export function benchConfigHash(model: BenchModel, redisVersion: string | undefined): string {
  const queues = queueDeclarations(model.workers);
  return hashOf([
    model.image.reference,
    model.redis,
    model.database,
    model.queuePrefix,
    redisVersion ?? '',
    // Each process of the framework reads the queues once.
    ...(queues ? [{ queues }] : []),
  ]);
}

function redisEnv({ redis }: BenchModel): k8s.EnvVar[] {
  return redis.external
    ? [secretEnv('REDIS_CACHE_URL', redis.cacheUrl), secretEnv('REDIS_QUEUE_URL', redis.queueUrl)]
    : [
        { name: 'REDIS_HOST', value: redis.host },
        { name: 'REDIS_CACHE_PORT', value: String(redis.cachePort) },
        { name: 'REDIS_QUEUE_PORT', value: String(redis.queuePort) },
        secretEnv('REDIS_PASSWORD', redis.password),
      ];
}

/** The certificate of the authority of Redis servers outside, which the Job copies to the volume. */
function redisAuthority({ redis }: BenchModel): {
  readonly env: k8s.EnvVar[];
  readonly mounts: k8s.VolumeMount[];
  readonly volumes: k8s.Volume[];
} {
  if (!redis.external || !redis.ca) return { env: [], mounts: [], volumes: [] };
  const { secret, key } = redis.ca;
  const name = 'redis-ca';
  return {
    env: [
      { name: 'REDIS_CA_FILE', value: `${REDIS_CA_DIR}/${key}` },
      { name: 'REDIS_CA_FROM', value: keyOfSecret(key, secret) },
    ],
    mounts: [{ name, mountPath: REDIS_CA_DIR, readOnly: true }],
    volumes: [{ name, secret: { secretName: secret } }],
  };
}
