import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import ts from 'typescript';
import { differences, leftovers, write } from '../../tools/generate/output.js';
import { scriptFiles } from '../../tools/generate/scripts.js';

let root: string;
before(() => {
  root = mkdtempSync(join(tmpdir(), 'app-operator-generate-'));
});
after(() => {
  rmSync(root, { recursive: true });
});

suite('Generated files', () => {
  test('hold the scripts of a folder byte for byte', async () => {
    const scripts = join(root, 'constructs/x/scripts');
    mkdirSync(scripts, { recursive: true });
    const content = `#!/bin/sh\nprintf '%s\\n' "a'b" \\"c\\" \${X} \`id\` \\\\ ü😀\u2028\ttab\r\nno line end`;
    writeFileSync(join(scripts, 'a.sh'), content);
    writeFileSync(join(scripts, 'empty.py'), '');
    writeFileSync(join(scripts, 'notes.txt'), 'not a script');
    const text = scriptFiles(root).get('constructs/x/scripts.generated.ts') ?? '';
    const url = `data:text/javascript,${encodeURIComponent(ts.transpile(text, { module: ts.ModuleKind.ESNext }))}`;
    const module = (await import(url)) as { scripts: Readonly<Record<string, string>> };
    assert.deepEqual(module.scripts, { 'a.sh': content, 'empty.py': '' });
  });
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
