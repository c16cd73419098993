import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { linkFolder } from '../support/link-folder.js';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const SCHEMA = 'constructs/kinds/site-job/schema.generated.ts';

const copy = mkdtempSync(join(tmpdir(), 'app-operator-generate-'));
after(() => {
  rmSync(copy, { recursive: true });
});

test('`npm run generate` writes the schema of a kind that has none yet', () => {
  const left = new Set(['.git', 'node_modules']);
  cpSync(ROOT, copy, { recursive: true, filter: (path) => !left.has(relative(ROOT, path)) });
  linkFolder(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  rmSync(join(copy, SCHEMA));
  for (const suffix of ['.js', '.js.map', '.d.ts']) {
    rmSync(join(copy, 'dist/lib', SCHEMA.replace(/\.ts$/, suffix)));
  }
  const output = execFileSync('npm', ['run', '-s', 'generate'], { cwd: copy, encoding: 'utf8' });
  assert.equal(output, `wrote ${SCHEMA}\n`, 'everything else is as it is committed');
  assert.equal(readFileSync(join(copy, SCHEMA), 'utf8'), readFileSync(join(ROOT, SCHEMA), 'utf8'));
});
