import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { metadataKeysFor } from '../../constructs/kit/metadata-keys.js';
import { keyOfObject, type KubeObject, type Resource } from '../../constructs/kit/object.js';
import { KINDS } from '../../constructs/registry.js';
import { shareOf } from '../../runner/shards/balance.js';
import {
  ALL_BUCKETS,
  bucketOf,
  BUCKETS,
  bucketsByShard,
  shardOf,
} from '../../runner/shards/buckets.js';
import { Ownership, SETTLE_MS, type ShardId } from '../../runner/shards/ownership.js';

describe('buckets', () => {
  test('never change: children have them as labels', () => {
    assert.deepEqual(
      ['default/bench', 'default/production', 'a/b', 'a/c'].map(bucketOf),
      [71, 19, 192, 233],
    );
    assert.deepEqual(
      [1, 2, 3, 4].map((shards) => shardOf(7, shards)),
      [0, 1, 1, 1],
    );
  });
  test('belong to one shard each', () => {
    for (const shards of [1, 2, 3, 10, 64]) {
      const byShard = bucketsByShard(shards);
      assert.ok([...byShard.keys()].every((shard) => shard >= 0 && shard < shards));
      assert.deepEqual(
        [...byShard.values()].flat().sort((a, b) => a - b),
        ALL_BUCKETS,
      );
    }
  });
  test('are divided evenly', () => {
    for (const shards of [2, 3, 4, 8]) {
      const counts = ALL_BUCKETS.reduce((sums, bucket) => {
        const shard = shardOf(bucket, shards);
        sums[shard] = (sums[shard] ?? 0) + 1;
        return sums;
      }, Array<number>(shards).fill(0));
      const fair = BUCKETS / shards;
      assert.ok(
        Math.max(...counts) < 1.35 * fair && Math.min(...counts) > 0.65 * fair,
        counts.join(),
      );
    }
  });
  for (const shards of [1, 2, 3, 7, 20]) {
    test(`another shard beside ${shards} takes its share, and nothing else moves`, () => {
      const moved = ALL_BUCKETS.filter(
        (bucket) => shardOf(bucket, shards) !== shardOf(bucket, shards + 1),
      );
      for (const bucket of moved) assert.equal(shardOf(bucket, shards + 1), shards);
      const share = BUCKETS / (shards + 1);
      assert.ok(moved.length > 0.5 * share && moved.length < 1.5 * share, `${moved.length}`);
    });
  }
});

describe('the share of a replica', () => {
  const shares = (replicas: readonly string[], holders: readonly (string | undefined)[]) =>
    Object.fromEntries(replicas.map((one) => [one, shareOf(one, { replicas, holders })]));
  const free = (shards: number) => Array<undefined>(shards).fill(undefined);

  test('is all of them for the only one', () => {
    assert.deepEqual(shares(['a'], free(3)), { a: 3 });
  });
  test('differs by one at most', () => {
    assert.deepEqual(shares(['a', 'b', 'c'], free(3)), { a: 1, b: 1, c: 1 });
    assert.deepEqual(shares(['a', 'b', 'c'], free(8)), { a: 3, b: 3, c: 2 });
    assert.deepEqual(shares(['a', 'b', 'c'], free(2)), { a: 1, b: 1, c: 0 });
  });
  test('stays where it is, if it may', () => {
    assert.deepEqual(shares(['a', 'b'], ['b', 'b', 'a']), { a: 1, b: 2 });
    assert.deepEqual(shares(['a', 'b', 'c'], ['c', 'b']), { a: 0, b: 1, c: 1 });
  });
  test('of a lost replica goes to the others', () => {
    assert.deepEqual(shares(['a', 'b'], ['a', 'b', 'lost']), { a: 2, b: 1 });
  });
  test('counts the asking replica, also before its Lease is listed', () => {
    assert.equal(shareOf('c', { replicas: ['a', 'b'], holders: ['a', 'b', 'b'] }), 1);
  });
  for (let replicas = 1; replicas < 8; replicas++) {
    test(`settles when one joins ${replicas} and when one is lost, with the fewest moves`, () => {
      const shards = 12;
      const names = Array.from({ length: replicas + 1 }, (_, index) => `r${index}`);
      const holders: (string | undefined)[] = free(shards);
      assert.equal(settle(names.slice(0, -1), holders), shards);
      const share = Math.floor(shards / names.length);
      assert.equal(settle(names, holders), share, 'only its share moves');
      const lost = holders.filter((holder) => holder === 'r0').length;
      assert.equal(settle(names.slice(1), holders), lost, 'only what it held moves');
    });
  }

  function release(one: string, replicas: readonly string[], holders: (string | undefined)[]) {
    const held = holders.flatMap((holder, shard) => (holder === one ? [shard] : []));
    for (const shard of held.slice(shareOf(one, { replicas, holders }))) holders[shard] = undefined;
  }

  /** @returns how many */
  function acquire(one: string, replicas: readonly string[], holders: (string | undefined)[]) {
    const lacking =
      shareOf(one, { replicas, holders }) - holders.filter((holder) => holder === one).length;
    const free = holders.flatMap((holder, shard) => (holder === undefined ? [shard] : []));
    const taken = free.slice(0, Math.max(0, lacking));
    for (const shard of taken) holders[shard] = one;
    return taken.length;
  }

  /** Releases and acquires until nothing changes. @returns how many shards moved */
  function settle(replicas: readonly string[], holders: (string | undefined)[]): number {
    let moves = 0;
    for (const [shard, holder] of holders.entries()) {
      if (holder !== undefined && !replicas.includes(holder)) holders[shard] = undefined;
    }
    for (let round = 0; round < 10; round++) {
      for (const one of replicas) release(one, replicas, holders);
      for (const one of replicas) moves += acquire(one, replicas, holders);
    }
    assert.ok(!holders.includes(undefined));
    return moves;
  }
});

