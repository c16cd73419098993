import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';

import type { KubeObject } from '../../constructs/kit/object.js';
import { type Listed, ResourceStore, Store } from '../../runner/cache/store.js';
import { isNewer } from '../../runner/cache/resource-version.js';
import { randomFrom } from '../../testbed/random.js';

interface Value {
  readonly resourceVersion: string;
  readonly text: string;
}

const at = (version: number | string, text = 'x'): Value => ({
  resourceVersion: String(version),
  text,
});

/** A list of values. */
const listed = (values: Readonly<Record<string, Value>>): Listed<Value> =>
  new Map(Object.entries(values).map(([key, value]) => [key, () => value]));

/** A store, and the changes that it has reported: `key before→after`. */
function aStore() {
  const store = new Store<Value>((a, b) => a.text === b.text);
  const changes: string[] = [];
  store.onChange((key, before, after) => {
    changes.push(`${key} ${before?.text ?? '-'}→${after?.text ?? '-'}`);
  });
  return { store, changes };
}

describe('a version', () => {
  for (const [a, b, newer] of [
    ['2', '1', true],
    ['1', '2', false],
    ['1', '1', false],
    ['10', '9', true],
    ['9', '10', false],
    ['9007199254740993', '9007199254740992', true],
    ['99999999999999999999', '100000000000000000000', false],
  ] as const) {
    test(`${a} is ${newer ? '' : 'not '}newer than ${b}`, () => {
      assert.equal(isNewer(a, b), newer);
    });
  }
});

describe('a store after a restore of etcd', () => {
  test('takes an object that was deleted before, and is created again', async () => {
    const { store } = aStore();
    store.upsert('x', at(5001));
    store.remove('x', '5002');
    await store.replace(listed({ a: at(100) }), '3000', undefined, { restored: true });
    store.upsert('x', at(3100, 'again'));
    assert.equal(store.get('x')?.text, 'again');
  });
});

describe('a read of an object', () => {
  test('counts, also if the object was deleted for the store before', () => {
    const { store } = aStore();
    store.upsert('x', at(1));
    store.remove('x', '2');
    const deletion = store.deletionOf('x');
    assert.equal(store.found('x', at(1, 'found'), deletion), true);
    assert.equal(store.get('x')?.text, 'found');
  });

  test('does not bring back what was deleted during it', () => {
    const { store } = aStore();
    store.upsert('x', at(1));
    const deletion = store.deletionOf('x');
    store.remove('x', '2');
    assert.equal(store.found('x', at(1), deletion), false);
    assert.equal(store.get('x'), undefined);
  });
});

describe('a store never returns to an older version', () => {
  test('an older value does not replace a newer one', () => {
    const { store, changes } = aStore();
    store.upsert('a', at(5, 'new'));
    store.upsert('a', at(4, 'old'));
    assert.equal(store.get('a')?.text, 'new');
    assert.deepEqual(changes, ['a -→new']);
  });

  test('an older deletion does not remove a newer value: the object was created again', () => {
    const { store } = aStore();
    store.upsert('a', at(10));
    store.remove('a', '9');
    assert.ok(store.get('a'));
  });

  test('a deletion without a version counts: the server reports that the object does not exist', () => {
    const { store } = aStore();
    store.upsert('a', at(10));
    store.remove('a', undefined);
    assert.equal(store.get('a'), undefined);
  });

  test('a late answer after the deletion does not bring the value back', () => {
    const { store, changes } = aStore();
    store.upsert('a', at(5, 'one'));
    // The watch was quicker than the answer to our own write of version 6.
    store.remove('a', '7');
    store.upsert('a', at(6, 'two'));
    assert.equal(store.get('a'), undefined);
    assert.deepEqual(changes, ['a -→one', 'a one→-']);
  });

  test('what has only left the selection of the watch can be put in again as it is', () => {
    const { store } = aStore();
    store.upsert('a', at(5));
    // It lost its label in version 6: the watch calls that a deletion.
    store.remove('a', '6');
    store.upsert('a', at(6, 'found'));
    assert.equal(store.get('a')?.text, 'found');
  });

  test('an object that is created again after a deletion exists', () => {
    const { store } = aStore();
    store.upsert('a', at(5, 'one'));
    store.remove('a', '7');
    store.upsert('a', at(8, 'again'));
    assert.equal(store.get('a')?.text, 'again');
  });
});

