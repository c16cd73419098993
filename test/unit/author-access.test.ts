import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, test } from 'node:test';

import { DEFAULT_API_GROUP } from '../../constructs/kit/definition.js';
import type { Index } from '../../constructs/kit/kind.js';
import { keyOf, uidOf, type KubeObject } from '../../constructs/kit/object.js';
import { StaticReader } from '../../constructs/kit/static-reader.js';
import { KINDS } from '../../constructs/registry.js';
import { AuthorAccess, type Read } from '../../runner/admission/author-access.js';
import { AuthorReader, Hidden, keyOfRead } from '../../runner/admission/author-reader.js';
import { Busy, Gate } from '../../runner/admission/gate.js';
import { createLogger } from '../../runner/telemetry/log.js';

const log = createLogger({ logLevel: 'error', logEncoder: 'json' }, new PassThrough());
const SECRET: Read = { verb: 'get', kind: 'Secret', namespace: 'shop', name: 'a' };

interface Asked {
  readonly spec: {
    readonly user: string;
    readonly resourceAttributes: Readonly<Record<string, string>>;
  };
}

/** An authorizer that allows some, and what it was asked. */
function accessWith(allows: (attributes: Readonly<Record<string, string>>) => boolean) {
  const asked: Asked['spec'][] = [];
  const time = { now: 0 };
  const access = new AuthorAccess({
    client: {
      request: (_verb, _path, options) => {
        const { spec } = options?.body as Asked;
        asked.push(spec);
        const status = { allowed: allows(spec.resourceAttributes) };
        return Promise.resolve({ status } as never);
      },
    },
    kinds: KINDS,
    group: DEFAULT_API_GROUP,
    log,
    now: () => time.now,
  });
  return { access, asked, time };
}

describe('what an author may read', () => {
  test('is asked for a namespace, then for an object', async () => {
    const { access, asked } = accessWith(({ name }) => name === 'a');
    assert.equal(await access.allows({ username: 'ann' }, SECRET), true);
    const all = { group: '', version: 'v1', resource: 'secrets', verb: 'get', namespace: 'shop' };
    assert.deepEqual(
      asked.map(({ resourceAttributes }) => resourceAttributes),
      [all, { ...all, name: 'a' }],
    );
    assert.equal(await access.allows({ username: 'ann' }, { ...SECRET, name: 'b' }), false);
  });
  test('is asked once in ten seconds, and for each author', async () => {
    const { access, asked, time } = accessWith(() => true);
    for (const name of ['a', 'b', 'c']) {
      assert.equal(await access.allows({ username: 'ann' }, { ...SECRET, name }), true);
    }
    assert.equal(asked.length, 1);
    await access.allows({ username: 'ann', groups: ['g'] }, SECRET);
    await access.allows({ username: 'bob' }, SECRET);
    assert.equal(asked.length, 3);
    time.now = 10_001;
    await access.allows({ username: 'ann' }, SECRET);
    assert.equal(asked.length, 4);
  });
  test('is unknown without an answer, which is asked for again', async () => {
    let isAvailable = false;
    const { access, asked } = accessWith(() => {
      if (!isAvailable) throw new Error('unavailable');
      return true;
    });
    await assert.rejects(access.allows({ username: 'ann' }, SECRET), /unavailable/);
    isAvailable = true;
    assert.equal(await access.allows({ username: 'ann' }, SECRET), true);
    assert.equal(asked.length, 2);
  });
  test('is nothing without an author, or without an API', async () => {
    const { access, asked } = accessWith(() => true);
    assert.equal(await access.allows({}, SECRET), false);
    assert.equal(asked.length, 0);
    const unserved = { ...SECRET, kind: 'DocumentResult' };
    assert.equal(await accessWith(() => true).access.allows({ username: 'ann' }, unserved), false);
  });
});

describe('a reader for an author', () => {
  const object = (kind: string, namespace: string, name: string): KubeObject => ({
    apiVersion: 'v1',
    kind,
    metadata: { namespace, name, uid: `${kind} ${name}` },
  });
  const byHost: Index = { name: 'byHost', kind: 'AppSite', values: () => ['h'] };
  const nameOf = ({ metadata }: KubeObject): string => keyOf(metadata.namespace, metadata.name);
  const objects = [
    object('Secret', 'shop', 'a'),
    object('AppBench', 'shop', 'a'),
    object('AppSite', 'shop', 'a'),
    object('AppSite', 'other', 'b'),
  ];
  const readerWith = (...allowed: Read[]): AuthorReader =>
    new AuthorReader(
      new StaticReader({ objects }),
      'shop',
      new Map(allowed.map((read) => [keyOfRead(read), true])),
    );
  const SITES: Read = { verb: 'list', kind: 'AppSite', namespace: 'shop' };

  test('knows no difference between a hidden Secret and a missing one', () => {
    const reader = readerWith();
    const read = (name: string): string | undefined => reader.get('Secret', 'shop', name, uidOf);
    assert.equal(read('a'), read('missing'));
    assert.equal(reader.undecided.size, 2);
    const may = readerWith(SECRET, { ...SECRET, name: 'missing' });
    assert.equal(may.get('Secret', 'shop', 'a', uidOf), 'Secret a');
    assert.equal(may.get('Secret', 'shop', 'missing', uidOf), undefined);
  });
  test('ends at another hidden object', () => {
    const reader = readerWith();
    assert.throws(() => reader.get('AppBench', 'shop', 'a', uidOf), Hidden);
    assert.throws(() => reader.list(byHost, 'h', nameOf), Hidden);
  });
  test('lists other namespaces for those who may list all', () => {
    assert.deepEqual(readerWith(SITES).list(byHost, 'h', nameOf), ['shop/a']);
    const all = readerWith(SITES, { ...SITES, namespace: '' });
    assert.deepEqual(all.list(byHost, 'h', nameOf), ['other/b', 'shop/a']);
  });
});

describe('a gate', () => {
  const props = { most: 2, mostOfOne: 1, queue: 2, waitMs: 50, message: 'too many' };

  test('lets some pass, the rest in order, and refuses after a time', async () => {
    const gate = new Gate({ ...props, most: 1 });
    const leave = await gate.enter('shop');
    const order: number[] = [];
    const second = gate.enter('shop').then((end) => {
      order.push(2);
      end();
    });
    const third = gate.enter('shop').then((end) => {
      order.push(3);
      return end;
    });
    leave();
    leave();
    await second;
    const end = await third;
    assert.deepEqual(order, [2, 3]);
    await assert.rejects(gate.enter('shop'), Busy);
    end();
    (await gate.enter('shop'))();
  });
  test('keeps a share for other namespaces, and refuses at once what finds a full queue', async () => {
    const gate = new Gate({ ...props, waitMs: 60_000 });
    const leave = await gate.enter('shop');
    const waiting = [gate.enter('shop'), gate.enter('shop')];
    await assert.rejects(gate.enter('shop'), Busy);
    (await gate.enter('other'))();
    leave();
    for (const next of waiting) (await next)();
  });
  test('lets namespaces take turns', async () => {
    const gate = new Gate({ ...props, most: 1, queue: 8, waitMs: 60_000 });
    const leave = await gate.enter('a');
    const order: string[] = [];
    const entered = ['a', 'a', 'a', 'b', 'b'].map(async (namespace) => {
      const end = await gate.enter(namespace);
      order.push(namespace);
      end();
    });
    leave();
    await Promise.all(entered);
    assert.deepEqual(order, ['a', 'b', 'a', 'b', 'a']);
  });
});
