import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { type Cluster, startCluster } from './harness.js';
import { aBench, API_VERSION, aSite, aUser, WORKERS } from './support/builders.js';
import { at, conditionOf, type Live, type Manifest } from './support/objects.js';

/** Admission by the Pod Security Standard is the API server's own, so it is real here. */
const RESTRICTED = {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: 'restricted', labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
};
const CLAIM: Manifest = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name: 'backups' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
};
const siteRef = { name: 'shop' };
const resource = (kind: string, name: string, spec: object): Manifest => ({
  apiVersion: API_VERSION,
  kind,
  metadata: { name },
  spec,
});

describe('in a namespace that takes only restricted pods', () => {
  const { name: namespace } = RESTRICTED.metadata;
  let cluster: Cluster;
  before(async () => {
    cluster = await startCluster();
    await cluster.apply('', RESTRICTED);
    await cluster.until('its service account', () =>
      cluster.get('ServiceAccount', namespace, 'default'),
    );
    await cluster.operator([], { namespaces: [namespace] });
  });
  after(() => cluster.stop());

  /** The words of whoever could not make a pod. */
  const refusals = async (): Promise<string[]> =>
    (await cluster.list('Event', namespace))
      .map((event) => String(at(event, 'note') ?? at(event, 'message')))
      .filter((words) => words.includes('violates PodSecurity'));
  const podsOf = async (app: string): Promise<readonly Live[]> =>
    cluster.list('Pod', namespace, app);

  test('every workload and every Job of all kinds has its pods', async () => {
    await cluster.apply(
      namespace,
      CLAIM,
      aBench('b', WORKERS),
      aBench('pg', { ...WORKERS, dbConfig: { provider: 'postgres' } }),
      aSite('shop', { bench: 'b', ...WORKERS, dbConfig: { mode: 'dedicated' } }),
      aUser('ann'),
      resource('SiteJob', 'clear', { siteRef, command: ['clear-cache'] }),
      resource('SiteBackup', 'now', {
        siteRef,
        destination: { pvc: { claimName: 'backups' } },
        deletionPolicy: 'Delete',
      }),
    );
    await cluster.ready('AppBench', namespace, 'b');
    await cluster.ready('AppBench', namespace, 'pg');
    await cluster.ready('AppSite', namespace, 'shop');
    // Those of users, jobs and backups come once the site is Ready.
    await cluster.until('pods of all Jobs', async () => {
      const jobs = await cluster.list('Job', namespace);
      const idle = await Promise.all(
        jobs.map(async ({ metadata }) => {
          const pods = await podsOf(`job-name=${metadata.name}`);
          return pods.length > 0 ? [] : [metadata.name];
        }),
      );
      if (idle.flat().length > 0 || jobs.length < 6) {
        throw new Error(`of ${jobs.length} Jobs without pods: ${idle.flat().join(', ')}`);
      }
      return true;
    });
    assert.deepEqual(await refusals(), []);
  });

  test('and so have the Jobs of their deletion', async () => {
    await cluster.patch('AppSite', namespace, 'shop', { spec: { deletionPolicy: 'Delete' } });
    await cluster.ready('AppSite', namespace, 'shop');
    for (const [kind, name] of [
      ['SiteBackup', 'now'],
      ['AppSite', 'shop'],
    ] as const) {
      await cluster.delete(kind, namespace, name);
    }
    await cluster.until('the pod of the drop Job', async () => {
      if (!(await cluster.get('AppSite', namespace, 'shop'))) return true;
      return (await podsOf('job-name=shop-drop')).length > 0;
    });
    assert.deepEqual(await refusals(), []);
  });

  test('a bench that requests more gets no pods: the profile is enforced', async () => {
    const security = { securityContext: { allowPrivilegeEscalation: true } };
    await cluster.apply(namespace, aBench('lax', { security }));
    await cluster.until('a refusal', async () => (await refusals()).length > 0);
    assert.deepEqual(await podsOf('app=lax-redis'), []);
    const bench = await cluster.becomes('AppBench', namespace, 'lax', {
      what: 'says who refuses its pods',
      check: (live) => messageOf(live).includes('violates PodSecurity "restricted:latest"'),
    });
    assert.match(
      messageOf(bench),
      /StatefulSet lax-\w+: 0 of 1 replicas available: its pod is refused: /,
    );
    assert.doesNotMatch(messageOf(bench), /lax-\w+-0/);
  });

  test('a bench and a site are Ready in a namespace whose quota demands requests', async () => {
    const quota = {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'requests' },
      spec: { hard: { 'requests.cpu': '16', 'requests.memory': '32Gi' } },
    };
    await cluster.apply(namespace, quota);
    await cluster.becomes('ResourceQuota', namespace, 'requests', {
      what: 'is counted',
      check: (live) => Boolean(at(live, 'status.hard["requests.cpu"]')),
    });
    await cluster.apply(namespace, aBench('frugal'), aSite('thrifty', { bench: 'frugal' }));
    await cluster.ready('AppSite', namespace, 'thrifty');

    await cluster.apply(namespace, aBench('frugal', { componentResources: { nginx: {} } }));
    await cluster.becomes('AppBench', namespace, 'frugal', {
      what: 'says what the quota demands',
      check: (bench) =>
        messageOf(bench).includes('failed quota: requests: must specify requests.cpu'),
    });
    await cluster.apply(namespace, aBench('frugal'));
    await cluster.ready('AppBench', namespace, 'frugal', 180_000);
    await cluster.delete('ResourceQuota', namespace, 'requests');
  });

  test('a bench in a namespace with a full quota reports it, and is Ready once there is room', async () => {
    const quota = {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'full' },
      spec: { hard: { pods: '0' } },
    };
    await cluster.apply(namespace, quota);
    // The quota holds once its controller has counted.
    await cluster.becomes('ResourceQuota', namespace, 'full', {
      what: 'is counted',
      check: (live) => Boolean(at(live, 'status.hard.pods')),
    });
    await cluster.apply(namespace, aBench('late'));
    await cluster.becomes('AppBench', namespace, 'late', {
      what: 'says that the quota is full',
      check: (bench) =>
        messageOf(bench).includes('its pod is refused: forbidden: exceeded quota: full'),
    });
    await cluster.delete('ResourceQuota', namespace, 'full');
    // The StatefulSet's controller tries again by itself, after 20, 41 and 82 s.
    await cluster.ready('AppBench', namespace, 'late', 180_000);
  });
});

function messageOf(bench: Live): string {
  return conditionOf(bench, 'Ready')?.message ?? '';
}
