import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';

import type { Index } from '../../constructs/kit/kind.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import { DEFAULT_SETTINGS } from '../../constructs/kit/settings.js';
import { Subscriptions } from '../../runner/cache/world.js';
import { seeded } from './seeded.js';

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

let woken: string[];
let subscriptions: Subscriptions;
let now: number;
beforeEach(() => {
  woken = [];
  subscriptions = new Subscriptions({
    settings: DEFAULT_SETTINGS,
    indexes: [byGroup],
    wake: (reader, urgency) => void woken.push(`${reader} ${urgency}`),
    now: () => now,
  });
  now = Date.parse('2026-01-01T12:00:00Z');
});

const put = (name: string, fields: Partial<Thing> = {}): void => {
  subscriptions.update('Thing', `n/${name}`, thing(name, fields));
};
const remove = (name: string): void => {
  subscriptions.update('Thing', `n/${name}`, undefined);
};
/** One visit of a reader, which reads as it is told to. */
const visit = <T>(
  reader: string,
  read: (world: ReturnType<Subscriptions['session']>['world']) => T,
): T => {
  const { world, commit } = subscriptions.session(reader);
  const result = read(world);
  commit();
  return result;
};
const readColor = (reader: string, name = 'a'): string | undefined =>
  visit(reader, (world) => world.get('Thing', 'n', name, color));
const readGroup = (reader: string, group = 'g'): readonly string[] =>
  visit(reader, (world) => world.list(byGroup, group, nameOf));

