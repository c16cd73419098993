import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { projectRoot } from '../../testbed/project-root.js';
import { frappeVersion, tagIn } from '../e2e/framework.js';

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

suite('FRAMEWORK_IMAGE of the end-to-end tests', () => {
  const manifest = (...names: readonly string[]): string => JSON.stringify([{ RepoTags: names }]);

  for (const name of ['frappe/erpnext:version-16', 'docker.io/frappe/erpnext:version-16']) {
    test(`${name} gives the tag`, () => {
      assert.equal(tagIn(manifest(name)), 'version-16');
    });
  }
  test('an OCI archive gives the tag', () => {
    const annotations = { 'io.containerd.image.name': 'docker.io/frappe/erpnext:v16.4.1' };
    assert.equal(tagIn(JSON.stringify({ manifests: [{ annotations }] })), 'v16.4.1');
  });
  for (const [names, found] of [
    [[], 'it has none'],
    [['frappe/bench:latest'], 'frappe/bench:latest'],
    [['frappe/erpnext'], 'frappe/erpnext'],
    [['a.example/frappe/erpnext:v16'], 'a.example/frappe/erpnext:v16'],
    [['frappe/erpnext:a', 'frappe/erpnext:b'], 'frappe/erpnext:a, frappe/erpnext:b'],
  ] as const) {
    test(`${found} is refused`, () => {
      assert.throws(() => tagIn(manifest(...names)), {
        message: `FRAMEWORK_IMAGE: the archive must have one name, frappe/erpnext:<tag>: ${found}`,
      });
    });
  }

  test('what only the stand-in has is named in one file, which skips the tests of other images', () => {
    const folder = path.join(projectRoot(), 'test/e2e');
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .filter((file) => readFileSync(path.join(folder, file), 'utf8').includes('/frappe.tests.'));
    assert.deepEqual(files, ['framework.ts']);
  });
});
