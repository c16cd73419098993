import type { Api, KubernetesObject } from './api.js';

/** Name of the first simulated node. */
export const FIRST_NODE = 'kwok-0';

/** Creates nodes for kwok to play, each with room for thousands of pods. */
export async function createNodes(api: Api, count: number): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, (_, index) => api.ensure('/api/v1/nodes', node(index))),
  );
}

/** Waits until every node is Ready, that is until kwok plays it. */
export async function nodesReady(api: Api, count: number): Promise<void> {
  await api.until('the nodes to be Ready', async () => {
    const list = (await api.request('GET', '/api/v1/nodes')) as NodeList;
    const ready = list.items.filter(({ status }) =>
      status.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True'),
    );
    return ready.length >= count;
  });
}

interface NodeList {
  readonly items: readonly {
    readonly status: {
      readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    };
  }[];
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
