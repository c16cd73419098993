import { Construct } from 'constructs';
import {
  REDIS_CACHE_PORT,
  REDIS_DATA_DIR,
  REDIS_QUEUE_PORT,
  REDIS_RUN_DIR,
  SCRIPTS_DIR,
} from '../../kit/constants.generated.js';
import * as k8s from '../../kit/k8s.js';
import { childLabels } from '../../kit/labels.js';
import { benchNames } from '../../kit/names.js';
import { bytesOf } from '../../kit/quantity.js';
import type { BenchModel } from '../../frappe/bench-model.js';
import { REDIS_IMAGE } from '../../frappe/default-images.js';
import { REDIS_REQUESTS } from '../../frappe/default-resources.js';
import { GeneratedSecret } from '../../frappe/generated-secret.js';
import { kedaPeer, OnlyFromBench } from '../../frappe/network-rule.js';
import {
  placement,
  podMetadata,
  secretEnv,
  selectorLabels,
  withPodTemplates,
} from '../../frappe/pod.js';
import { PodService } from '../../frappe/service.js';
import { Volume } from '../../frappe/volume.js';
import type { AppBench, RedisConfig } from '../../api/bench.js';

const COMPONENT = 'redis';
const PORTS = { cache: REDIS_CACHE_PORT, queue: REDIS_QUEUE_PORT } as const;
type Role = keyof typeof PORTS;
const ROLES: readonly Role[] = ['cache', 'queue'];
/** The cache's size where its container has no memory limit. */
const CACHE_BYTES = 256 * 1024 * 1024;
/**
 * How much of its memory limit a server uses for data. The queue rewrites its append-only file in a
 * child process: until that ends, each page that changes is in memory twice.
 */
const DATA_SHARE = { cache: 0.75, queue: 0.6 } as const;

export interface RedisProps {
  readonly bench: BenchModel;
  readonly owner: AppBench;
  /** Hash of what the servers read at their start. */
  readonly configHash: string;
}

/** The password of both servers. It is applied before everything that reads it. */
export class RedisPassword extends Construct {
  constructor(scope: Construct, id: string, { bench, owner }: Omit<RedisProps, 'configHash'>) {
    super(scope, id);
    new GeneratedSecret(this, 'secret', {
      owner,
      name: benchNames(bench.name).redisSecret,
      namespace: bench.namespace,
      component: 'redis',
      keys: { password: 'password' },
    });
  }
}

/**
 * Two Redis servers in one pod: a cache that evicts the least used keys, and a queue that evicts
 * none and keeps an append-only file on a volume.
 */
export class Redis extends Construct {
  constructor(scope: Construct, id: string, props: RedisProps) {
    super(scope, id);
    const { bench, owner } = props;
    const names = benchNames(bench.name);
    new PodService(this, 'service', {
      owner,
      name: names.redis,
      namespace: bench.namespace,
      component: COMPONENT,
      ports: PORTS,
      publishNotReadyAddresses: true,
    });
    const { storage } = owner.spec.redisConfig ?? {};
    if (storage?.existingClaim === undefined) {
      new Volume(this, 'volume', {
        owner,
        name: names.redisVolume,
        component: COMPONENT,
        accessMode: 'ReadWriteOnce',
        storage: { size: '1Gi', ...storage },
      });
    }
    const servers = new k8s.KubeStatefulSet(this, 'servers', {
      metadata: {
        name: names.redis,
        namespace: bench.namespace,
        labels: childLabels(owner, COMPONENT),
      },
      spec: {
        serviceName: names.redis,
        replicas: 1,
        selector: { matchLabels: selectorLabels({ owner, name: names.redis }) },
        template: podTemplate(props),
      },
    });
    withPodTemplates(servers, { bench, owner, name: names.redis, component: COMPONENT });
    new OnlyFromBench(this, 'network', {
      bench,
      owner,
      name: names.redis,
      ports: Object.values(PORTS),
      alsoFrom: [kedaPeer(bench)],
    });
  }
}

function podTemplate({ bench, owner, configHash }: RedisProps): k8s.PodTemplateSpec {
  const names = benchNames(bench.name);
  const config = owner.spec.redisConfig ?? {};
  return {
    metadata: podMetadata(
      { bench, owner, name: names.redis, component: COMPONENT },
      { [bench.metadataKeys.configHash]: configHash },
    ),
    spec: {
      ...placement(bench),
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: bench.security.pod,
      containers: ROLES.map((role) =>
        server({ bench, config, role, port: PORTS[role], secret: names.redisSecret }),
      ),
      volumes: [
        {
          name: 'queue',
          persistentVolumeClaim: { claimName: config.storage?.existingClaim ?? names.redisVolume },
        },
        { name: 'run', emptyDir: {} },
        { name: 'scripts', configMap: { name: names.config, defaultMode: 0o555 } },
      ],
    },
  };
}

function server(props: {
  readonly bench: BenchModel;
  readonly config: RedisConfig;
  readonly role: Role;
  readonly port: number;
  readonly secret: string;
}): k8s.Container {
  const { bench, config, role, port } = props;
  const maxMemory = maxMemoryOf(config, role);
  const check = (kind: string): k8s.Probe => ({
    exec: { command: ['sh', `${SCRIPTS_DIR}/redis-check.sh`, role, kind] },
    periodSeconds: 5,
    timeoutSeconds: 10,
  });
  return {
    name: role,
    image: config.image ?? REDIS_IMAGE,
    command: ['sh', `${SCRIPTS_DIR}/redis.sh`, role],
    env: [
      secretEnv('REDIS_PASSWORD', { secret: props.secret, key: 'password' }),
      ...(maxMemory === undefined ? [] : [{ name: 'REDIS_MAXMEMORY', value: String(maxMemory) }]),
    ],
    ports: [{ name: role, containerPort: port, protocol: 'TCP' }],
    resources: config.resources ?? REDIS_REQUESTS,
    securityContext: bench.security.container,
    // Each check is a process in the container, so checks are rare.
    livenessProbe: { ...check('live'), periodSeconds: 30, failureThreshold: 3 },
    readinessProbe: check('ready'),
    volumeMounts: [
      { name: 'run', mountPath: REDIS_RUN_DIR, subPath: role },
      { name: 'scripts', mountPath: SCRIPTS_DIR, readOnly: true },
      ...(role === 'queue' ? [{ name: 'queue', mountPath: REDIS_DATA_DIR }] : []),
    ],
  };
}

/** Bytes of data that a server keeps; undefined for a queue without a limit. 0 would be no limit. */
function maxMemoryOf({ resources }: RedisConfig, role: Role): number | undefined {
  const limit = resources?.limits?.['memory'];
  if (limit !== undefined) return Math.max(1, Math.floor(bytesOf(limit) * DATA_SHARE[role]));
  return role === 'cache' ? CACHE_BYTES : undefined;
}
