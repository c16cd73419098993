import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { type Cluster, startCluster } from '../cluster/harness.js';
import { aBench, aSecret, aSite } from '../cluster/support/builders.js';
import { holdPods, release } from '../cluster/support/interference.js';
import { at, conditionOf, type Manifest, nameOf } from '../cluster/support/objects.js';

let cluster: Cluster;
let namespace: string;
before(async () => {
  cluster = await startCluster();
  namespace = await cluster.namespace();
  await cluster.operator([], { timeFactor: 5 });
  await cluster.apply(namespace, aBench('b'));
  await cluster.ready('AppBench', namespace, 'b');
});
after(() => cluster.stop());

/** A Secret that something refers to by name. */
interface Case {
  readonly name: string;
  readonly resource: Manifest;
  readonly path: string;
  readonly secret: string;
  readonly data: Readonly<Record<string, string>>;
  /** Whether only the init Jobs of sites read it, when they run. */
  readonly readLater?: true;
}

const CASES: readonly Case[] = [
  {
    name: 'a site’s administrator password',
    resource: aSite('s1', {
      bench: 'b',
      workloads: 'Shared',
      adminPasswordSecretRef: { name: 'admin' },
    }),
    path: 'spec.adminPasswordSecretRef.name',
    secret: 'admin',
    data: { password: 'one' },
  },
  {
    name: 'the credentials of a site’s prepared database',
    resource: aSite('s2', {
      bench: 'b',
      workloads: 'Shared',
      dbConfig: {
        mode: 'external',
        host: 'db.example.com',
        name: 'shop',
        secretRef: { name: 'shop-db' },
      },
    }),
    path: 'spec.dbConfig.secretRef.name',
    secret: 'shop-db',
    data: { password: 'one' },
  },
  {
    name: 'the root credentials of a bench’s external server',
    resource: aBench('b2', {
      dbConfig: { mode: 'external', host: 'db.example.com', rootSecretRef: { name: 'root' } },
    }),
    path: 'spec.dbConfig.rootSecretRef.name',
    secret: 'root',
    data: { password: 'one' },
    readLater: true,
  },
  {
    name: 'the URLs of a bench’s external Redis',
    resource: aBench('b3', { redisConfig: { external: { urlsSecretRef: { name: 'urls' } } } }),
    path: 'spec.redisConfig.external.urlsSecretRef.name',
    secret: 'urls',
    data: { cache: 'redis://r:1', queue: 'redis://r:2' },
  },
];

const missing = (secret: string, path: string): string =>
  `${path}: there is no Secret "${secret}" in namespace ${namespace}; create it`;

