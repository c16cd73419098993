import { keyOf } from '../../constructs/kit/object.js';
import { healthOf, type Health } from '../../constructs/kit/health.js';
import {
  problemOfPod,
  type ContainerStatus,
  type PodObject,
} from '../../runner/health/pod-diagnostics.js';

/** Which log tells why a pod is in trouble. */
export interface WantedLog {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** Whether the container was started again since. */
  readonly previous: boolean;
  /** Another one for another run of the container. */
  readonly key: string;
}

/** How a pod fares, with the reason that the operator would tell. */
export function podHealth(pod: PodObject): Health {
  const health = healthOf(pod);
  const why = health.state === 'Ready' ? undefined : problemOfPod(pod);
  return why === undefined ? health : { ...health, message: why };
}

/** How often the containers of a pod were started again. */
export function restartsOf({ status }: PodObject): number {
  return containersOf(status).reduce((sum, { restartCount = 0 }) => sum + restartCount, 0);
}

/** The log of the first container that ended badly; undefined for a pod that is well, or has run nothing. */
export function wantedLog(pod: PodObject): WantedLog | undefined {
  if (healthOf(pod).state === 'Ready') return undefined;
  for (const { name, state, lastState, restartCount = 0 } of containersOf(pod.status)) {
    const now = isBad(state?.terminated);
    if (!now && !isBad(lastState?.terminated)) continue;
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

function isBad(terminated: { readonly exitCode: number } | undefined): boolean {
  return terminated !== undefined && terminated.exitCode !== 0;
}

function containersOf(status: PodObject['status']): readonly ContainerStatus[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
}
