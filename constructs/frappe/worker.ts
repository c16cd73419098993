import { Construct } from 'constructs';
import type { QueueWorkers } from '../api/bench.js';
import { QueueScaler } from '../integrations/keda/scaled-object.js';
import type { Component, Queue, Resources } from '../kit/api.js';
import { childLabels } from '../kit/labels.js';
import type { Resource } from '../kit/object.js';
import { WORKER_REQUESTS } from './default-resources.js';
import type { BenchModel } from './bench-model.js';
import { COMMON_CONFIG_FILE, QUEUE_KEY, QUEUES, SCRIPTS_DIR } from '../kit/constants.generated.js';
import { nginxAddress, PYTHON, SITES_DIR } from './pod.js';
import { maxReplicasOf, type WorkerScale } from './worker-scaling.js';
import { WorkloadConstruct } from './workload.js';

/** The component of a queue's workers, as specs name it. */
export const WORKER_COMPONENTS = {
  default: 'workerDefault',
  short: 'workerShort',
  long: 'workerLong',
} as const satisfies Record<Queue, Component>;

/** Seconds that the framework gives a job of a queue. */
const TIMEOUT_SECONDS = { default: 300, short: 300, long: 1500 } as const satisfies Record<
  Queue,
  number
>;
/** Of a queue that a spec adds. */
export const DEFAULT_TIMEOUT = 300;
/** Seconds that a worker gets to finish its job, besides the queue's timeout. */
const GRACE_SECONDS = 60;

/** The workers of one Deployment. */
export interface WorkerGroup {
  /** The last part of the Deployment's name. */
  readonly name: string;
  readonly queues: readonly string[];
  /** Seconds that the longest job takes. */
  readonly timeoutSeconds: number;
}

/** The queues that the framework has workers for, and those of a spec. */
export function workerGroups(own: readonly QueueWorkers[]): readonly WorkerGroup[] {
  const known = QUEUES.map((queue) => ({
    name: queue,
    queues: [queue],
    timeoutSeconds: TIMEOUT_SECONDS[queue],
  }));
  const further = own.map(({ name, queues, timeoutSeconds }) => ({
    name,
    queues,
    timeoutSeconds: Math.max(
      ...queues.map((queue) =>
        isKnownQueue(queue) ? TIMEOUT_SECONDS[queue] : (timeoutSeconds ?? DEFAULT_TIMEOUT),
      ),
    ),
  }));
  return [...known, ...further];
}

/**
 * Seconds that the longest job of a bench takes, if a queue of its spec takes longer than those of the
 * framework; otherwise undefined.
 */
export function longerTimeout(own: readonly QueueWorkers[]): number | undefined {
  const longest = Math.max(...workerGroups(own).map(({ timeoutSeconds }) => timeoutSeconds));
  return longest > TIMEOUT_SECONDS.long ? longest : undefined;
}

/** Whether the framework has the queue by itself. */
export function isKnownQueue(queue: string): queue is Queue {
  return QUEUES.some((known) => known === queue);
}

/** The key `workers` of the common configuration: queues besides the framework's own. */
export type QueueDeclarations = Readonly<Record<string, { readonly timeout: number }>>;

/** What the framework has to know of the queues of a spec; undefined without any. */
export function queueDeclarations(own: readonly QueueWorkers[]): QueueDeclarations | undefined {
  const entries = own.flatMap(({ queues, timeoutSeconds = DEFAULT_TIMEOUT }) =>
    queues
      .filter((queue) => !isKnownQueue(queue))
      .map((queue) => [queue, { timeout: timeoutSeconds }] as const),
  );
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

export interface WorkerProps {
  readonly bench: BenchModel;
  readonly owner: Resource;
  readonly name: string;
  readonly group: WorkerGroup;
  readonly scale: WorkerScale;
  readonly resources?: Resources | undefined;
  readonly configHash: string;
  /** Prefix of the queues that the workers listen to; the bench's when not given. */
  readonly queuePrefix?: string;
  /** TriggerAuthentication with the password of the queue's Redis. */
  readonly triggerAuthentication: string;
}

/** The workers of one queue or of several, and the ScaledObject that scales them. */
export class Worker extends Construct {
  constructor(scope: Construct, id: string, props: WorkerProps) {
    super(scope, id);
    const { bench, owner, name, group, scale, resources = WORKER_REQUESTS } = props;
    const component = `worker-${group.name}`;
    new WorkloadConstruct(this, 'workload', {
      bench,
      owner,
      name,
      component,
      replicas: scale.replicas,
      configHash: props.configHash,
      readsAssets: true,
      terminationGracePeriodSeconds: group.timeoutSeconds + GRACE_SECONDS,
      ...(props.queuePrefix ? ownQueues(props.queuePrefix, resources) : {}),
      container: {
        name: component,
        command: ['sh', `${SCRIPTS_DIR}/worker.sh`, 'bench', 'worker', ...queueArguments(group)],
        env: nginxAddress(bench),
        resources,
        ...(props.queuePrefix ? { extraMounts: [CONFIG_MOUNT] } : {}),
      },
    });
    const { redis } = bench;
    if (scale.mode !== 'autoscaled' || !scale.scaling || redis.external) return;
    new QueueScaler(this, 'scaler', {
      ...scale.scaling,
      maxReplicas: maxReplicasOf(scale.scaling),
      name,
      namespace: bench.namespace,
      labels: childLabels(owner, component),
      fallback: scale.fallback,
      // KEDA's pods have their own search list, which a final dot keeps out.
      redis: `${redis.host}.:${redis.queuePort}`,
      lists: group.queues.map(
        (queue) => `${QUEUE_KEY}${props.queuePrefix ?? bench.queuePrefix}:${queue}`,
      ),
      triggerAuthentication: props.triggerAuthentication,
    });
  }
}

function queueArguments({ queues }: WorkerGroup): readonly string[] {
  return ['--queue', queues.join(',')];
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
function ownQueues(queuePrefix: string, resources: Resources) {
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
