import { keyOf } from '../../../constructs/kit/object.js';
import { healthOf, type Health } from '../../../constructs/kit/health.js';
import {
  problemOfPod,
  type ContainerStatus,
  type PodObject,
} from '../../../runner/health/pod-diagnostics.js';

/** The log that shows why a pod fails. */
export interface WantedLog {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** Whether the container has restarted since. */
  readonly previous: boolean;
  /** Identifies the run of the container. */
  readonly key: string;
}

/** The health of a pod, with the reason that the operator reports. */
export function podHealth(pod: PodObject): Health {
  const health = healthOf(pod);
  const message = health.state === 'Ready' ? undefined : problemOfPod(pod);
  return message === undefined ? health : { ...health, message };
}

/** The restarts of all containers of a pod. */
export function restartsOf({ status }: PodObject): number {
  return containersOf(status).reduce((sum, { restartCount = 0 }) => sum + restartCount, 0);
}

/** The log of the first container that failed; undefined for a Ready pod, or without a failed container. */
export function wantedLog(pod: PodObject): WantedLog | undefined {
  if (healthOf(pod).state === 'Ready') return undefined;
  for (const { name, state, lastState, restartCount = 0 } of containersOf(pod.status)) {
    const now = hasFailed(state?.terminated);
    if (!now && !hasFailed(lastState?.terminated)) continue;
    const { namespace = '', uid = '' } = pod.metadata;
    return {
      namespace,
      pod: pod.metadata.name,
      container: name,
      previous: !now,
      key: `${keyOf(namespace, pod.metadata.name)}/${uid}/${name}/${restartCount}/${now}`,
    };
  }
  return undefined;
}

function hasFailed(terminated: { readonly exitCode: number } | undefined): boolean {
  return terminated !== undefined && terminated.exitCode !== 0;
}

function containersOf(status: PodObject['status']): readonly ContainerStatus[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
}
