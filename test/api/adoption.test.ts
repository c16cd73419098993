import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { type Cluster, startCluster } from '../cluster/harness.js';
import { aBench, aSite } from '../cluster/support/builders.js';
import { at, conditionOf, type Manifest } from '../cluster/support/objects.js';

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
const ofSite = (name: string): readonly (readonly [string, string])[] => [
  ['Secret', `${name}-admin-password`],
  ['Secret', `${name}-db`],
  ['Secret', `${name}-encryption-key`],
];

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
  await cluster.apply(namespace, aLargeBench());
  await cluster.becomes('AppBench', namespace, 'b', {
    what: 'is known',
    check: (live) => Boolean(conditionOf(live, 'Ready')),
  });
  await cluster.apply(namespace, aSite('s', { bench: 'b' }));
}

const aLargeBench = (): Manifest => aBench('b', { storage: { size: '20Gi' } });

/** Reasons of the warnings that a user was given of an object. */
async function warnings(namespace: string, kind: string, name: string): Promise<unknown[]> {
  return (await cluster.list('Event', namespace))
    .filter((event) => at(event, 'reportingController') === 'app-operator')
    .filter((event) => at(event, 'type') === 'Warning')
    .filter((event) => at(event, 'regarding.kind') === kind && at(event, 'regarding.name') === name)
    .map((event) => at(event, 'reason'));
}

const uidOf = async (kind: string, namespace: string, name: string): Promise<unknown> =>
  at(await cluster.the(kind, namespace, name), 'metadata.uid');

