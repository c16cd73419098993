import type { AdminClient, KubernetesObject } from './admin-client.js';
import { withBackoff } from './backoff.js';
import { pingNode, resendStages } from './kwok-stages.js';

/** Creates nodes for kwok to play, each with room for thousands of pods. */
export async function createNodes(api: AdminClient, count: number): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, (_, index) => api.ensure('/api/v1/nodes', node(index))),
  );
}

/**
 * Waits until every node is Ready, that is until kwok plays it. kwok may have looked at its Stages,
 * and at the nodes, too early (see `stagesKnown`): both are changed again, less and less often.
 */
export async function nodesReady(api: AdminClient, count: number): Promise<void> {
  let waiting: readonly NodeObject[] = [];
  const remind = withBackoff(async () => {
    await resendStages(api);
    await Promise.all(waiting.map(({ metadata: { name } }) => pingNode(api, name)));
  });
  await api.until('the nodes to be Ready', async () => {
    const { items } = (await api.request('GET', '/api/v1/nodes')) as NodeList;
    waiting = items.filter((item) => !isReady(item));
    if (waiting.length > 0) await remind();
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