describe('a listener of a store', () => {
  test('gets new, changed and deleted objects', () => {
    const { store, changes } = aStore();
    store.upsert('a', at(1, 'one'));
    store.upsert('a', at(2, 'two'));
    store.remove('a', '3');
    assert.deepEqual(changes, ['a -→one', 'a one→two', 'a two→-']);
  });

  test('does not get a value that is equal except for its version, which is stored', () => {
    const { store, changes } = aStore();
    store.upsert('a', at(1));
    store.upsert('a', at(2));
    assert.deepEqual(changes, ['a -→x']);
    assert.equal(store.get('a')?.resourceVersion, '2');
  });

  test('does not get the deletion of an unknown object', () => {
    const { store, changes } = aStore();
    store.remove('a', '3');
    assert.deepEqual(changes, []);
  });
});

describe('a list', () => {
  test('replaces everything as of its version', async () => {
    const { store, changes } = aStore();
    store.upsert('gone', at(1));
    store.upsert('kept', at(2));
    await store.replace(listed({ kept: at(2), new: at(3) }), '9');
    assert.deepEqual([...store.entries()].map(([key]) => key).sort(), ['kept', 'new']);
    assert.deepEqual(changes.slice(2), ['gone x→-', 'new -→x']);
  });

  test('leaves what is outside of its scope', async () => {
    const { store } = aStore();
    store.upsert('a/1', at(1));
    store.upsert('b/1', at(1));
    await store.replace(new Map(), '9', (key) => key.startsWith('a/'));
    assert.deepEqual(
      [...store.entries()].map(([key]) => key),
      ['b/1'],
    );
  });

  test('leaves what was written after it', async () => {
    const { store } = aStore();
    store.upsert('mine', at(12));
    await store.replace(new Map(), '10');
    assert.ok(store.get('mine'));
  });

  test('restores a version that is not older than the stored one', async () => {
    const { store } = aStore();
    store.upsert('a', at(12, 'newer'));
    await store.replace(listed({ a: at(10, 'older') }), '11');
    assert.equal(store.get('a')?.text, 'newer');
  });

  describe('of a thousand objects', () => {
    const many = (from: number): Readonly<Record<string, Value>> =>
      Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`k${from + index}`, at(5)]));

    test('leaves turns of the event loop to others, such as the renewal of a Lease', async () => {
      const { store } = aStore();
      const sizes: number[] = [];
      const replaced = store.replace(listed(many(0)), '9');
      while (store.size < 1_000) {
        sizes.push(store.size);
        await setImmediate();
      }
      await replaced;
      assert.ok(sizes.length >= 5, `sizes seen: ${sizes.join()}`);
    });

    test('keeps what is written meanwhile', async () => {
      const { store } = aStore();
      for (const [key, value] of Object.entries(many(0))) store.upsert(key, value);
      const replaced = store.replace(listed(many(500)), '9');
      await setImmediate();
      for (const key of ['k0', 'k499', 'k500', 'k1499', 'new'])
        store.upsert(key, at(12, 'written'));
      await replaced;
      const written = [...store.entries()].filter(([, { text }]) => text === 'written');
      assert.deepEqual(written.map(([key]) => key).sort(), ['k0', 'k1499', 'k499', 'k500', 'new']);
      assert.equal(store.size, 1_003);
    });

    test('ends when its watch ends', async () => {
      const { store } = aStore();
      const stop = new AbortController();
      const replaced = store.replace(listed(many(0)), '9', undefined, { signal: stop.signal });
      stop.abort(new Error('ended'));
      await assert.rejects(replaced, /^Error: ended$/);
      assert.ok(store.size < 1_000);
    });
  });
});

/** A store of custom resources, the keys that it has enqueued, and what readers have of them. */
function resources() {
  const enqueued: string[] = [];
  const counts: string[] = [];
  const read = new Map<string, KubeObject | undefined>();
  const store = new ResourceStore({
    onChange: (key, object) => read.set(key, object),
    onCount: (namespace, count) => void counts.push(`${namespace} ${count}`),
    enqueue: (key) => void enqueued.push(key),
  });
  return { store, enqueued, counts, read };
}

