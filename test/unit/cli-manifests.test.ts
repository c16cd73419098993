import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { parseManifests } from '../../cli/io/manifest-files.js';

describe('a byte order mark', () => {
  const MARK = '\ufeff';
  const CASES = {
    'at the start of the file': `${MARK}kind: A\n---\nkind: B\n`,
    'at the start of a later document': `kind: A\n---\n${MARK}kind: B\n`,
    'before a separator': `kind: A\n${MARK}---\nkind: B\n`,
    'after a comment': `kind: A\r\n---\r\n# b\r\n\r\n${MARK}kind: B\r\n`,
  };
  for (const [where, manifest] of Object.entries(CASES)) {
    test(`${where} is no part of a key`, () => {
      const { objects, problems } = parseManifests(manifest, 'x.yaml');
      assert.deepEqual(
        [objects.map(({ object }) => object), problems],
        [[{ kind: 'A' }, { kind: 'B' }], []],
      );
    });
  }

  test('in a text stays', () => {
    const { objects } = parseManifests(`kind: A\nnote: |\n  ${MARK}x\n`, 'x.yaml');
    assert.deepEqual(
      objects.map(({ object }) => object),
      [{ kind: 'A', note: `${MARK}x\n` }],
    );
  });
});
