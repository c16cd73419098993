import { isAlive } from '../../../testbed/controlplane/lock.js';
import type { Live } from '../../cluster/support/objects.js';
import type { E2e } from '../harness.js';
import { isReady, lasting } from './bench.js';
import { containersOf, idOf, processesOf } from './container-processes.js';

/** The one pod of a workload, once it has no more than this one, and that is Ready. */
export function podOf(cluster: E2e, namespace: string, app: string): Promise<Live> {
  return cluster.until(`${app} to have one pod that is Ready`, async () => {
    const [pod, ...others] = lasting(await cluster.pods(namespace, `app=${app}`));
    if (!pod || others.length > 0) throw new Error(`it has ${pod ? 'several pods' : 'no pod'}`);
    return isReady(pod) && pod;
  });
}

/**
 * Kills all processes of a container, as the kernel does when memory is short, and waits until they
 * have ended: their connections are closed then. A container that has ended automatically is waited
 * for: the kubelet restarts it under another id.
 */
export async function killContainer(cluster: E2e, pod: Live, name: string): Promise<void> {
  const { namespace = '', name: podName } = pod.metadata;
  let killed: readonly number[] = [];
  await cluster.until(`${podName} to run ${name}, to be killed`, async () => {
    killed = await killProcesses(await cluster.the('Pod', namespace, podName), name);
    return true;
  });
  await cluster.until(
    `${killed.length} processes of ${name} to end`,
    async () => !killed.some(isAlive),
  );
}

/** @returns the ids of the processes */
async function killProcesses(pod: Live, name: string): Promise<readonly number[]> {
  const container = containersOf(pod).find((one) => one.name === name);
  const id = container && idOf(container);
  if (!id) throw new Error(`${pod.metadata.name} has no running container ${name}`);
  const processes = (await processesOf([id])).map(([processId]) => processId);
  for (const processId of processes) kill(processId);
  if (processes.length === 0)
    throw new Error(`${pod.metadata.name}: no process of the container ${name}`);
  return processes;
}

/**
 * With the first process of a container the kernel ends the others: a process may have ended since
 * it was found.
 */
function kill(processId: number): void {
  try {
    process.kill(processId, 'SIGKILL');
  } catch (error) {
    if ((error as { readonly code?: string }).code !== 'ESRCH') throw error;
  }
}

/** Deletes a pod at once, as with its node: its processes get no SIGTERM. */
export async function killPod(cluster: E2e, pod: Live): Promise<void> {
  const { name, namespace = '' } = pod.metadata;
  await cluster.node.kubectl([
    ...['delete', 'pod', name, `--namespace=${namespace}`],
    ...['--grace-period=0', '--force', '--wait=false'],
  ]);
}

/** Deletes a pod as a user does: its processes get SIGTERM. */
export async function deletePod(cluster: E2e, { metadata }: Live): Promise<void> {
  await cluster.delete('Pod', metadata.namespace ?? '', metadata.name);
}

/** Waits until a container of the pod has been started again, and the pod is Ready. */
export async function restarted(cluster: E2e, pod: Live, name: string): Promise<void> {
  const before = containersOf(pod).find((container) => container.name === name)?.restartCount ?? 0;
  const { namespace = '', name: podName } = pod.metadata;
  await cluster.until(
    `${podName} to run ${name} again`,
    async () => {
      const now = await cluster.the('Pod', namespace, podName);
      const container = containersOf(now).find((found) => found.name === name);
      return (container?.restartCount ?? 0) > before && isReady(now);
    },
    120_000,
  );
}

/** Waits until all previous pods are replaced by as many Ready pods. */
export async function replaced(
  cluster: E2e,
  namespace: string,
  before: readonly Live[],
): Promise<void> {
  const old = new Set(before.map(({ metadata }) => metadata.uid));
  const apps = new Set(before.map(({ metadata }) => metadata.labels?.['app']));
  await cluster.until(
    `${before.length} pods to be replaced`,
    async () => {
      const now = lasting(await cluster.pods(namespace)).filter(({ metadata }) =>
        apps.has(metadata.labels?.['app']),
      );
      const waiting = now.filter((pod) => old.has(pod.metadata.uid) || !isReady(pod));
      if (waiting.length > 0) {
        throw new Error(`not yet: ${waiting.map(({ metadata }) => metadata.name).join(', ')}`);
      }
      return now.length === before.length;
    },
    180_000,
  );
}