describe('who reads an object', () => {
  test('gets what it picks, and nothing of what is not there', () => {
    put('a', { color: 'red' });
    assert.equal(readColor('r'), 'red');
    assert.equal(readColor('r', 'b'), undefined);
  });

  test('is woken when what it picked has changed, and only then', () => {
    put('a', { color: 'red', size: 1 });
    readColor('r');
    put('a', { color: 'red', size: 2 });
    assert.deepEqual(woken, []);
    put('a', { color: 'blue', size: 2 });
    assert.deepEqual(woken, ['r now']);
  });

  test('is woken again and again until it has read again', () => {
    put('a', { color: 'red' });
    readColor('r');
    put('a', { color: 'blue' });
    put('a', { color: 'green' });
    assert.deepEqual(woken, ['r now', 'r now']);
    readColor('r');
    put('a', { color: 'green', size: 3 });
    assert.equal(woken.length, 2);
  });

  test('is woken when the object comes, goes, and comes again', () => {
    readColor('r');
    put('a', { color: 'red' });
    readColor('r');
    remove('a');
    readColor('r');
    put('a', { color: 'red' });
    assert.deepEqual(woken, ['r now', 'r now', 'r now']);
  });

  test('is not woken by an object of which it picks nothing: it sees no difference', () => {
    readColor('r');
    put('a');
    assert.deepEqual(woken, []);
    put('a', { color: 'red' });
    assert.deepEqual(woken, ['r now']);
  });

  test('is not woken by objects of another name or kind', () => {
    readColor('r');
    put('b', { color: 'red' });
    subscriptions.update('Other', 'n/a', thing('a', { color: 'red' }));
    assert.deepEqual(woken, []);
  });

  test('is woken once for several things that it picked of one object', () => {
    put('a', { color: 'red', size: 1 });
    visit('r', (world) => [
      world.get('Thing', 'n', 'a', color),
      world.get('Thing', 'n', 'a', size),
    ]);
    put('a', { color: 'red', size: 2 });
    put('a', { color: 'blue', size: 3 });
    assert.deepEqual(woken, ['r now', 'r now']);
  });

  test('depends on what it read the last time only', () => {
    readColor('r', 'a');
    readColor('r', 'b');
    put('a', { color: 'red' });
    assert.deepEqual(woken, []);
    put('b', { color: 'red' });
    assert.deepEqual(woken, ['r now']);
  });

  test('depends on what it reads once the visit is committed', () => {
    const { world, commit } = subscriptions.session('r');
    world.get('Thing', 'n', 'a', color);
    put('a', { color: 'red' });
    assert.deepEqual(woken, []);
    commit();
    put('a', { color: 'blue' });
    assert.deepEqual(woken, ['r now']);
  });

  test('does not hear any more once it is forgotten', () => {
    readColor('r');
    readGroup('r');
    subscriptions.forget('r');
    put('a', { color: 'red', groups: ['g'] });
    assert.deepEqual(woken, []);
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

  test('is woken, soon, when a member comes or goes', () => {
    readGroup('r');
    put('a', { groups: ['g'] });
    remove('a');
    assert.deepEqual(woken, ['r soon', 'r soon']);
  });

  test('is woken when an object moves from one list to another, as its other readers are', () => {
    put('a', { groups: ['g'] });
    readGroup('r', 'g');
    readGroup('s', 'h');
    readGroup('t', 'i');
    put('a', { groups: ['h'] });
    assert.deepEqual(woken, ['r soon', 's soon']);
    assert.deepEqual(readGroup('r', 'g'), []);
    assert.deepEqual(readGroup('s', 'h'), ['a']);
  });

  test('is woken when what it picked of a member changes, and only then', () => {
    put('a', { groups: ['g'], color: 'red' });
    visit('r', (world) => world.list(byGroup, 'g', color));
    put('a', { groups: ['g'], color: 'red', size: 2 });
    assert.deepEqual(woken, []);
    put('a', { groups: ['g'], color: 'blue' });
    assert.deepEqual(woken, ['r soon']);
  });
});

describe('who asks for an optional API', () => {
  const served = (reader: string): boolean => visit(reader, (world) => world.serves(Optional));

  test('is woken when it comes and when it goes', () => {
    assert.equal(served('r'), false);
    subscriptions.serve(Optional, true);
    assert.equal(served('r'), true);
    subscriptions.serve(Optional, false);
    assert.equal(served('r'), false);
    assert.deepEqual(woken, ['r now', 'r now']);
  });

  test('is not woken by what is no news, and others are not woken at all', () => {
    served('r');
    readColor('other');
    subscriptions.serve(Optional, false);
    assert.deepEqual(woken, []);
    subscriptions.serve(Optional, true);
    subscriptions.serve(Optional, true);
    assert.deepEqual(woken, ['r now']);
  });
});

test('a reader whose world has changed is always woken, whatever happens in between', () => {
  for (let seed = 1; seed <= 200; seed++) {
    const random = seeded(seed);
    const pickOne = <T>(...items: readonly [T, ...T[]]): T =>
      items[Math.floor(random() * items.length)] ?? items[0];
    const sight = (reader: string): unknown =>
      visit(reader, (world) => [
        world.get('Thing', 'n', 'a', color),
        world.list(byGroup, 'g', size),
        world.serves(Optional),
      ]);
    const seen = new Map(['r', 's'].map((reader) => [reader, JSON.stringify(sight(reader))]));
    woken = [];
    for (let step = 0; step < 30; step++) {
      const what = random();
      if (what < 0.6)
        put(pickOne('a', 'b'), {
          color: pickOne('red', 'blue'),
          size: pickOne(1, 2),
          groups: pickOne<readonly string[]>([], ['g'], ['h'], ['g', 'h']),
        });
      else if (what < 0.8) remove(pickOne('a', 'b'));
      else subscriptions.serve(Optional, random() < 0.5);
      const reader = pickOne('r', 's');
      const due = new Set(woken.map((line) => line.split(' ')[0]));
      const now = JSON.stringify(sight(reader));
      if (now !== seen.get(reader)) assert.ok(due.has(reader), `seed ${seed}, step ${step}`);
      seen.set(reader, now);
      woken = woken.filter((line) => !line.startsWith(`${reader} `));
    }
    subscriptions.forget('r');
    subscriptions.forget('s');
  }
});

describe('time', () => {
  const at = (time: string): number => Date.parse(`2026-01-01T${time}Z`);
  const since = '2026-01-01T11:30:00Z';

  test('a moment has passed or has not, and the next one is told', () => {
    const { world, commit } = subscriptions.session('Thing/ns/a');
    assert.equal(world.passed('2026-01-01T12:00:00Z'), true);
    assert.equal(world.passed(since, 31 * 60_000), false);
    assert.equal(world.passed(since, 60 * 60_000), false);
    assert.equal(commit(), at('12:01:00'));
  });

  test('nobody waits for what has passed', () => {
    const { world, commit } = subscriptions.session('Thing/ns/a');
    assert.equal(world.passed(since), true);
    assert.equal(commit(), Infinity);
  });

  test('those who ask together are told at one moment, half the time sooner or later at most', () => {
    const delayMs = 600_000;
    const minutes = Array.from({ length: 20 }, (_, minute) => String(minute).padStart(2, '0'));
    const moments = minutes.map((minute) => {
      const { world, commit } = subscriptions.session('Thing/ns/a');
      const since = `2026-01-01T12:${minute}:00Z`;
      assert.equal(world.passed(since, delayMs, 'shop'), false, since);
      const moment = commit();
      assert.ok(Math.abs(moment - at(`12:${minute}:00`) - delayMs) <= delayMs / 2, since);
      return moment;
    });
    assert.equal(new Set(moments.map((moment) => moment % delayMs)).size, 1);
  });
});
