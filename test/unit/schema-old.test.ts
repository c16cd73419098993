import assert from 'node:assert/strict';
import { test } from 'node:test';

import { compile } from '../../constructs/kit/schema/node.js';
import { ruleProblems } from '../../constructs/kit/schema/rule-problems.js';
import { violations } from '../../constructs/kit/schema/violations.js';

const node = compile({
  type: 'array',
  maxItems: 16,
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['name', 'port'],
  items: {
    type: 'object',
    properties: {
      name: { type: 'string', maxLength: 4 },
      port: { type: 'integer' },
      value: { type: 'string' },
    },
    'x-kubernetes-validations': [{ rule: 'self.value == oldSelf.value', message: 'stays' }],
  },
});

test('a list of any length is compared in one pass', () => {
  const length = 3_000;
  let reads = 0;
  const list = (value: string): readonly object[] =>
    Array.from({ length }, (_, i) => ({
      get name() {
        reads += 1;
        return `name-${i}`;
      },
      port: 1,
      value,
    }));
  const found = violations(node, list('b'), 'spec.x', list('a'));
  assert.match(found[0]?.message ?? '', /must have at most 16 items/);
  ruleProblems(node, list('b'), 'spec.x', { old: list('a') });
  assert.ok(reads < 20 * length, `${reads} reads of ${length} names`);
});

test('an item is that of before by all of its keys, the first where there are several', () => {
  const old = [
    { name: 'too-long', port: 1, value: 'a' },
    { name: 'too-long', port: 2, value: 'b' },
    { name: 'too-long', port: 2, value: 'c' },
    7,
    null,
  ];
  const problems = (...list: readonly object[]): readonly string[] => [
    ...violations(node, list, 'x', old).map(({ path }) => path),
    ...ruleProblems(node, list, 'x', { old }).map(({ message }) => message),
  ];
  assert.deepEqual(problems({ name: 'too-long', port: 2, value: 'b' }), []);
  assert.equal(problems({ name: 'too-long', port: 2, value: 'c' }).length, 1);
  assert.deepEqual(problems({ name: 'too-long', port: 3, value: 'b' }), ['x[0].name']);
  assert.deepEqual(problems({ name: 'too-long', port: '2' as unknown, value: 'b' }), [
    ...['x[0].name', 'x[0].port'],
  ]);
});
