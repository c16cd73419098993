/** Objects of a cluster, for tests of the status tree. */
import type { KubeObject } from '../../constructs/kit/object.js';
import { listings } from '../../cli/kube/kinds.js';
import { ClusterSnapshot } from '../../cli/kube/snapshot.js';
import type { Node } from '../../cli/commands/status/tree-node.js';
import type { Selection } from '../../cli/kube/kind-names.js';
import { treesOf, type TreeProps } from '../../cli/commands/status/tree.js';

const GROUP = 'app-operator.io';
const API_VERSION = `${GROUP}/v1alpha1`;

type Live = KubeObject & Readonly<Record<string, unknown>>;

/** The trees of objects. */
export function statusOf(
  objects: readonly KubeObject[],
  props: Partial<TreeProps> = {},
  selection: Selection = {},
): readonly Node[] {
  const snapshot = new ClusterSnapshot();
  for (const { kind } of listings(undefined, props.kinds)) {
    const isOfKind = (one: KubeObject) =>
      one.kind === kind.kind && one.apiVersion === kind.apiVersion;
    snapshot.replace(kind, objects.filter(isOfKind));
  }
  return treesOf(snapshot, { apiGroup: GROUP, ...props }, selection);
}

const ready = (since: string, status = 'True', message = '') => ({
  type: 'Ready',
  status,
  reason: 'X',
  message,
  lastTransitionTime: since,
});

export function bench(): Live & { readonly status: unknown } {
  return {
    apiVersion: API_VERSION,
    kind: 'AppBench',
    metadata: { name: 'b', namespace: 'ns', generation: 1, uid: 'bench-uid' },
    spec: { frameworkVersion: 'version-15' },
    status: {
      phase: 'Ready',
      observedGeneration: 1,
      sites: 1,
      conditions: [ready('2026-01-01T11:00:00Z')],
    },
  };
}

export function site(name = 's', ofBench = 'b'): Live {
  return {
    apiVersion: API_VERSION,
    kind: 'AppSite',
    metadata: { name, namespace: 'ns', generation: 1, uid: `${name}-uid` },
    spec: { benchRef: { name: ofBench }, siteName: `${name}.example.com` },
    status: {
      phase: 'Ready',
      observedGeneration: 1,
      siteURL: `http://${name}.example.com`,
      conditions: [ready('2026-01-01T11:30:00Z')],
    },
  };
}

/** A site whose init Job has failed. */
export function failing(healthy: Live): Live {
  const message = 'Job s-init: Job has reached the specified backoff limit: no database';
  const since = '2026-01-01T11:55:00Z';
  const conditions = [
    ready(since, 'False', message),
    { ...ready(since, 'True', message), type: 'Stalled' },
  ];
  return { ...healthy, status: { phase: 'Failed', observedGeneration: 1, conditions } };
}

export function backup(name: string, lastSuccessfulTime?: string): Live {
  return {
    apiVersion: API_VERSION,
    kind: 'SiteBackup',
    metadata: { name, namespace: 'ns', generation: 1 },
    spec: { siteRef: { name: 's' } },
    status: {
      phase: 'Succeeded',
      observedGeneration: 1,
      ...(lastSuccessfulTime === undefined ? {} : { lastSuccessfulTime }),
      conditions: [ready('2026-01-01T11:00:00Z')],
    },
  };
}

function child(
  apiVersion: string,
  kind: string,
  name: string,
  owner: readonly [string, string],
): Live {
  const [ownerKind, ownerName] = owner;
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      namespace: 'ns',
      generation: 1,
      uid: `${name}-uid`,
      creationTimestamp: '2026-01-01T09:00:00Z',
      labels: { [`${GROUP}/owner`]: `${ownerKind}.${ownerName}` },
    },
  };
}

const OF_BENCH = ['AppBench', 'b'] as const;

export const config = (): Live => child('v1', 'ConfigMap', 'b-config', OF_BENCH);
export const secret = (): Live => child('v1', 'Secret', 'b-db-root', OF_BENCH);

export function database(): Live {
  return {
    ...child('apps/v1', 'StatefulSet', 'b-db', OF_BENCH),
    spec: { replicas: 1 },
    status: { observedGeneration: 1, readyReplicas: 1 },
  };
}

export function worker(): Live {
  return {
    ...child('apps/v1', 'Deployment', 'b-worker-long', OF_BENCH),
    spec: { replicas: 1 },
    status: {
      observedGeneration: 1,
      replicas: 1,
      updatedReplicas: 1,
      availableReplicas: 1,
      readyReplicas: 1,
    },
  };
}

export function init(): Live {
  return {
    ...child('batch/v1', 'Job', 'b-init', OF_BENCH),
    status: {
      completionTime: '2026-01-01T10:00:00Z',
      conditions: [{ type: 'Complete', status: 'True' }],
    },
  };
}

export function failedJob(): Live {
  const lastTransitionTime = '2026-01-01T11:54:00Z';
  const message = 'Job has reached the specified backoff limit';
  return {
    ...child('batch/v1', 'Job', 's-init', ['AppSite', 's']),
    status: { conditions: [{ type: 'Failed', status: 'True', message, lastTransitionTime }] },
  };
}

export function failedPod(): Live {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 's-init-x',
      namespace: 'ns',
      uid: 'pod-uid',
      ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name: 's-init', uid: 'x' }],
    },
    status: {
      phase: 'Failed',
      conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: '2026-01-01T11:53:00Z' }],
      containerStatuses: [
        {
          name: 'init',
          restartCount: 0,
          state: { terminated: { exitCode: 3, message: 'app-operator: no database' } },
        },
      ],
    },
  };
}
