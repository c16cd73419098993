import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';

import type { Index } from '../../constructs/kit/kind.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import { DEFAULT_SETTINGS } from '../../constructs/kit/operator-settings.js';
import { valuesIdOf } from '../../constructs/kit/secret-values.js';
import { DependencyTracker } from '../../runner/cache/dependencies.js';
import { randomFrom } from '../../testbed/random.js';

interface Thing extends KubeObject {
  readonly color?: string;
  readonly size?: number;
  readonly groups?: readonly string[];
}

const byGroup: Index<Thing> = {
  name: 'things-by-group',
  kind: 'Thing',
  values: ({ groups }) => groups ?? [],
};
const Optional: ObjectKind = {
  apiVersion: 'example.com/v1',
  kind: 'Extra',
  plural: 'extras',
  optional: true,
};

const thing = (name: string, fields: Partial<Thing> = {}): Thing => ({
  apiVersion: 'v1',
  kind: 'Thing',
  metadata: { name, namespace: 'n' },
  ...fields,
});
const color = ({ color: value }: Thing): string | undefined => value;
const size = ({ size: value }: Thing): number | undefined => value;
const nameOf = ({ metadata }: Thing): string => metadata.name;

let enqueued: string[];
let dependencies: DependencyTracker;
let now: number;
beforeEach(() => {
  enqueued = [];
  dependencies = new DependencyTracker({
    settings: DEFAULT_SETTINGS,
    indexes: [byGroup],
    enqueue: (dependent, urgency) => void enqueued.push(`${dependent} ${urgency}`),
    now: () => now,
  });
  now = Date.parse('2026-01-01T12:00:00Z');
});

const put = (name: string, fields: Partial<Thing> = {}): void => {
  dependencies.update('Thing', `n/${name}`, thing(name, fields));
};
const remove = (name: string): void => {
  dependencies.update('Thing', `n/${name}`, undefined);
};
/** One reconcile of a dependent with the given reads. */
const reconcile = <T>(
  dependent: string,
  read: (reader: ReturnType<DependencyTracker['track']>['reader']) => T,
): T => {
  const { reader, commit } = dependencies.track(dependent);
  const result = read(reader);
  commit();
  return result;
};
const readColor = (dependent: string, name = 'a'): string | undefined =>
  reconcile(dependent, (reader) => reader.get('Thing', 'n', name, color));
const readGroup = (dependent: string, group = 'g'): readonly string[] =>
  reconcile(dependent, (reader) => reader.list(byGroup, group, nameOf));

describe('a dependent that reads an object', () => {
  test('gets what it picks, and undefined of an object that does not exist', () => {
    put('a', { color: 'red' });
    assert.equal(readColor('r'), 'red');
    assert.equal(readColor('r', 'b'), undefined);
  });

  test('is enqueued when what it picked has changed, and only then', () => {
    put('a', { color: 'red', size: 1 });
    readColor('r');
    put('a', { color: 'red', size: 2 });
    assert.deepEqual(enqueued, []);
    put('a', { color: 'blue', size: 2 });
    assert.deepEqual(enqueued, ['r now']);
  });

  test('is enqueued repeatedly until it has read again', () => {
    put('a', { color: 'red' });
    readColor('r');
    put('a', { color: 'blue' });
    put('a', { color: 'green' });
    assert.deepEqual(enqueued, ['r now', 'r now']);
    readColor('r');
    put('a', { color: 'green', size: 3 });
    assert.equal(enqueued.length, 2);
  });

  test('is enqueued when the object is created, deleted, and created again', () => {
    readColor('r');
    put('a', { color: 'red' });
    readColor('r');
    remove('a');
    readColor('r');
    put('a', { color: 'red' });
    assert.deepEqual(enqueued, ['r now', 'r now', 'r now']);
  });

  test('is not enqueued by an object of which it picks nothing: it sees no difference', () => {
    readColor('r');
    put('a');
    assert.deepEqual(enqueued, []);
    put('a', { color: 'red' });
    assert.deepEqual(enqueued, ['r now']);
  });

  test('is not enqueued by objects of another name or kind', () => {
    readColor('r');
    put('b', { color: 'red' });
    dependencies.update('Other', 'n/a', thing('a', { color: 'red' }));
    assert.deepEqual(enqueued, []);
  });

  test('is enqueued once for several fields that it picked of one object', () => {
    put('a', { color: 'red', size: 1 });
    reconcile('r', (reader) => [
      reader.get('Thing', 'n', 'a', color),
      reader.get('Thing', 'n', 'a', size),
    ]);
    put('a', { color: 'red', size: 2 });
    put('a', { color: 'blue', size: 3 });
    assert.deepEqual(enqueued, ['r now', 'r now']);
  });

  test('depends on what it read the last time only', () => {
    readColor('r', 'a');
    readColor('r', 'b');
    put('a', { color: 'red' });
    assert.deepEqual(enqueued, []);
    put('b', { color: 'red' });
    assert.deepEqual(enqueued, ['r now']);
  });

  test('depends on what it reads once the reconcile is committed', () => {
    const { reader, commit } = dependencies.track('r');
    reader.get('Thing', 'n', 'a', color);
    put('a', { color: 'red' });
    assert.deepEqual(enqueued, []);
    commit();
    put('a', { color: 'blue' });
    assert.deepEqual(enqueued, ['r now']);
  });

  test('is not enqueued any more once it is forgotten', () => {
    readColor('r');
    readGroup('r');
    dependencies.forget('r');
    put('a', { color: 'red', groups: ['g'] });
    assert.deepEqual(enqueued, []);
  });
});

