import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { type Cluster, startCluster } from './harness.js';
import { aBench, aSite } from './support/builders.js';
import { at, conditionOf } from './support/objects.js';

let cluster: Cluster;
before(async () => {
  cluster = await startCluster({ audit: true });
  await cluster.operator([], { timeFactor: 5 });
});
after(() => cluster.stop());

const OF_BENCH = [
  ['PersistentVolumeClaim', 'b-sites'],
  ['PersistentVolumeClaim', 'b-db-data'],
  ['PersistentVolumeClaim', 'b-redis-data'],
  ['Secret', 'b-db-root'],
  ['Service', 'b-db'],
  ['StatefulSet', 'b-db'],
] as const;
const OF_SITE = [
  ['Secret', 's-admin-password'],
  ['Secret', 's-db'],
  ['Secret', 's-encryption-key'],
] as const;

/** What a user would miss: the very object, its bytes, where it is. */
async function treasure(
  namespace: string,
  objects: readonly (readonly [string, string])[],
): Promise<unknown> {
  const found = await Promise.all(
    objects.map(([kind, name]) => cluster.the(kind, namespace, name)),
  );
  return found.map(({ metadata, data, spec }) => ({
    name: metadata.name,
    uid: metadata.uid,
    data,
    volume: at(spec, 'volumeName'),
  }));
}

/** The bench is known before its site: a site that is seen first would be right to warn. */
async function apply(namespace: string): Promise<void> {
  await cluster.apply(namespace, aBench('b'));
  await cluster.becomes('AppBench', namespace, 'b', {
    what: 'is known',
    check: (live) => Boolean(conditionOf(live, 'Ready')),
  });
  await cluster.apply(namespace, aSite('s', { bench: 'b' }));
}

async function start(): Promise<string> {
  const namespace = await cluster.namespace();
  await apply(namespace);
  await cluster.ready('AppSite', namespace, 's');
  await cluster.ready('AppBench', namespace, 'b');
  return namespace;
}

/** Reasons of the warnings that a user was given. */
async function warnings(namespace: string): Promise<unknown[]> {
  return (await cluster.list('Event', namespace))
    .filter((event) => at(event, 'reportingController') === 'app-operator')
    .filter((event) => at(event, 'type') === 'Warning')
    .map((event) => at(event, 'reason'));
}

const uidOf = async (kind: string, namespace: string, name: string): Promise<unknown> =>
  at(await cluster.the(kind, namespace, name), 'metadata.uid');

