import { readdir, readFile } from 'node:fs/promises';

import { at, type Live } from '../../cluster/support/objects.js';

export interface ContainerStatus {
  readonly name: string;
  readonly containerID?: string;
  readonly restartCount: number;
  readonly ready: boolean;
}

export function containersOf(pod: Live): readonly ContainerStatus[] {
  return (at(pod, 'status.containerStatuses') ?? []) as ContainerStatus[];
}

/** As the control groups of its processes have it; undefined before its first start. */
export function idOf({ containerID }: ContainerStatus): string | undefined {
  return containerID?.split('//')[1];
}

/** The numbers of all processes of some containers, each with its container's id. */
export async function processesOf(
  ids: readonly string[],
): Promise<readonly (readonly [process: number, id: string])[]> {
  const entries = (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry));
  const found = entries.map(async (entry) => {
    const cgroup = await readFile(`/proc/${entry}/cgroup`, 'utf8').catch(() => '');
    const id = ids.find((one) => cgroup.includes(one));
    return id === undefined ? [] : [[Number(entry), id] as const];
  });
  return (await Promise.all(found)).flat();
}
