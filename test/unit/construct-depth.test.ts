import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { admit } from '../../constructs/kit/schema/admit.js';
import { OPAQUE } from '../../constructs/kit/schema/bounds.js';
import { KINDS } from '../../constructs/registry.js';
import type { Schema } from '../../constructs/kit/definition.js';

/** More than the 10,000 levels that the API server stores. */
const DEEPEST = 20_000;

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = { a: value };
  return value;
}

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
      test(`may nest ${OPAQUE.depth} levels`, () => {
        assert.deepEqual(problemsWith(nested(OPAQUE.depth)), []);
      });
      for (const levels of [OPAQUE.depth + 1, 200, 4_600, DEEPEST]) {
        test(`may not nest ${levels} levels`, () => {
          assert.deepEqual(problemsWith(nested(levels)), [
            'Too deep: may not nest more than 64 levels',
          ]);
        });
      }
    });
  }
}
