import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { type Cluster, startCluster } from '../cluster/harness.js';
import { aBench, aSecret, aSite } from '../cluster/support/builders.js';
import { holdPods, release } from '../cluster/support/interference.js';
import { at, conditionOf, nameOf } from '../cluster/support/objects.js';

interface Case {
  readonly name: string;
  readonly kind: 'AppBench' | 'AppSite';
  readonly patch: Readonly<Record<string, unknown>>;
  readonly deleted?: readonly string[];
  readonly made?: readonly string[];
}

/** The objects that are deleted when a feature is switched off, and no others: none of them is data. */
const FEATURES: readonly Case[] = [
  {
    name: 'a site’s own workloads are deleted when it shares its bench’s',
    kind: 'AppSite',
    patch: { workloads: 'Shared' },
    deleted: [
      'Deployment/s-gunicorn',
      'Deployment/s-worker-default',
      'Deployment/s-worker-long',
      'Deployment/s-worker-short',
      'PodDisruptionBudget/s-gunicorn',
      'Service/s-gunicorn',
    ],
  },
  {
    name: 'and come back when it has its own again',
    kind: 'AppSite',
    patch: { workloads: 'Dedicated' },
    made: [
      'Deployment/s-gunicorn',
      'Deployment/s-worker-default',
      'Deployment/s-worker-long',
      'Deployment/s-worker-short',
      'PodDisruptionBudget/s-gunicorn',
      'Service/s-gunicorn',
    ],
  },
  {
    name: 'the Ingress goes when it is disabled',
    kind: 'AppSite',
    patch: { ingress: { enabled: false } },
    deleted: ['Ingress/s-ingress'],
  },
  {
    name: 'disruption budgets go with the second replica',
    kind: 'AppBench',
    patch: { componentReplicas: { gunicorn: 1 } },
    deleted: ['PodDisruptionBudget/b-gunicorn', 'PodDisruptionBudget/s-gunicorn'],
  },
  {
    name: 'NetworkPolicies are deleted when they are off; that of data stays, and allows all ingress',
    kind: 'AppBench',
    patch: { networkPolicy: { enabled: false } },
    deleted: [
      'NetworkPolicy/b-deny-ingress',
      'NetworkPolicy/b-gunicorn',
      'NetworkPolicy/b-metrics',
      'NetworkPolicy/b-nginx',
      'NetworkPolicy/b-redis',
      'NetworkPolicy/b-socketio',
    ],
  },
  {
    name: 'and come back, with a limit to egress',
    kind: 'AppBench',
    patch: { networkPolicy: { enabled: true, egress: { enabled: true } } },
    made: [
      'NetworkPolicy/b-deny-ingress',
      'NetworkPolicy/b-egress',
      'NetworkPolicy/b-gunicorn',
      'NetworkPolicy/b-metrics',
      'NetworkPolicy/b-nginx',
      'NetworkPolicy/b-redis',
      'NetworkPolicy/b-socketio',
    ],
  },
  {
    name: 'the limit to egress goes when nothing asks for it',
    kind: 'AppBench',
    patch: { networkPolicy: null },
    deleted: ['NetworkPolicy/b-egress'],
  },
];
/** The same with data beside it, which the deletion policy is about. */
const DATA_CASES: readonly Case[] = [
  {
    name: 'Redis is deleted when it is external, and the claim of its queue is kept',
    kind: 'AppBench',
    patch: { redisConfig: { external: { urlsSecretRef: { name: 'urls' } } } },
    deleted: [
      'NetworkPolicy/b-redis',
      'Secret/b-redis-auth',
      'Service/b-redis',
      'StatefulSet/b-redis',
    ],
  },
  {
    name: 'and comes back when it is not',
    kind: 'AppBench',
    patch: { redisConfig: null },
    made: [
      'NetworkPolicy/b-redis',
      'Secret/b-redis-auth',
      'Service/b-redis',
      'StatefulSet/b-redis',
    ],
  },
  {
    name: 'a generated password stays when the spec names it',
    kind: 'AppSite',
    patch: { adminPasswordSecretRef: { name: 's-admin-password' } },
  },
  {
    name: 'a generated password stays when another one is chosen: it is data',
    kind: 'AppSite',
    patch: { adminPasswordSecretRef: { name: 'chosen' } },
  },
  {
    name: 'the password of a server stays when the spec names it for the next one',
    kind: 'AppBench',
    patch: {
      dbConfig: { mode: 'external', host: 'db.example.com', rootSecretRef: { name: 'b-db-root' } },
    },
  },
  {
    name: 'the database stays when another server is used, with all that protects it: it is data',
    kind: 'AppBench',
    patch: {
      dbConfig: { mode: 'external', host: 'db.example.com', rootSecretRef: { name: 'root' } },
    },
  },
];

