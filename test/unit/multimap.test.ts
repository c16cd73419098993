import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';

import { Multimap } from '../../runner/cache/multimap.js';

test('a multimap holds what was added and not deleted, once', () => {
  const word = fc.constantFrom('a', 'b', 'c');
  const change = fc.record({ added: fc.boolean(), key: word, value: word });
  fc.assert(
    fc.property(fc.array(change), (changes) => {
      const multimap = new Multimap();
      const pairs = new Set<string>();
      for (const { added, key, value } of changes) {
        if (added) multimap.add(key, value);
        else multimap.delete(key, value);
        if (added) pairs.add(`${key}=${value}`);
        else pairs.delete(`${key}=${value}`);
      }
      const held = ['a', 'b', 'c'].flatMap((key) =>
        [...multimap.of(key)].map((value) => `${key}=${value}`),
      );
      assert.deepEqual(held.sort(), [...pairs].sort());
    }),
  );
});
