import type { Api, KubernetesObject } from './api.js';

/** Name of the first simulated node. */
export const FIRST_NODE = 'kwok-0';

/** Creates nodes for kwok to play, each with room for thousands of pods. */
export async function createNodes(api: Api, count: number): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, (_, index) => api.ensure('/api/v1/nodes', node(index))),
  );
}

/** Annotation that is changed to make kwok look at a node again. */
export const PING = 'kwok.test/ping';

/**
 * Waits until every node is Ready, that is until kwok plays it. kwok looks at a node when it changes: one
 * that it saw before it knew the stages is changed again, less and less often: each change has kwok begin anew,
 * which on a busy machine may take it more than a second.
 */
export async function nodesReady(api: Api, count: number): Promise<void> {
  let pinged = performance.now();
  let pauseMs = 1_000;
  await api.until('the nodes to be Ready', async () => {
    const { items } = (await api.request('GET', '/api/v1/nodes')) as NodeList;
    const waiting = items.filter((item) => !isReady(item));
    if (waiting.length > 0 && performance.now() - pinged > pauseMs) {
      pinged = performance.now();
      pauseMs *= 2;
      const metadata = { annotations: { [PING]: String(pinged) } };
      await Promise.all(
        waiting.map(({ metadata: { name } }) =>
          api.mergePatch(`/api/v1/nodes/${name}`, { metadata }),
        ),
      );
    }
    return items.length - waiting.length >= count;
  });
}

function isReady({ status }: NodeObject): boolean {
  return (
    status.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ??
    false
  );
}

interface NodeObject {
  readonly metadata: { readonly name: string };
  readonly status: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

interface NodeList {
  readonly items: readonly NodeObject[];
}

function node(index: number): KubernetesObject {
  const name = `kwok-${index}`;
  const capacity = {
    cpu: '10k',
    memory: '100Ti',
    'ephemeral-storage': '100Ti',
    pods: '100k',
  };
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: {
        type: 'kwok',
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': 'amd64',
        'node.kubernetes.io/instance-type': 'kwok',
        'topology.kubernetes.io/region': 'local',
        'topology.kubernetes.io/zone': `local-${index}`,
      },
    },
    status: { capacity, allocatable: capacity },
  };
}
