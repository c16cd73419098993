import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { isNewer, Store } from '../../runner/store.js';
import { seeded } from './seeded.js';

interface Value {
  readonly resourceVersion: string;
  readonly text: string;
}

const at = (version: number | string, text = 'x'): Value => ({
  resourceVersion: String(version),
  text,
});

/** A store, and what it has told: `key before→after`. */
function aStore() {
  const store = new Store<Value>((a, b) => a.text === b.text);
  const told: string[] = [];
  store.onChange((key, before, after) => {
    told.push(`${key} ${before?.text ?? '-'}→${after?.text ?? '-'}`);
  });
  return { store, told };
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

describe('a store goes forward only', () => {
  test('an older value does not replace a newer one', () => {
    const { store, told } = aStore();
    store.upsert('a', at(5, 'new'));
    store.upsert('a', at(4, 'old'));
    assert.equal(store.get('a')?.text, 'new');
    assert.deepEqual(told, ['a -→new']);
  });

  test('an older deletion does not remove a newer value: it was made again', () => {
    const { store } = aStore();
    store.upsert('a', at(10));
    store.remove('a', '9');
    assert.ok(store.get('a'));
  });

  test('a deletion without a version counts: the server says that there is nothing', () => {
    const { store } = aStore();
    store.upsert('a', at(10));
    store.remove('a', undefined);
    assert.equal(store.get('a'), undefined);
  });

  test('an answer that comes after the deletion does not bring the value back', () => {
    const { store, told } = aStore();
    store.upsert('a', at(5, 'one'));
    // The watch was quicker than the answer to our own write of version 6.
    store.remove('a', '7');
    store.upsert('a', at(6, 'two'));
    assert.equal(store.get('a'), undefined);
    assert.deepEqual(told, ['a -→one', 'a one→-']);
  });

  test('what has only left the selection of the watch can be put in again as it is', () => {
    const { store } = aStore();
    store.upsert('a', at(5));
    // It lost its label in version 6: the watch calls that a deletion.
    store.remove('a', '6');
    store.upsert('a', at(6, 'found'));
    assert.equal(store.get('a')?.text, 'found');
  });

  test('what is made again after a deletion is there', () => {
    const { store } = aStore();
    store.upsert('a', at(5, 'one'));
    store.remove('a', '7');
    store.upsert('a', at(8, 'again'));
    assert.equal(store.get('a')?.text, 'again');
  });
});

describe('a store tells', () => {
  test('of what is new, changed and gone', () => {
    const { store, told } = aStore();
    store.upsert('a', at(1, 'one'));
    store.upsert('a', at(2, 'two'));
    store.remove('a', '3');
    assert.deepEqual(told, ['a -→one', 'a one→two', 'a two→-']);
  });

  test('nobody of a change that matters to nobody, but keeps it', () => {
    const { store, told } = aStore();
    store.upsert('a', at(1));
    store.upsert('a', at(2));
    assert.deepEqual(told, ['a -→x']);
    assert.equal(store.get('a')?.resourceVersion, '2');
  });

  test('nobody of the deletion of what it does not have', () => {
    const { store, told } = aStore();
    store.remove('a', '3');
    assert.deepEqual(told, []);
  });
});

describe('a list', () => {
  test('replaces everything as of its version', () => {
    const { store, told } = aStore();
    store.upsert('gone', at(1));
    store.upsert('kept', at(2));
    store.replace(
      new Map([
        ['kept', at(2)],
        ['new', at(3)],
      ]),
      '9',
    );
    assert.deepEqual([...store.entries()].map(([key]) => key).sort(), ['kept', 'new']);
    assert.deepEqual(told.slice(2), ['gone x→-', 'new -→x']);
  });

  test('leaves what is outside of its scope', () => {
    const { store } = aStore();
    store.upsert('a/1', at(1));
    store.upsert('b/1', at(1));
    store.replace(new Map(), '9', (key) => key.startsWith('a/'));
    assert.deepEqual(
      [...store.entries()].map(([key]) => key),
      ['b/1'],
    );
  });

  test('leaves what was written after it', () => {
    const { store } = aStore();
    store.upsert('mine', at(12));
    store.replace(new Map(), '10');
    assert.ok(store.get('mine'));
  });

  test('brings a version back that is not older than what is there', () => {
    const { store } = aStore();
    store.upsert('a', at(12, 'newer'));
    store.replace(new Map([['a', at(10, 'older')]]), '11');
    assert.equal(store.get('a')?.text, 'newer');
  });
});

test('whatever order events, answers and lists come in, the end is that of the server', () => {
  for (let seed = 1; seed <= 300; seed++) {
    const random = seeded(seed);
    const { store } = aStore();
    const truth = new Map<string, Value>();
    const arrivals: { readonly at: number; readonly work: () => void }[] = [];
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
        const snapshot = new Map(truth);
        const work = (): void => store.replace(snapshot, String(version));
        arrivals.push({ at: version + 0.5, work });
      }
    }
    for (const { work } of arrivals.sort((a, b) => a.at - b.at)) work();
    assert.deepEqual(new Map(store.entries()), truth, `seed ${seed}`);
  }
});