describe('the owner of a resource', () => {
  const KEY = metadataKeysFor('app-operator.io').bucket;
  const objects = new Map<string, Map<string, KubeObject>>();
  let now = 0;
  const ownership = (shard: ShardId): Ownership =>
    new Ownership({
      ...{ kinds: KINDS, shard, bucketLabel: KEY },
      objects: (kind) => objects.get(kind) ?? new Map<string, KubeObject>(),
      now: () => now,
    });
  const of = (kind: string, name: string, spec: object): Resource => ({
    apiVersion: 'app-operator.io/v1alpha1',
    kind,
    metadata: { namespace: 'n', name },
    spec,
  });
  const put = (resource: Resource): void => {
    const { kind } = resource;
    const before = objects.get(kind) ?? new Map<string, KubeObject>();
    objects.set(kind, before.set(keyOfObject(resource), resource));
  };
  const SHARDS = 5;
  const all = Array.from({ length: SHARDS }, (_, index) => ownership({ index, shards: SHARDS }));
  const ownersOf = (resource: Resource): readonly number[] =>
    [...all.keys()].filter((index) => all[index]?.owns(resource));

  test('is that of its bench', () => {
    for (let index = 0; index < 20; index++) {
      const bench = of('AppBench', `b${index}`, {});
      const site = of('AppSite', `s${index}`, { benchRef: { name: `b${index}` } });
      put(site);
      const dependents = KINDS.map(({ definition }) => definition.kind)
        .filter((kind) => !kind.startsWith('App'))
        .map((kind) => of(kind, 'x', { siteRef: { name: `s${index}` } }));
      const owners = [bench, site, ...dependents].map(ownersOf);
      assert.equal(owners[0]?.length, 1);
      assert.deepEqual(new Set(owners.flat()).size, 1, JSON.stringify(owners));
      assert.ok(dependents.length > 4);
    }
  });
  test('exists also without a bench, a site or a valid spec', () => {
    for (const spec of [
      null,
      {},
      { siteRef: null },
      { siteRef: { name: 7 } },
      { siteRef: { name: 'none' } },
    ]) {
      assert.equal(ownersOf(of('SiteJob', 'j', spec as object)).length, 1, JSON.stringify(spec));
    }
    assert.equal(ownersOf(of('AppSite', 's', { benchRef: { name: 'none' } })).length, 1);
  });
  test('may change when its site appears: it waits', () => {
    const one = ownership({ index: 0, shards: SHARDS });
    const job = of('SiteJob', 'j', { siteRef: { name: 'late' } });
    assert.equal(one.settlesInMs(job), 0);
    const moved = one.moved('AppSite', 'n/late');
    assert.ok(
      moved.some(({ kind, index }) => kind === 'SiteJob' && index.values(job)[0] === 'n/late'),
    );
    assert.equal(one.settlesInMs(job), SETTLE_MS);
    now += SETTLE_MS;
    assert.equal(one.settlesInMs(job), 0);
    assert.deepEqual(one.moved('AppBench', 'n/b'), [], 'a site names its bench itself');
  });
  test('selects its children, and children without a valid bucket', () => {
    const parts = [0, 1, 2].map((index) => ownership({ index, shards: 3 }).selector);
    for (const bucket of ALL_BUCKETS) {
      const selecting = parts.filter((selector) => selects(selector, String(bucket)));
      assert.equal(selecting.length, 1, `bucket ${bucket}`);
    }
    for (const edited of ['256', '-1', 'x', '', '007', undefined]) {
      assert.ok(
        parts.every((selector) => selects(selector, edited)),
        String(edited),
      );
    }
    assert.ok(
      ALL_BUCKETS.every(
        (bucket) => !selects(ownership({ index: -1, shards: 3 }).selector, String(bucket)),
      ),
    );
  });
  test('keeps only its children of a kind that all shards watch', async () => {
    const byShard = bucketsByShard(3);
    const [own = -1, foreign = -1] = [0, 1].map((shard) => byShard.get(shard)?.[0]);
    const secret = (name: string, bucket?: string): KubeObject => ({
      ...{ apiVersion: 'v1', kind: 'Secret' },
      metadata: {
        name,
        namespace: 'n',
        ...(bucket === undefined ? {} : { labels: { [KEY]: bucket } }),
      },
    });
    const seen: string[] = [];
    const sink = ownership({ index: 0, shards: 3 }).ofOwn({
      replace: (all) =>
        void seen.push(`replace ${all.map(({ metadata }) => metadata.name).join()}`),
      upsert: ({ metadata }) => seen.push(`upsert ${metadata.name}`),
      remove: ({ metadata }) => seen.push(`remove ${metadata.name}`),
    });
    const all = [
      secret('a', String(own)),
      secret('b', String(foreign)),
      secret('c'),
      secret('d', 'x'),
    ];
    await sink.replace(all, '1');
    for (const one of all) sink.upsert(one);
    assert.deepEqual(seen, ['replace a,c,d', 'upsert a', 'remove b', 'upsert c', 'upsert d']);
  });

  function selects(selector: string, label: string | undefined): boolean {
    const values = /notin \((.*)\)$/.exec(selector)?.[1]?.split(',') ?? [];
    return label === undefined || !values.includes(label);
  }
});
