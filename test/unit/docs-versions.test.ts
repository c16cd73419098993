import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

import {
  DEFAULT_MINOR,
  MINORS,
  pinned,
  readVersions,
} from '../../testbed/controlplane/versions.js';
import { projectRoot } from '../../testbed/project-root.js';
import { cellsOf } from '../support/docs-tables.js';

const read = (file: string): string => readFileSync(path.join(projectRoot(), file), 'utf8');
const support = read('docs/support.md');
/** The cells of the rows of a page whose first cell is a text. */
const rows = (page: string, first: string): readonly (readonly string[])[] =>
  page
    .split('\n')
    .map(cellsOf)
    .filter(([cell]) => cell === first);
const goMod = (folder: string): string => read(`testbed/${folder}/go/go.mod`);

for (const minor of MINORS)
  test(`the support table has one row for the pinned release of ${minor}`, () => {
    const version = readVersions(minor).kubernetes.slice(1);
    assert.equal(rows(support, version).length, 1, version);
  });

test('the support table has no other release of a minor that runs', () => {
  const pins = MINORS.map((minor) => readVersions(minor).kubernetes.slice(1));
  const listed = [...support.matchAll(/^\| (\d+\.\d+\.\d+) /gm)].map(([, version = '']) => version);
  const stale = listed.filter(
    (version) => MINORS.some((minor) => version.startsWith(`${minor}.`)) && !pins.includes(version),
  );
  assert.deepEqual(stale, []);
});

test('the support table names the servers that all minors share', () => {
  const { etcd, kwok } = readVersions(DEFAULT_MINOR);
  assert.ok(support.includes(`The default of the tests is ${DEFAULT_MINOR}.`));
  assert.ok(support.includes(`with etcd ${etcd.slice(1)};`));
  assert.ok(support.includes(`simulated by kwok ${kwok.slice(1)}.`));
});

const COMPONENTS: Readonly<Record<string, readonly [folder: string, module: string]>> = {
  KEDA: ['keda', 'github.com/kedacore/keda/v2'],
  Helm: ['helm', 'helm.sh/helm/v3'],
};
for (const [name, [folder, module]] of Object.entries(COMPONENTS))
  test(`the support table has the pinned version of ${name}`, () => {
    const found = rows(support, name);
    assert.ok(found.length > 0);
    for (const [, version] of found) assert.equal(version, pinned(goMod(folder), module).slice(1));
  });

test('the page for a start says on which release the tests run', () => {
  const [row] = rows(read('docs/before-you-begin.md'), 'Kubernetes');
  assert.ok(row?.[2]?.startsWith(readVersions(DEFAULT_MINOR).kubernetes.slice(1)), row?.[2]);
});

test('every page has the oldest Kubernetes that the chart installs on', () => {
  const oldest = /^kubeVersion: ['"]?>=(\d+\.\d+)\./m.exec(read('dist/chart/Chart.yaml'))?.[1];
  assert.ok(oldest);
  assert.ok(support.includes(`The operator needs Kubernetes ${oldest} or newer.`));
  const [row] = rows(read('docs/before-you-begin.md'), 'Kubernetes');
  assert.equal(row?.[1], `${oldest} or newer`);
});
