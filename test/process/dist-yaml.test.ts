import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { loadAll } from 'js-yaml';
import { parseAllDocuments } from 'yaml';

import { toYaml } from '../../cli/io/yaml.js';
import { projectRoot } from '../../testbed/project-root.js';
import { needs } from '../jobs/servers.js';
import { pyYaml } from '../support/py-yaml.js';

const DIST = join(projectRoot(), 'dist');
/** Templates of the chart are YAML only once Helm has rendered them: see test/chart. */
const files = [
  'install.yaml',
  'chart/Chart.yaml',
  'chart/values.yaml',
  ...readdirSync(join(DIST, 'crds')).map((name) => `crds/${name}`),
  ...readdirSync(join(DIST, 'monitoring')).map((name) => `monitoring/${name}`),
];

/** Our own parser, as \`render\` and \`diff\` read manifests. */
function own(text: string): readonly unknown[] {
  return parseAllDocuments(text, { version: '1.1' }).map((document) => document.toJS() as unknown);
}

/** Texts that a parser of YAML 1.1 or 1.2 may take for something else. */
const ODD = [
  ...['=', '<<', '<', '~', '', '?', '-', '- a', 'a: b', 'a #b', '#a', '--- a', '...', '.', '..', '=a', '<<a', '~a'],
  ...['y', 'n', 'Y', 'N', 'yes', 'no', 'on', 'off', 'On', 'OFF', 'true', 'TRUE', 'null', 'Null', 'NULL', 'None'],
  ...['010', '0o17', '0x1F', '0b11', '1_000', '1:30', '190:20:30', '1e3', '1E3', '.5', '5.', '+12e03', '685_230.15'],
  ...['+.inf', '-.INF', '.nan', '.NaN', 'Inf', 'NaN', '+1', '-0', '0', '00', '08', '1.', '1e', '0x', '_1', '1_'],
  ...['2001-01-01', '2001-12-14t21:59:43.10-05:00', '2001-12-14 21:59:43.10 -5', '0.1.2', '12:30:45', '1,000'],
  ...['*a', '&a', '!a', '%a', '@a', '`a', '|', '>', '{a}', '[a]', "'a'", '"a"', ' a', 'a ', 'é', '😀'],
]; // prettier-ignore
const ODDITIES = {
  list: [...ODD, '\t', 'a\n', '\n', 'a\nb'],
  keys: Object.fromEntries(ODD.map((text, index) => [text, index])),
  block: ODD.map((text) => `${text}\n${text}`),
};

test('every file of dist/ that is not Markdown or a template is read', () => {
  for (const name of ['install.yaml', 'chart/values.yaml', 'monitoring/grafana-dashboard.json'])
    assert.ok(files.includes(name), name);
  assert.ok(files.filter((name) => name.startsWith('crds/')).length > 7);
});

describe('js-yaml', () => {
  for (const name of files) {
    test(`reads dist/${name} as our parser does`, () => {
      const text = readFileSync(join(DIST, name), 'utf8');
      const expected = own(text);
      assert.ok(expected.length > 0);
      assert.deepEqual(loadAll(text), expected);
    });
  }

  test('reads text that looks like something else as that text', () => {
    assert.deepEqual(loadAll(toYaml([ODDITIES])), [ODDITIES]);
    assert.deepEqual(own(toYaml([ODDITIES])), [ODDITIES], 'our parser');
  });
});

describe('PyYAML', needs('PyYAML'), () => {
  let dir: string;
  let python: readonly (readonly unknown[])[];
  before(() => {
    dir = mkdtempSync(join(tmpdir(), 'app-operator-yaml-'));
    writeFileSync(join(dir, 'odd.yaml'), toYaml([ODDITIES]));
    python = pyYaml([...files.map((name) => join(DIST, name)), join(dir, 'odd.yaml')]);
  });
  after(() => rmSync(dir, { recursive: true }));

  for (const [index, name] of files.entries()) {
    test(`reads dist/${name} as our parser does`, () => {
      assert.deepEqual(python[index], own(readFileSync(join(DIST, name), 'utf8')));
    });
  }

  test('reads text that looks like something else as that text', () => {
    assert.deepEqual(python.at(-1), [ODDITIES]);
  });
});
