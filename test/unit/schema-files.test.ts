import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { differences, leftovers, write } from '../../tools/generate/output.js';

let root: string;
before(() => {
  root = mkdtempSync(join(tmpdir(), 'app-operator-generate-'));
  mkdirSync(join(root, 'constructs'));
});
after(() => {
  rmSync(root, { recursive: true });
});

suite('Generated files', () => {
  test('are written where they differ, and nowhere else', () => {
    const files = new Map([
      ['dist/crds/a.yaml', 'a'],
      ['dist/crds/b.yaml', 'b'],
    ]);
    assert.deepEqual(write(root, files), [...files.keys()]);
    writeFileSync(join(root, 'dist/crds/b.yaml'), 'changed by hand');
    assert.deepEqual(differences(root, files), ['dist/crds/b.yaml']);
    assert.deepEqual(write(root, files), ['dist/crds/b.yaml']);
    assert.equal(readFileSync(join(root, 'dist/crds/b.yaml'), 'utf8'), 'b');
  });
  test('are found where they are no longer generated', () => {
    assert.deepEqual(leftovers(root, new Map([['dist/crds/a.yaml', 'a']])), ['dist/crds/b.yaml']);
  });
});