describe('who reads a list', () => {
  test('gets its members, sorted', () => {
    put('b', { groups: ['g'] });
    put('a', { groups: ['g', 'h'] });
    put('c', { groups: ['h'] });
    assert.deepEqual(readGroup('r'), ['a', 'b']);
    assert.deepEqual(readGroup('r', 'none'), []);
  });

  test('is enqueued, soon, when a member is added or removed', () => {
    readGroup('r');
    put('a', { groups: ['g'] });
    remove('a');
    assert.deepEqual(enqueued, ['r soon', 'r soon']);
  });

  test('is enqueued when an object moves from one list to another, as its other readers are', () => {
    put('a', { groups: ['g'] });
    readGroup('r', 'g');
    readGroup('s', 'h');
    readGroup('t', 'i');
    put('a', { groups: ['h'] });
    assert.deepEqual(enqueued, ['r soon', 's soon']);
    assert.deepEqual(readGroup('r', 'g'), []);
    assert.deepEqual(readGroup('s', 'h'), ['a']);
  });

  test('is enqueued when what it picked of a member changes, and only then', () => {
    put('a', { groups: ['g'], color: 'red' });
    reconcile('r', (reader) => reader.list(byGroup, 'g', color));
    put('a', { groups: ['g'], color: 'red', size: 2 });
    assert.deepEqual(enqueued, []);
    put('a', { groups: ['g'], color: 'blue' });
    assert.deepEqual(enqueued, ['r soon']);
  });
});

describe('a dependent of an optional API', () => {
  const served = (dependent: string): boolean =>
    reconcile(dependent, (reader) => reader.serves(Optional));

  test('is enqueued when it is created and when it is deleted', () => {
    assert.equal(served('r'), false);
    dependencies.serve(Optional, true);
    assert.equal(served('r'), true);
    dependencies.serve(Optional, false);
    assert.equal(served('r'), false);
    assert.deepEqual(enqueued, ['r now', 'r now']);
  });

  test('is not enqueued without a change, and other dependents never', () => {
    served('r');
    readColor('other');
    dependencies.serve(Optional, false);
    assert.deepEqual(enqueued, []);
    dependencies.serve(Optional, true);
    dependencies.serve(Optional, true);
    assert.deepEqual(enqueued, ['r now']);
  });
});