describe('retained objects are adopted', { concurrency: true }, () => {
  test('by a bench and a site of the same names', async () => {
    const namespace = await start();
    const before = await treasure(namespace, [...OF_BENCH, ...OF_SITE]);
    const database = at(await cluster.the('AppSite', namespace, 's'), 'status.database.name');
    await cluster.delete('AppSite', namespace, 's');
    await cluster.deleted('AppSite', namespace, 's');
    // Until the operator has observed that, the bench rightly waits for its site, with a warning.
    await cluster.becomes('AppBench', namespace, 'b', {
      what: 'has no site',
      check: (live) => Object.is(at(live, 'status.sites'), 0),
    });
    await cluster.delete('AppBench', namespace, 'b');
    await cluster.deleted('AppBench', namespace, 'b');
    await cluster.deleted('Service', namespace, 'b-nginx');
    await apply(namespace);
    await cluster.ready('AppBench', namespace, 'b');
    const site = await cluster.ready('AppSite', namespace, 's');
    assert.deepEqual(await treasure(namespace, [...OF_BENCH, ...OF_SITE]), before);
    assert.equal(at(site, 'status.database.name'), database);
    assert.deepEqual(await warnings(namespace), []);
  });

  test('by a site that is created again while the old children are terminating', async () => {
    const namespace = await start();
    const before = await treasure(namespace, OF_SITE);
    const old = await uidOf('Deployment', namespace, 's-gunicorn');
    await cluster.delete('AppSite', namespace, 's');
    await cluster.until('it can be made again', async () => {
      const [site] = await cluster.apply(namespace, aSite('s', { bench: 'b' }));
      return site?.metadata.deletionTimestamp === undefined;
    });
    await cluster.ready('AppSite', namespace, 's');
    assert.deepEqual(await treasure(namespace, OF_SITE), before);
    assert.notEqual(await uidOf('Deployment', namespace, 's-gunicorn'), old);
    assert.deepEqual(await warnings(namespace), []);
  });

  test('by a bench that is created again at once', async () => {
    const namespace = await cluster.namespace();
    await cluster.apply(namespace, aBench('b'));
    await cluster.ready('AppBench', namespace, 'b');
    const before = await treasure(namespace, OF_BENCH);
    await cluster.delete('AppBench', namespace, 'b');
    await cluster.until('it can be made again', async () => {
      const [bench] = await cluster.apply(namespace, aBench('b'));
      return bench?.metadata.deletionTimestamp === undefined;
    });
    await cluster.ready('AppBench', namespace, 'b');
    assert.deepEqual(await treasure(namespace, OF_BENCH), before);
    assert.deepEqual(await warnings(namespace), []);
  });

  test('with a larger PersistentVolumeClaim where the spec requests more', async () => {
    const namespace = await cluster.namespace();
    await cluster.apply(namespace, aBench('b'));
    await cluster.ready('AppBench', namespace, 'b');
    await cluster.delete('AppBench', namespace, 'b');
    await cluster.deleted('AppBench', namespace, 'b');
    const claim = await uidOf('PersistentVolumeClaim', namespace, 'b-sites');
    await cluster.apply(namespace, aBench('b', { storage: { size: '20Gi' } }));
    await cluster.ready('AppBench', namespace, 'b');
    const now = await cluster.the('PersistentVolumeClaim', namespace, 'b-sites');
    assert.equal(now.metadata.uid, claim);
    assert.equal(at(now, 'spec.resources.requests.storage'), '20Gi');
  });

  test('and dropped with a site of the same name whose policy is Delete', async () => {
    const namespace = await start();
    await cluster.delete('AppSite', namespace, 's');
    await cluster.deleted('AppSite', namespace, 's');
    await cluster.apply(namespace, aSite('s', { bench: 'b', deletionPolicy: 'Delete' }));
    await cluster.ready('AppSite', namespace, 's');
    await cluster.delete('AppSite', namespace, 's');
    await cluster.deleted('AppSite', namespace, 's');
    await cluster.deleted('Secret', namespace, 's-db');
  });

  test('never by a site of another name', async () => {
    const namespace = await start();
    const before = await treasure(namespace, OF_SITE);
    await cluster.delete('AppSite', namespace, 's');
    await cluster.deleted('AppSite', namespace, 's');
    await cluster.apply(namespace, aSite('other', { bench: 'b', siteName: 's.example.com' }));
    await cluster.ready('AppSite', namespace, 'other');
    assert.deepEqual(await treasure(namespace, OF_SITE), before);
    assert.notEqual(
      at(await cluster.the('Secret', namespace, 'other-db'), 'data.password'),
      at(await cluster.the('Secret', namespace, 's-db'), 'data.password'),
    );
  });

  describe('never by another kind of the same name:', { concurrency: true }, () => {
    const SERVER = [
      ['PersistentVolumeClaim', 'shop-db-data'],
      ['Secret', 'shop-db-root'],
      ['Service', 'shop-db'],
      ['StatefulSet', 'shop-db'],
      ['NetworkPolicy', 'shop-db'],
    ] as const;
    const dedicated = { dbConfig: { mode: 'dedicated' }, workloads: 'Shared' };
    const kept = async (namespace: string): Promise<unknown> => {
      const found = await Promise.all(
        SERVER.map(([kind, name]) => cluster.the(kind, namespace, name)),
      );
      return found.map(({ metadata, data }) => ({
        name: metadata.name,
        uid: metadata.uid,
        labels: metadata.labels,
        owners: metadata.ownerReferences,
        data,
      }));
    };
    const taken = async (kind: string, namespace: string, owner: string): Promise<void> => {
      const words = `exists and was made for ${owner}/${namespace}/shop; `;
      await cluster.becomes(kind, namespace, 'shop', {
        what: `is Stalled: ${words}`,
        check: (live) => {
          const { reason, message } = conditionOf(live, 'Stalled') ?? {};
          return reason === 'NameTaken' && message?.includes(words) === true;
        },
      });
    };

    test('a site does not take, or delete, the database of a bench', async () => {
      const namespace = await cluster.namespace();
      await cluster.apply(namespace, aBench('shop'), aBench('b'));
      await cluster.ready('AppBench', namespace, 'shop');
      await cluster.ready('AppBench', namespace, 'b');
      await cluster.delete('AppBench', namespace, 'shop');
      await cluster.deleted('AppBench', namespace, 'shop');
      await cluster.deleted('Service', namespace, 'shop-nginx');
      const before = await kept(namespace);
      const site = aSite('shop', { bench: 'b', deletionPolicy: 'Delete', ...dedicated });
      await cluster.apply(namespace, site);
      await taken('AppSite', namespace, 'AppBench');
      await cluster.delete('AppSite', namespace, 'shop');
      await cluster.deleted('AppSite', namespace, 'shop');
      assert.deepEqual(await kept(namespace), before);
      await cluster.apply(namespace, aBench('shop'));
      await cluster.ready('AppBench', namespace, 'shop');
    });

    test('a bench does not take, or delete, the database of a site', async () => {
      const namespace = await cluster.namespace();
      const site = aSite('shop', { bench: 'b', ...dedicated });
      await cluster.apply(namespace, aBench('b'), site);
      await cluster.ready('AppSite', namespace, 'shop');
      await cluster.delete('AppSite', namespace, 'shop');
      await cluster.deleted('AppSite', namespace, 'shop');
      const before = await kept(namespace);
      await cluster.apply(namespace, aBench('shop', { deletionPolicy: 'Delete' }));
      await taken('AppBench', namespace, 'AppSite');
      await cluster.delete('AppBench', namespace, 'shop');
      await cluster.deleted('AppBench', namespace, 'shop');
      assert.deepEqual(await kept(namespace), before);
    });
  });
});
