import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

import { projectRoot } from '../../testbed/project-root.js';

test('each end-to-end test runs in one of the clusters', () => {
  const folder = path.join(projectRoot(), 'test/e2e');
  const files = readdirSync(folder);
  const imported = files
    .filter((file) => file.endsWith('-cluster.ts'))
    .flatMap((file) => {
      const text = readFileSync(path.join(folder, file), 'utf8');
      return [...text.matchAll(/import(?: |\()'\.\/(.*\.test)\.js'/g)].map(
        ([, name]) => `${name}.ts`,
      );
    });
  const tests = files.filter((file) => file.endsWith('.test.ts'));
  assert.deepEqual(imported.sort(), tests.sort());
});
