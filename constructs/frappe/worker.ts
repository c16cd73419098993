import { Construct } from 'constructs';
import { QueueScaler } from '../integrations/keda/scaled-object.js';
import type { Component, Queue, Resources } from '../kit/api.js';
import { childLabels } from '../kit/labels.js';
import type { Resource } from '../kit/object.js';
import type { BenchModel } from './bench-model.js';
import { COMMON_CONFIG_FILE, QUEUE_KEY, SCRIPTS_DIR } from '../kit/constants.generated.js';
import { PYTHON, SITES_DIR } from './pod.js';
import { mostWorkers, type WorkerScale } from './worker-scaling.js';
import { Workload } from './workload.js';

/** The component of a queue's workers, as specs name it. */
export const WORKER_COMPONENTS = {
  default: 'workerDefault',
  short: 'workerShort',
  long: 'workerLong',
} as const satisfies Record<Queue, Component>;

/** Seconds that a worker gets to finish its job: the queue's own timeout and a minute. */
const GRACE_SECONDS = { default: 360, short: 360, long: 1560 } as const;

export interface WorkerProps {
  readonly bench: BenchModel;
  readonly owner: Resource;
  readonly name: string;
  readonly queue: Queue;
  readonly scale: WorkerScale;
  readonly resources?: Resources | undefined;
  readonly configHash: string;
  /** Prefix of the queues that the workers listen to; the bench's when not given. */
  readonly queuePrefix?: string;
  /** TriggerAuthentication with the password of the queue's Redis. */
  readonly triggerAuthentication: string;
}

/** The workers of one queue, and the ScaledObject that scales them. */
export class Worker extends Construct {
  constructor(scope: Construct, id: string, props: WorkerProps) {
    super(scope, id);
    const { bench, owner, name, queue, scale } = props;
    const component = `worker-${queue}`;
    new Workload(this, 'workload', {
      bench,
      owner,
      name,
      component,
      replicas: scale.replicas,
      configHash: props.configHash,
      readsAssets: true,
      terminationGracePeriodSeconds: GRACE_SECONDS[queue],
      ...(props.queuePrefix ? ownQueues(props.queuePrefix, props.resources) : {}),
      container: {
        name: component,
        command: ['sh', `${SCRIPTS_DIR}/worker.sh`, 'bench', 'worker', '--queue', queue],
        resources: props.resources,
        ...(props.queuePrefix ? { extraMounts: [CONFIG_MOUNT] } : {}),
      },
    });
    const { redis } = bench;
    if (scale.mode !== 'autoscaled' || !scale.scaling || redis.external) return;
    new QueueScaler(this, 'scaler', {
      ...scale.scaling,
      maxReplicas: mostWorkers(scale.scaling),
      name,
      namespace: bench.namespace,
      labels: childLabels(owner, component),
      fallback: scale.fallback,
      redis: `${redis.host}:${redis.queuePort}`,
      list: `${QUEUE_KEY}${props.queuePrefix ?? bench.queuePrefix}:${queue}`,
      triggerAuthentication: props.triggerAuthentication,
    });
  }
}

const CONFIG_MOUNT = {
  name: 'scratch',
  mountPath: `${SITES_DIR}/${COMMON_CONFIG_FILE}`,
  subPath: `worker/${COMMON_CONFIG_FILE}`,
  readOnly: true,
};

/**
 * Workers read their queue prefix from the common configuration, so Dedicated ones get their own
 * copy.
 */
function ownQueues(queuePrefix: string, resources: Resources | undefined) {
  return {
    initContainers: [
      {
        name: 'queue-prefix',
        command: [PYTHON, `${SCRIPTS_DIR}/worker_config.py`],
        env: [
          { name: 'BENCH_ID', value: queuePrefix },
          { name: 'SOURCE', value: `${SITES_DIR}/${COMMON_CONFIG_FILE}` },
          { name: 'TARGET', value: `/worker/${COMMON_CONFIG_FILE}` },
        ],
        resources,
        writesSites: false,
        extraMounts: [{ name: 'scratch', mountPath: '/worker', subPath: 'worker' }],
      },
    ],
  };
}