test('a dependent whose inputs have changed is always enqueued, whatever happens in between', () => {
  for (let seed = 1; seed <= 200; seed++) {
    const random = randomFrom(seed);
    const pickOne = <T>(...items: readonly [T, ...T[]]): T =>
      items[Math.floor(random() * items.length)] ?? items[0];
    const snapshot = (dependent: string): unknown =>
      reconcile(dependent, (reader) => [
        reader.get('Thing', 'n', 'a', color),
        reader.list(byGroup, 'g', size),
        reader.serves(Optional),
      ]);
    const seen = new Map(
      ['r', 's'].map((dependent) => [dependent, JSON.stringify(snapshot(dependent))]),
    );
    enqueued = [];
    for (let step = 0; step < 30; step++) {
      const what = random();
      if (what < 0.6)
        put(pickOne('a', 'b'), {
          color: pickOne('red', 'blue'),
          size: pickOne(1, 2),
          groups: pickOne<readonly string[]>([], ['g'], ['h'], ['g', 'h']),
        });
      else if (what < 0.8) remove(pickOne('a', 'b'));
      else dependencies.serve(Optional, random() < 0.5);
      const dependent = pickOne('r', 's');
      const due = new Set(enqueued.map((line) => line.split(' ')[0]));
      const now = JSON.stringify(snapshot(dependent));
      if (now !== seen.get(dependent)) assert.ok(due.has(dependent), `seed ${seed}, step ${step}`);
      seen.set(dependent, now);
      enqueued = enqueued.filter((line) => !line.startsWith(`${dependent} `));
    }
    dependencies.forget('r');
    dependencies.forget('s');
  }
});

describe('time', () => {
  const at = (time: string): number => Date.parse(`2026-01-01T${time}Z`);
  const since = '2026-01-01T11:30:00Z';

  test('a moment has passed or has not, and the next one is returned', () => {
    const { reader, commit } = dependencies.track('Thing/ns/a');
    assert.equal(reader.isDue('2026-01-01T12:00:00Z'), true);
    assert.equal(reader.isDue(since, 31 * 60_000), false);
    assert.equal(reader.isDue(since, 60 * 60_000), false);
    assert.equal(commit(), at('12:01:00'));
  });

  test('a passed moment is not awaited', () => {
    const { reader, commit } = dependencies.track('Thing/ns/a');
    assert.equal(reader.isDue(since), true);
    assert.equal(commit(), Infinity);
  });

  test('a text that is no time is due at once, and is not awaited', () => {
    const { reader, commit } = dependencies.track('Thing/ns/a');
    for (const text of ['', 'yesterday', '2026-13-01T00:00:00Z']) {
      assert.equal(reader.isDue(text, 60_000), true, text);
      assert.equal(reader.isDue(text, 60_000, { alignedBy: 'shop' }), true, text);
    }
    assert.equal(commit(), Infinity);
  });

  test('simultaneous callers get one moment, at most half the time sooner or later', () => {
    const delayMs = 600_000;
    const minutes = Array.from({ length: 20 }, (_, minute) => String(minute).padStart(2, '0'));
    const moments = minutes.map((minute) => {
      const { reader, commit } = dependencies.track('Thing/ns/a');
      const since = `2026-01-01T12:${minute}:00Z`;
      assert.equal(reader.isDue(since, delayMs, { alignedBy: 'shop' }), false, since);
      const moment = commit();
      assert.ok(Math.abs(moment - at(`12:${minute}:00`) - delayMs) <= delayMs / 2, since);
      return moment;
    });
    assert.equal(new Set(moments.map((moment) => moment % delayMs)).size, 1);
  });
});

describe('a Secret that will be generated', () => {
  const readId = (): string | undefined =>
    reconcile('a', (reader) => reader.generated('n', 's', valuesIdOf));
  const putSecret = (id: string): void => {
    const metadata = { name: 's', namespace: 'n', annotations: { 'x/generated-id': id } };
    dependencies.update('Secret', 'n/s', { apiVersion: 'v1', kind: 'Secret', metadata });
  };

  test('is read as it is then, and enqueues nothing when it exists', () => {
    const id = readId() ?? '';
    assert.equal(readId(), id);
    putSecret(id);
    assert.deepEqual(enqueued, []);
    assert.equal(readId(), id);
  });
  test('enqueues where it has other values', () => {
    readId();
    putSecret('other');
    assert.deepEqual(enqueued, ['a now']);
    assert.equal(readId(), 'other');
  });
  test('is another one after its deletion', () => {
    const id = readId() ?? '';
    putSecret(id);
    dependencies.update('Secret', 'n/s', undefined);
    assert.deepEqual(enqueued, ['a now']);
    assert.notEqual(readId(), id);
  });
});
