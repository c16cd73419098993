import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { KINDS } from '../../constructs/registry.js';
import { corpus } from '../golden/corpus.js';

suite('the fields that name objects given to pods', () => {
  for (const { definition, givenToPods } of KINDS) {
    if (!givenToPods) continue;
    const { kind } = definition;
    test(`of ${kind} are all in the condition of the webhook, and no others`, () => {
      const paths = corpus()
        .filter(({ resource }) => resource.kind === kind)
        .flatMap(({ resource }) => givenToPods.references(resource))
        .map(({ path }) => path);
      const isIn = (path: string, field: string): boolean =>
        [`spec.${field}.`, `spec.${field}[`].some((start) => path.startsWith(start));
      const { fields } = givenToPods;
      const outside = paths.filter((path) => !fields.some((field) => isIn(path, field)));
      assert.deepEqual(outside, []);
      const unused = fields.filter((field) => !paths.some((path) => isIn(path, field)));
      assert.deepEqual(unused, [], 'no golden scenario has them');
    });
  }
});
