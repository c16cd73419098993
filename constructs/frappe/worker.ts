import { Construct } from 'constructs';
import { ScaledObject, ScaledObjectSpecFallbackBehavior } from '../../imports/keda.sh.js';
import type { QueueScaling } from '../bench/api.js';
import type { Component, Queue, Resources } from '../kit/api.js';
import { childLabels } from '../kit/labels.js';
import type { Resource } from '../kit/object.js';
import type { BenchModel } from './bench-model.js';
import { COMMON_CONFIG_FILE, QUEUE_KEY, SCRIPTS_DIR } from './constants.generated.js';
import { PYTHON, SITES_DIR } from './pod.js';
import type { WorkerScale } from './worker-scaling.js';
import { Workload } from './workload.js';

/** The component of a queue's workers, as specs name it. */
export const WORKER_COMPONENTS = {
  default: 'workerDefault',
  short: 'workerShort',
  long: 'workerLong',
} as const satisfies Record<Queue, Component>;

/** Seconds that a worker gets to finish its job: the queue's own timeout and a minute. */
const GRACE_SECONDS = { default: 360, short: 360, long: 1560 } as const;

/**
 * Times in a row that KEDA may fail to read a queue. None: after its first failure it connects anew, and
 * while it cannot connect it counts no further ones, so a higher threshold is never reached.
 */
const FAILURE_THRESHOLD = 0;

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
      terminationGracePeriodSeconds: GRACE_SECONDS[queue],
      ...(props.queuePrefix ? ownQueues(props.queuePrefix, props.resources) : {}),
      container: {
        name: component,
        command: ['sh', `${SCRIPTS_DIR}/worker.sh`, 'bench', 'worker', '--queue', queue],
        resources: props.resources,
        ...(props.queuePrefix ? { extraMounts: [CONFIG_MOUNT] } : {}),
      },
    });
    if (scale.mode === 'autoscaled' && scale.scaling) {
      this.scaledObject(props, scale.scaling, scale.fallback);
    }
  }

  private scaledObject(props: WorkerProps, scaling: QueueScaling, fallback: number): void {
    const { bench, owner, name, queue } = props;
    if (bench.redis.external) return;
    new ScaledObject(this, 'scaler', {
      metadata: {
        name,
        namespace: bench.namespace,
        labels: childLabels(owner, `worker-${queue}`),
      },
      spec: {
        scaleTargetRef: { name },
        minReplicaCount: scaling.minReplicas,
        maxReplicaCount: scaling.maxReplicas,
        ...(scaling.cooldownPeriod === undefined ? {} : { cooldownPeriod: scaling.cooldownPeriod }),
        ...(scaling.pollingInterval === undefined
          ? {}
          : { pollingInterval: scaling.pollingInterval }),
        // Where KEDA cannot read the queue: as many as without KEDA, and nobody who works is sent home.
        ...(fallback === 0
          ? {}
          : {
              fallback: {
                failureThreshold: FAILURE_THRESHOLD,
                replicas: fallback,
                behavior: ScaledObjectSpecFallbackBehavior.CURRENT_REPLICAS_IF_HIGHER,
              },
            }),
        triggers: [
          {
            type: 'redis',
            metadata: {
              address: `${bench.redis.host}:${bench.redis.queuePort}`,
              listName: `${QUEUE_KEY}${props.queuePrefix ?? bench.queuePrefix}:${queue}`,
              listLength: String(scaling.queueLength),
              activationListLength: '0',
            },
            authenticationRef: { name: props.triggerAuthentication },
          },
        ],
      },
    });
  }
}

const CONFIG_MOUNT = {
  name: 'scratch',
  mountPath: `${SITES_DIR}/${COMMON_CONFIG_FILE}`,
  subPath: `worker/${COMMON_CONFIG_FILE}`,
  readOnly: true,
};

/** Workers read their queue prefix from the common configuration, so these get one of their own. */
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
