import type { Construct } from 'constructs';
import { ScaledObject, ScaledObjectSpecFallbackBehavior } from '../../../imports/keda.sh.js';

/**
 * How often in a row KEDA may fail to read a queue. After its first failure KEDA opens a new
 * connection, and counts no further failures while it cannot connect: a higher threshold is never
 * reached.
 */
const FAILURE_THRESHOLD = 0;

export interface QueueScalerProps {
  /** Name of the Deployment of the workers, and of the ScaledObject. */
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly minReplicas: number;
  readonly maxReplicas: number;
  /** Jobs per worker. */
  readonly queueLength: number;
  readonly cooldownPeriod?: number | undefined;
  readonly pollingInterval?: number | undefined;
  /** Workers at least, where KEDA cannot read the queue. */
  readonly fallback: number;
  /** `<host>:<port>` of the queue's Redis. */
  readonly redis: string;
  /** The Redis lists of the queues; the longest decides. */
  readonly lists: readonly string[];
  /** Name of the TriggerAuthentication with the password of Redis. */
  readonly triggerAuthentication: string;
}

/** The ScaledObject that scales workers by the length of their queues. */
export class QueueScaler extends ScaledObject {
  constructor(scope: Construct, id: string, props: QueueScalerProps) {
    const { name, namespace, labels, cooldownPeriod, pollingInterval } = props;
    super(scope, id, {
      metadata: { name, namespace, labels: { ...labels } },
      spec: {
        scaleTargetRef: { name },
        minReplicaCount: props.minReplicas,
        maxReplicaCount: props.maxReplicas,
        ...(cooldownPeriod === undefined ? {} : { cooldownPeriod }),
        ...(pollingInterval === undefined ? {} : { pollingInterval }),
        ...(props.fallback === 0 ? {} : { fallback: fallback(props.fallback) }),
        triggers: props.lists.map((listName) => ({
          type: 'redis',
          metadata: {
            address: props.redis,
            listName,
            listLength: String(props.queueLength),
            activationListLength: '0',
          },
          authenticationRef: { name: props.triggerAuthentication },
        })),
      },
    });
  }
}

/** As many workers as without KEDA; a higher number is kept, so that no working one is stopped. */
function fallback(replicas: number) {
  return {
    failureThreshold: FAILURE_THRESHOLD,
    replicas,
    behavior: ScaledObjectSpecFallbackBehavior.CURRENT_REPLICAS_IF_HIGHER,
  };
}
