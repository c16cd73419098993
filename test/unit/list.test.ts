import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';

import { ResponseTooLarge } from '../../runner/api/api-error.js';
import type { Client, RequestOptions } from '../../runner/api/client.js';
import { listAll } from '../../runner/api/list.js';

const KIB = 1_024;

/** A collection of objects of these lengths. */
class Collection implements Pick<Client, 'request'> {
  /** The limit of each request, and the number of objects before it. */
  readonly requests: (readonly [limit: number, at: number])[] = [];

  constructor(private readonly lengths: readonly number[]) {}

  async request<T>(_: unknown, path: string, { query, maxBytes }: RequestOptions = {}): Promise<T> {
    const at = Number(query?.['continue'] ?? 0);
    const limit = Number(query?.['limit']);
    this.requests.push([limit, at]);
    const page = this.lengths.slice(at, at + limit);
    const length = page.reduce((sum, one) => sum + one, 0);
    await setImmediate();
    if (length > (maxBytes ?? Infinity)) throw new ResponseTooLarge(path, maxBytes ?? 0);
    const end = at + page.length;
    const items = page.map((_length, index) => ({ metadata: { name: String(at + index) } }));
    const metadata = {
      resourceVersion: '5',
      ...(end < this.lengths.length ? { continue: String(end) } : {}),
    };
    return { apiVersion: 'v1', kind: 'ConfigMapList', metadata, items } as T;
  }

  async names(): Promise<readonly string[]> {
    const { items } = await listAll(this, '/api/v1/configmaps');
    return items.map(({ metadata }) => metadata.name);
  }
}

const numbered = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, i) => String(i));

describe('a list', () => {
  test('of small objects has pages of 500', async () => {
    const collection = new Collection(Array<number>(1_100).fill(KIB));
    assert.deepEqual(await collection.names(), numbered(1_100));
    assert.deepEqual(collection.requests, [
      [500, 0],
      [500, 500],
      [500, 1_000],
    ]);
  });

  test('requests fewer of large objects, from the same page on, and more again after them', async () => {
    const lengths = [
      ...Array<number>(500).fill(KIB),
      ...Array<number>(30).fill(1_400 * KIB),
      ...Array<number>(600).fill(KIB),
    ];
    const collection = new Collection(lengths);
    assert.deepEqual(await collection.names(), numbered(1_130));
    const starts = collection.requests.filter(([, at]) => at === 500).map(([limit]) => limit);
    assert.deepEqual(
      starts,
      [500, 500, 250, 125, 62, 31, 15, 7],
      'the first bound, then the second',
    );
    const [last] = collection.requests.at(-1) ?? [];
    assert.ok(last !== undefined && last > 40, `the last limit is ${last}`);
  });

  test('has an object alone on its page, if need be', async () => {
    const lengths = Array<number>(8).fill(9 * KIB * KIB);
    assert.deepEqual(await new Collection(lengths).names(), numbered(8));
  });

  test('fails if one object alone is too large', async () => {
    const collection = new Collection([KIB, 17 * KIB * KIB]);
    await assert.rejects(collection.names(), ResponseTooLarge);
    assert.deepEqual(collection.requests.at(-1), [1, 1]);
  });
});

test('long pages of many lists are read two at a time', async () => {
  const collections = [1, 2, 3, 4, 5, 6].map(
    () => new Collection(Array<number>(40).fill(KIB * KIB)),
  );
  let inWork = 0;
  let most = 0;
  const request = async <T>(
    method: unknown,
    path: string,
    options: RequestOptions = {},
  ): Promise<T> => {
    const isLong = (options.maxBytes ?? 0) > 2 * KIB * KIB;
    if (isLong) most = Math.max(most, (inWork += 1));
    try {
      const collection = collections[Number(path)] ?? assert.fail(path);
      return await collection.request<T>(method, path, options);
    } finally {
      if (isLong) inWork -= 1;
    }
  };
  const lists = await Promise.all(
    collections.map((_, index) => listAll({ request }, String(index))),
  );
  assert.deepEqual(
    lists.map(({ items }) => items.length),
    [40, 40, 40, 40, 40, 40],
  );
  assert.equal(most, 2);
});