describe('retained objects are adopted', { concurrency: true }, () => {
  /** Has the bench `b`, which no test deletes. */
  let shared: string;
  before(async () => {
    shared = await cluster.namespace();
    await cluster.apply(shared, aBench('b'));
    await cluster.ready('AppBench', shared, 'b');
  });

  describe('by a bench', { concurrency: 1 }, () => {
    let namespace: string;
    before(async () => {
      namespace = await cluster.namespace();
      await cluster.apply(namespace, aBench('b'));
      await cluster.ready('AppBench', namespace, 'b');
    });

    test('that is created again at once', async () => {
      const before = await treasure(namespace, OF_BENCH);
      await cluster.delete('AppBench', namespace, 'b');
      await cluster.until('it can be made again', async () => {
        const [bench] = await cluster.apply(namespace, aBench('b'));
        return bench?.metadata.deletionTimestamp === undefined;
      });
      await cluster.ready('AppBench', namespace, 'b');
      assert.deepEqual(await treasure(namespace, OF_BENCH), before);
      assert.deepEqual(await warnings(namespace, 'AppBench', 'b'), []);
    });

    test('with a larger PersistentVolumeClaim where the spec requests more', async () => {
      await cluster.delete('AppBench', namespace, 'b');
      await cluster.deleted('AppBench', namespace, 'b');
      const claim = await uidOf('PersistentVolumeClaim', namespace, 'b-sites');
      await cluster.apply(namespace, aLargeBench());
      await cluster.ready('AppBench', namespace, 'b');
      const now = await cluster.the('PersistentVolumeClaim', namespace, 'b-sites');
      assert.equal(now.metadata.uid, claim);
      assert.equal(at(now, 'spec.resources.requests.storage'), '20Gi');
    });

    test('and a site of the same names', async () => {
      await apply(namespace);
      await cluster.ready('AppSite', namespace, 's');
      await cluster.ready('AppBench', namespace, 'b');
      const before = await treasure(namespace, [...OF_BENCH, ...ofSite('s')]);
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
      assert.deepEqual(await treasure(namespace, [...OF_BENCH, ...ofSite('s')]), before);
      assert.equal(at(site, 'status.database.name'), database);
      assert.deepEqual(await warnings(namespace, 'AppBench', 'b'), []);
      assert.deepEqual(await warnings(namespace, 'AppSite', 's'), []);
    });
  });

  test('by a site that is created again while the old children are terminating', async () => {
    const site = aSite('s', { bench: 'b' });
    await cluster.apply(shared, site);
    await cluster.ready('AppSite', shared, 's');
    const before = await treasure(shared, ofSite('s'));
    const old = await uidOf('Deployment', shared, 's-gunicorn');
    await cluster.delete('AppSite', shared, 's');
    await cluster.until('it can be made again', async () => {
      const [again] = await cluster.apply(shared, site);
      return again?.metadata.deletionTimestamp === undefined;
    });
    await cluster.ready('AppSite', shared, 's');
    assert.deepEqual(await treasure(shared, ofSite('s')), before);
    assert.notEqual(await uidOf('Deployment', shared, 's-gunicorn'), old);
    assert.deepEqual(await warnings(shared, 'AppSite', 's'), []);
    assert.deepEqual(await warnings(shared, 'AppBench', 'b'), []);
  });

  test('and dropped with a site of the same name whose policy is Delete', async () => {
    const spec = { bench: 'b', workloads: 'Shared' };
    await cluster.apply(shared, aSite('dropped', spec));
    await cluster.ready('AppSite', shared, 'dropped');
    await cluster.delete('AppSite', shared, 'dropped');
    await cluster.deleted('AppSite', shared, 'dropped');
    await cluster.apply(shared, aSite('dropped', { ...spec, deletionPolicy: 'Delete' }));
    await cluster.ready('AppSite', shared, 'dropped');
    await cluster.delete('AppSite', shared, 'dropped');
    await cluster.deleted('AppSite', shared, 'dropped');
    await cluster.deleted('Secret', shared, 'dropped-db');
  });

  test('never by a site of another name', async () => {
    const spec = { bench: 'b', workloads: 'Shared', siteName: 'one.example.com' };
    await cluster.apply(shared, aSite('one', spec));
    await cluster.ready('AppSite', shared, 'one');
    const before = await treasure(shared, ofSite('one'));
    await cluster.delete('AppSite', shared, 'one');
    await cluster.deleted('AppSite', shared, 'one');
    await cluster.apply(shared, aSite('other', spec));
    await cluster.ready('AppSite', shared, 'other');
    assert.deepEqual(await treasure(shared, ofSite('one')), before);
    assert.notEqual(
      at(await cluster.the('Secret', shared, 'other-db'), 'data.password'),
      at(await cluster.the('Secret', shared, 'one-db'), 'data.password'),
    );
  });

  describe('never by another kind of the same name:', { concurrency: true }, () => {
    const serverOf = (name: string): readonly (readonly [string, string])[] => [
      ['PersistentVolumeClaim', `${name}-db-data`],
      ['Secret', `${name}-db-root`],
      ['Service', `${name}-db`],
      ['StatefulSet', `${name}-db`],
      ['NetworkPolicy', `${name}-db`],
    ];
    const dedicated = { dbConfig: { mode: 'dedicated' }, workloads: 'Shared' };
    const kept = async (owner: string): Promise<unknown> => {
      const found = await Promise.all(
        serverOf(owner).map(([kind, name]) => cluster.the(kind, shared, name)),
      );
      return found.map(({ metadata, data }) => ({
        name: metadata.name,
        uid: metadata.uid,
        labels: metadata.labels,
        owners: metadata.ownerReferences,
        data,
      }));
    };
    const taken = async (kind: string, name: string, owner: string): Promise<void> => {
      const words = `exists and was made for ${owner}/${shared}/${name}; `;
      await cluster.becomes(kind, shared, name, {
        what: `is Stalled: ${words}`,
        check: (live) => {
          const { reason, message } = conditionOf(live, 'Stalled') ?? {};
          return reason === 'NameTaken' && message?.includes(words) === true;
        },
      });
    };

    test('a site does not take, or delete, the database of a bench', async () => {
      await cluster.apply(shared, aBench('shop'));
      await cluster.ready('AppBench', shared, 'shop');
      await cluster.delete('AppBench', shared, 'shop');
      await cluster.deleted('AppBench', shared, 'shop');
      await cluster.deleted('Service', shared, 'shop-nginx');
      const before = await kept('shop');
      const site = aSite('shop', { bench: 'b', deletionPolicy: 'Delete', ...dedicated });
      await cluster.apply(shared, site);
      await taken('AppSite', 'shop', 'AppBench');
      await cluster.delete('AppSite', shared, 'shop');
      await cluster.deleted('AppSite', shared, 'shop');
      assert.deepEqual(await kept('shop'), before);
      await cluster.apply(shared, aBench('shop'));
      await cluster.ready('AppBench', shared, 'shop');
    });

    test('a bench does not take, or delete, the database of a site', async () => {
      await cluster.apply(shared, aSite('mart', { bench: 'b', ...dedicated }));
      await cluster.ready('AppSite', shared, 'mart');
      await cluster.delete('AppSite', shared, 'mart');
      await cluster.deleted('AppSite', shared, 'mart');
      const before = await kept('mart');
      await cluster.apply(shared, aBench('mart', { deletionPolicy: 'Delete' }));
      await taken('AppBench', 'mart', 'AppSite');
      await cluster.delete('AppBench', shared, 'mart');
      await cluster.deleted('AppBench', shared, 'mart');
      assert.deepEqual(await kept('mart'), before);
    });
  });
});