const site = (version: number, { spec = 1, status = 1, ...metadata } = {}): KubeObject =>
  ({
    apiVersion: 'v1',
    kind: 'AppSite',
    metadata: { namespace: 'n', name: 's', resourceVersion: String(version), ...metadata },
    spec: { spec },
    status: { status },
  }) as KubeObject;

describe('a resource', () => {
  test('is enqueued when it is created, changed and deleted', () => {
    const { store, enqueued, counts } = resources();
    store.upsert(site(1));
    store.upsert(site(2, { spec: 2 }));
    store.remove(site(3));
    assert.deepEqual(enqueued, ['n/s', 'n/s', 'n/s']);
    assert.deepEqual(counts, ['n 1', 'n 0']);
  });

  test('is not enqueued when only an unread field has changed', () => {
    const { store, enqueued } = resources();
    const last = { 'kubectl.kubernetes.io/last-applied-configuration': '{}' };
    store.upsert(site(1));
    store.upsert(site(2, { managedFields: [{ manager: 'x' }], annotations: last } as object));
    assert.deepEqual(enqueued, ['n/s']);
  });

  test('is read with the version that it has now, also when nothing else has changed', () => {
    const { store, read } = resources();
    store.upsert(site(1));
    store.upsert(site(2, { managedFields: [] } as object));
    assert.equal(read.get('n/s')?.metadata.resourceVersion, '2');
  });

  for (const first of ['the answer', 'the watch']) {
    test(`is not enqueued when the operator has written its status, and ${first} comes first`, async () => {
      const { store, enqueued } = resources();
      store.upsert(site(1));
      await store.write('n/s', () => {
        if (first === 'the watch') store.upsert(site(2, { status: 2 }));
        return Promise.resolve(site(2, { status: 2 }));
      });
      store.upsert(site(2, { status: 2 }));
      assert.deepEqual(enqueued, ['n/s']);
      store.upsert(site(3, { status: 3 }));
      assert.deepEqual(enqueued, ['n/s', 'n/s']);
    });
  }

  for (const [what, change] of [
    ['a change of its spec', { spec: 2, generation: 2 }],
    ['its deletion', { deletionTimestamp: 'now' }],
    ['an annotation, such as a pause', { annotations: { paused: 'true' } }],
  ] as const) {
    test(`is enqueued when the answer to our own write has ${what} by another client`, async () => {
      const { store, enqueued } = resources();
      store.upsert(site(1));
      // Their version 2 was before our version 3, and the watch brings neither before the answer.
      await store.write('n/s', () => Promise.resolve(site(3, { ...change, status: 2 })));
      store.upsert(site(2, change as object));
      store.upsert(site(3, { ...change, status: 2 }));
      assert.deepEqual(enqueued, ['n/s', 'n/s']);
    });
  }
});

test('in any order of events, answers and lists, the end state is that of the server', async () => {
  for (let seed = 1; seed <= 300; seed++) {
    const random = randomFrom(seed);
    const { store } = aStore();
    const truth = new Map<string, Value>();
    const arrivals: { readonly at: number; readonly work: () => unknown }[] = [];
    for (let version = 1; version <= 40; version++) {
      const key = `k${Math.floor(random() * 4)}`;
      const value = at(version, `v${version}`);
      if (truth.has(key) && random() < 0.3) {
        truth.delete(key);
        arrivals.push({ at: version, work: () => store.remove(key, String(version)) });
      } else {
        truth.set(key, value);
        arrivals.push({ at: version, work: () => store.upsert(key, value) });
        // The answer to our own write takes another way: it comes earlier or later than the event.
        const delay = random() * 8 - 3;
        arrivals.push({ at: version + delay, work: () => store.upsert(key, value) });
      }
      if (random() < 0.1) {
        const snapshot = listed(Object.fromEntries(truth));
        const work = () => store.replace(snapshot, String(version));
        arrivals.push({ at: version + 0.5, work });
      }
    }
    for (const { work } of arrivals.sort((a, b) => a.at - b.at)) await work();
    assert.deepEqual(new Map(store.entries()), truth, `seed ${seed}`);
  }
});
