import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { frappeVersion } from '../e2e/framework.js';

suite('FRAPPE_VERSION of the end-to-end tests', () => {
  for (const [text, version] of [
    ['15', 15],
    ['16', 16],
  ] as const) {
    test(`${text} is a version`, () => {
      assert.equal(frappeVersion(text), version);
    });
  }
  for (const text of [
    '',
    '14',
    '17',
    '16.0',
    'version-16',
    ' 16',
    'develop',
    '1516',
    '__proto__',
  ]) {
    test(`${JSON.stringify(text)} is refused`, () => {
      assert.throws(() => frappeVersion(text), {
        message: `FRAPPE_VERSION: ${JSON.stringify(text)}: must be 15 or 16`,
      });
    });
  }
});