describe('references', { concurrency: true }, () => {
  describe('a Secret that is referred to', { concurrency: true }, () => {
    for (const { name, resource, path, secret, data, readLater } of CASES) {
      const { kind, metadata } = resource;
      const job = `${metadata.name}-init`;

      const again = readLater ? '' : ', and again when it changes';
      test(`is awaited, and used as soon as it exists${again}: ${name}`, async () => {
        await cluster.apply(namespace, resource);
        const pending = await cluster.becomes(kind, namespace, metadata.name, {
          what: 'is Pending',
          check: (live) => Boolean(conditionOf(live, 'Ready')),
        });
        assert.equal(at(pending, 'status.phase'), 'Pending');
        assert.equal(conditionOf(pending, 'Ready')?.reason, 'SecretMissing');
        assert.equal(conditionOf(pending, 'Ready')?.message, missing(secret, path));
        assert.equal(conditionOf(pending, 'Stalled'), undefined, 'it goes on by itself');
        const children = (await cluster.children(namespace)).map(nameOf);
        assert.deepEqual(
          children.filter((child) => child.includes(`/${metadata.name}-`)),
          [],
        );

        await cluster.apply(namespace, aSecret(secret, data));
        // Nothing polls: it is seen at once.
        await cluster.becomes(kind, namespace, metadata.name, {
          what: 'goes on',
          check: (live) => at(live, 'status.phase') !== 'Pending',
          timeoutMs: 30_000,
        });
        await cluster.ready(kind, namespace, metadata.name);

        if (readLater) return;
        const { uid } = (await cluster.the('Job', namespace, job)).metadata;
        await cluster.apply(namespace, aSecret(secret, { ...data, password: 'two', cache: 'x' }));
        await cluster.until('its init Job runs again', async () => {
          const now = await cluster.get('Job', namespace, job);
          return now && now.metadata.uid !== uid;
        });
        await cluster.ready(kind, namespace, metadata.name);
      });
    }

    test('is a claim too, of an access mode that fits, and outlives the bench', async () => {
      const claim = (accessMode: string): Manifest => ({
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'files' },
        spec: { accessModes: [accessMode], resources: { requests: { storage: '1Gi' } } },
      });
      const waits = (reason: string, message: RegExp) =>
        cluster.becomes('AppBench', namespace, 'b4', {
          what: reason,
          check: (live) => {
            const ready = conditionOf(live, 'Ready');
            return ready?.reason === reason && message.test(ready.message);
          },
        });
      await cluster.apply(
        namespace,
        aBench('b4', { storage: { existingClaim: 'files' }, deletionPolicy: 'Delete' }),
      );
      await waits('ClaimMissing', /^spec\.storage\.existingClaim: there is no .*"files"/);
      await cluster.apply(namespace, claim('ReadWriteOnce'));
      await waits('ClaimUnusable', /has access mode ReadWriteOnce, not ReadWriteMany/);
      await cluster.delete('PersistentVolumeClaim', namespace, 'files');
      await waits('ClaimMissing', /"files"/);
      await cluster.apply(namespace, claim('ReadWriteMany'));
      await cluster.ready('AppBench', namespace, 'b4');
      assert.equal(await cluster.get('PersistentVolumeClaim', namespace, 'b4-sites'), undefined);
      const before = await cluster.the('PersistentVolumeClaim', namespace, 'files');
      const writers = before.metadata.managedFields?.map(({ manager }) => manager) ?? [];
      assert.ok(!writers.includes('app-operator'), String(writers));
      await cluster.delete('AppBench', namespace, 'b4');
      await cluster.deleted('AppBench', namespace, 'b4');
      const { metadata } = await cluster.the('PersistentVolumeClaim', namespace, 'files');
      assert.deepEqual(
        [metadata.uid, metadata.deletionTimestamp],
        [before.metadata.uid, undefined],
      );
    });

    test('is reported as missing when it is deleted, and workloads keep running', async () => {
      const secret = 'short-lived';
      await cluster.apply(
        namespace,
        aSecret(secret, { password: 'x' }),
        aSite('s3', { bench: 'b', adminPasswordSecretRef: { name: secret } }),
      );
      await cluster.ready('AppSite', namespace, 's3');
      const { uid } = (await cluster.the('Deployment', namespace, 's3-gunicorn')).metadata;
      await cluster.delete('Secret', namespace, secret);
      const site = await cluster.becomes('AppSite', namespace, 's3', {
        what: 'misses it',
        check: (live) => conditionOf(live, 'Ready')?.reason === 'SecretMissing',
      });
      assert.equal(at(site, 'status.phase'), 'Pending');
      const { metadata } = await cluster.the('Deployment', namespace, 's3-gunicorn');
      assert.deepEqual([metadata.uid, metadata.deletionTimestamp], [uid, undefined]);
      await cluster.apply(namespace, aSecret(secret, { password: 'x' }));
      await cluster.ready('AppSite', namespace, 's3');
    });
  });

  describe('a bench that is referred to', { concurrency: true }, () => {
    test('is awaited until it is Ready', async () => {
      await cluster.apply(namespace, aSite('s4', { bench: 'later', workloads: 'Shared' }));
      await cluster.becomes('AppSite', namespace, 's4', {
        what: 'is Pending',
        check: (live) => conditionOf(live, 'Ready')?.reason === 'BenchMissing',
      });
      const hold = await holdPods(cluster, { 'job-name': 'later-init' });
      await cluster.apply(namespace, aBench('later'));
      await cluster.becomes('AppSite', namespace, 's4', {
        what: 'waits for the bench',
        check: (live) =>
          conditionOf(live, 'Ready')?.message === 'waiting for bench later to be ready',
        timeoutMs: 30_000,
      });
      await release(cluster, hold);
      await cluster.ready('AppSite', namespace, 's4');
    });

    test('is not found in another namespace', async () => {
      const other = await cluster.namespace();
      await cluster.apply(other, aSite('s5', { bench: 'b' }));
      const site = await cluster.becomes('AppSite', other, 's5', {
        what: 'is Pending',
        check: (live) => Boolean(conditionOf(live, 'Ready')),
      });
      assert.equal(
        conditionOf(site, 'Ready')?.message,
        `spec.benchRef.name: there is no AppBench "b" in namespace ${other}`,
      );
      assert.deepEqual(await cluster.children(other), []);
    });
  });

  describe('a Secret that is generated', { concurrency: 1 }, () => {
    before(async () => {
      await cluster.apply(namespace, aBench('g'), aSite('gs', { bench: 'g' }));
      await settled();
    });
    const settled = async (): Promise<void> => {
      await cluster.ready('AppBench', namespace, 'g');
      await cluster.ready('AppSite', namespace, 'gs');
    };
    const valueOf = async (name: string): Promise<unknown> =>
      (await cluster.the('Secret', namespace, name)).data;

    test('keeps a password that a user sets, and the init Job runs again to set it', async () => {
      const data = { password: Buffer.from('of my own').toString('base64') };
      const name = 'gs-admin-password';
      const job = await cluster.the('Job', namespace, 'gs-init');
      await cluster.patch('Secret', namespace, name, { data });
      await cluster.until('the init Job runs again', async () => {
        const { metadata } = await cluster.the('Job', namespace, 'gs-init');
        return metadata.uid !== job.metadata.uid;
      });
      await settled();
      const label = 'app.kubernetes.io/component';
      await cluster.patch('Secret', namespace, name, { metadata: { labels: { [label]: 'x' } } });
      await cluster.until('the Secret is repaired', async () => {
        const { metadata } = await cluster.the('Secret', namespace, name);
        return metadata.labels?.[label] === 'admin-password';
      });
      assert.deepEqual(await valueOf(name), data);
    });

    test('is a user’s where a user has created it before the site: it stays as it is', async () => {
      const name = 'own-admin-password';
      await cluster.apply(namespace, aSecret(name, { password: 'mine' }));
      const before = await cluster.the('Secret', namespace, name);
      const site = aSite('own', { bench: 'g', workloads: 'Shared', deletionPolicy: 'Delete' });
      await cluster.apply(namespace, site);
      await cluster.ready('AppSite', namespace, 'own');
      await cluster.delete('AppSite', namespace, 'own');
      await cluster.until('the site is deleted', async () => {
        return (await cluster.get('AppSite', namespace, 'own')) === undefined;
      });
      const after = await cluster.the('Secret', namespace, name);
      assert.equal(after.metadata.resourceVersion, before.metadata.resourceVersion);
    });

    for (const name of ['gs-admin-password', 'gs-db', 'gs-encryption-key']) {
      test(`is generated again when it is deleted, and its site uses the new value (${name})`, async () => {
        const before = await valueOf(name);
        const job = await cluster.the('Job', namespace, 'gs-init');
        await cluster.delete('Secret', namespace, name);
        await cluster.until('it has another value', async () => {
          assert.notDeepEqual(await valueOf(name), before);
          return true;
        });
        await cluster.until('the init Job runs again', async () => {
          const { metadata } = await cluster.the('Job', namespace, 'gs-init');
          return metadata.uid !== job.metadata.uid;
        });
        await settled();
      });
    }

    test('is generated again when it is deleted, and its readers restart', async () => {
      const templates = () =>
        Promise.all(
          [
            ['StatefulSet', 'g-redis'],
            ['Deployment', 'g-gunicorn'],
            ['Deployment', 'gs-worker-long'],
          ].map(async ([kind = '', name = '']) =>
            at(await cluster.the(kind, namespace, name), 'spec.template.metadata.annotations'),
          ),
        );
      const before = await templates();
      await cluster.delete('Secret', namespace, 'g-redis-auth');
      await cluster.until('all start again', async () => {
        for (const [index, template] of (await templates()).entries()) {
          assert.notDeepEqual(template, before[index]);
        }
        return true;
      });
      await settled();
    });
  });
});