const DATA = [
  'NetworkPolicy/b-db',
  'PersistentVolumeClaim/b-db-data',
  'PersistentVolumeClaim/b-redis-data',
  'PersistentVolumeClaim/b-sites',
  'Secret/b-db-root',
  'Secret/s-admin-password',
  'Secret/s-db',
  'Secret/s-encryption-key',
  'Service/b-db',
  'StatefulSet/b-db',
];

let cluster: Cluster;
before(async () => {
  cluster = await startCluster();
  await cluster.operator([], { timeFactor: 5 });
});
after(() => cluster.stop());

describe('pruning', { concurrency: true }, () => {
  for (const deletionPolicy of ['Retain', 'Delete']) {
    describe(`what is switched off is pruned (${deletionPolicy}):`, { concurrency: 1 }, () => {
      let namespace: string;
      before(async () => {
        namespace = await cluster.namespace();
        await cluster.apply(
          namespace,
          aSecret('chosen', { password: 'p' }),
          aSecret('root', { password: 'p' }),
          aSecret('urls', { cache: 'redis://r:1', queue: 'redis://r:2' }),
          aBench('b', { deletionPolicy, componentReplicas: { gunicorn: 2 } }),
          aSite('s', { bench: 'b', deletionPolicy, ingress: { enabled: true } }),
        );
        await settled();
      });
      const settled = async (): Promise<void> => {
        await cluster.ready('AppBench', namespace, 'b');
        await cluster.ready('AppSite', namespace, 's');
      };
      const present = async (): Promise<Map<string, string | undefined>> =>
        new Map(
          (await cluster.everything(namespace))
            // A Job that runs again is another object.
            .filter(({ kind }) => kind !== 'Job')
            .map((object) => [nameOf(object), object.metadata.uid]),
        );

      const cases = deletionPolicy === 'Delete' ? DATA_CASES : [...FEATURES, ...DATA_CASES];
      for (const { name, kind, patch, deleted = [], made = [] } of cases) {
        test(name, async () => {
          const before = await present();
          await cluster.patch(kind, namespace, kind === 'AppBench' ? 'b' : 's', { spec: patch });
          await settled();
          const now = await present();
          const without = [...before.keys()].filter((child) => !now.has(child));
          assert.deepEqual(without.sort(), deleted);
          assert.deepEqual([...now.keys()].filter((child) => !before.has(child)).sort(), made);
          for (const [child, uid] of now) {
            if (before.has(child)) assert.equal(uid, before.get(child), `${child} is another one`);
          }
        });
      }

      test('and the proxy sends requests where they are answered', async () => {
        const config = async (): Promise<string> =>
          JSON.stringify((await cluster.the('ConfigMap', namespace, 'b-nginx')).data);
        assert.match(await config(), /s-gunicorn/);
        await cluster.patch('AppSite', namespace, 's', { spec: { workloads: 'Shared' } });
        await settled();
        await cluster.until('the proxy knows', async () => {
          const shared = await config();
          assert.doesNotMatch(shared, /s-gunicorn/);
          assert.match(shared, /s\.example\.com/);
          return true;
        });
      });

      test('and the data is deleted or kept when they are deleted', async () => {
        await cluster.delete('AppSite', namespace, 's');
        await cluster.deleted('AppSite', namespace, 's');
        await cluster.delete('AppBench', namespace, 'b');
        await cluster.deleted('AppBench', namespace, 'b');
        const ours = /\/[bs]-/;
        await cluster.until('the unwanted children are deleted', async () => {
          const left = (await cluster.everything(namespace)).map(nameOf);
          assert.deepEqual(
            left.filter((child) => ours.test(child)).sort(),
            deletionPolicy === 'Delete' ? [] : DATA,
          );
          return true;
        });
      });
    });
  }

  describe('what is not yet, or not at all, to be pruned:', { concurrency: 1 }, () => {
    let namespace: string;
    before(async () => {
      namespace = await cluster.namespace();
      const sites = ['slow', 's'].map((name) => aSite(name, { bench: 'busy' }));
      await cluster.apply(namespace, aBench('busy'), ...sites);
      for (const name of ['slow', 's']) await cluster.ready('AppSite', namespace, name);
    });

    test('nothing is pruned before everything that is wanted is applied', async () => {
      const hold = await holdPods(cluster, { 'job-name': 'slow-init' });
      const before = await cluster.the('Job', namespace, 'slow-init');
      await cluster.patch('AppSite', namespace, 'slow', { spec: { workloads: 'Shared' } });
      await cluster.until('the init Job runs again', async () => {
        const { metadata } = await cluster.the('Job', namespace, 'slow-init');
        return metadata.uid !== before.metadata.uid;
      });
      await sleep(1_000);
      const deployment = await cluster.the('Deployment', namespace, 'slow-gunicorn');
      assert.equal(deployment.metadata.deletionTimestamp, undefined);
      const site = await cluster.the('AppSite', namespace, 'slow');
      assert.equal(at(site, 'status.phase'), 'Updating');
      await release(cluster, hold);
      await cluster.ready('AppSite', namespace, 'slow');
      await cluster.deleted('Deployment', namespace, 'slow-gunicorn');
    });

    test('a user’s copy of a child is not pruned', async () => {
      for (const [kind, name] of [
        ['ConfigMap', 'busy-config'],
        ['Secret', 'busy-redis-auth'],
        ['Service', 's-gunicorn'],
      ] as const) {
        const { apiVersion, metadata, data, spec } = await cluster.the(kind, namespace, name);
        const { labels = {}, annotations = {} } = metadata;
        await cluster.create(namespace, {
          apiVersion,
          kind,
          metadata: { name: `copy-of-${name}`, labels, annotations },
          ...(data ? { data } : {}),
          ...(spec ? { spec: { selector: spec['selector'], ports: spec['ports'] } } : {}),
        });
      }
      // A full pass over both.
      await cluster.patch('AppBench', namespace, 'busy', {
        spec: { componentReplicas: { nginx: 2 } },
      });
      await cluster.patch('AppSite', namespace, 's', {
        spec: { componentReplicas: { gunicorn: 2 } },
      });
      await cluster.ready('AppBench', namespace, 'busy');
      await cluster.ready('AppSite', namespace, 's');
      await sleep(1_000);
      const copies = (await cluster.everything(namespace))
        .map(nameOf)
        .filter((name) => name.includes('copy-of'));
      assert.deepEqual(copies.sort(), [
        'ConfigMap/copy-of-busy-config',
        'Secret/copy-of-busy-redis-auth',
        'Service/copy-of-s-gunicorn',
      ]);
    });

    test('nothing of a site is pruned while its bench is not ready', async () => {
      const hold = await holdPods(cluster, { 'job-name': 'busy-init' });
      await cluster.patch('AppBench', namespace, 'busy', { spec: { appsJSON: '["erpnext"]' } });
      // They come by two watches: the site's change must not be observed first.
      await cluster.becomes('AppBench', namespace, 'busy', {
        what: 'is not ready',
        check: (bench) => Object.is(at(bench, 'status.ready'), false),
      });
      await cluster.patch('AppSite', namespace, 's', { spec: { workloads: 'Shared' } });
      await cluster.becomes('AppSite', namespace, 's', {
        what: 'waits for its bench',
        check: (site) =>
          conditionOf(site, 'Ready')?.message === 'waiting for bench busy to be ready',
      });
      await sleep(1_000);
      assert.ok(await cluster.get('Deployment', namespace, 's-gunicorn'));
      await release(cluster, hold);
      await cluster.ready('AppSite', namespace, 's');
      await cluster.deleted('Deployment', namespace, 's-gunicorn');
    });
  });
});
