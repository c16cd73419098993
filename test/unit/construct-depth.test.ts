import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { cutBelow, exceedsDepth, MAX_DEPTH, TooDeep } from '../../constructs/kit/json/depth.js';
import { canonicalJson } from '../../constructs/kit/json/hash.js';
import { admit } from '../../constructs/kit/schema/admit.js';
import { KINDS } from '../../constructs/registry.js';
import type { Schema } from '../../constructs/kit/definition.js';

/** More than the 10,000 levels that the API server stores. */
const DEEPEST = 20_000;

function nested(levels: number, list = false): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = list ? [value] : { a: value };
  return value;
}

describe('a value', () => {
  for (const list of [false, true]) {
    test(`is measured, however deep its ${list ? 'lists are' : 'objects are'}`, () => {
      assert.equal(exceedsDepth(nested(64, list), 64), false);
      assert.equal(exceedsDepth(nested(65, list), 64), true);
      assert.equal(exceedsDepth(nested(DEEPEST, list), 64), true);
    });
  }

  test('is cut below the limit, and is the same where there is nothing to cut', () => {
    const shallow = { a: [{ b: null }], c: 'd' };
    assert.equal(cutBelow(shallow), shallow);
    assert.deepEqual(cutBelow({ x: nested(DEEPEST), y: 1 }, 3), { x: { a: { a: null } }, y: 1 });
  });

  test('has no canonical JSON where it is too deep: the error is not one of the stack', () => {
    assert.throws(() => canonicalJson(nested(DEEPEST)), TooDeep);
  });
});

/** The paths of a kind's fields that take any JSON. */
function opaqueFields(schema: Schema, path: readonly string[]): readonly (readonly string[])[] {
  if (schema['x-kubernetes-preserve-unknown-fields']) return [path];
  return Object.entries(schema.properties ?? {}).flatMap(([name, child]) =>
    opaqueFields(child, [...path, name]),
  );
}

function withField([name = '', ...rest]: readonly string[], value: unknown): object {
  return { [name]: rest.length === 0 ? value : withField(rest, value) };
}

for (const { definition } of KINDS) {
  const { kind } = definition;
  for (const path of opaqueFields(definition.spec, ['spec'])) {
    describe(`${path.join('.')} of ${kind}`, () => {
      const problemsWith = (value: unknown): readonly string[] =>
        admit(definition, { kind, ...withField(path, value) })
          .problems.filter((problem) => problem.path === path.join('.'))
          .map(({ message }) => message);
      test(`may nest ${MAX_DEPTH} levels`, () => {
        assert.deepEqual(problemsWith(nested(MAX_DEPTH)), []);
      });
      for (const levels of [MAX_DEPTH + 1, 200, 4_600, DEEPEST]) {
        test(`may not nest ${levels} levels`, () => {
          assert.deepEqual(problemsWith(nested(levels)), [
            'Too deep: may not nest more than 64 levels',
          ]);
        });
      }
    });
  }
}
