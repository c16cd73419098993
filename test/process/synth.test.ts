import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse, stringify } from 'yaml';

import { toYaml } from '../../cli/io/yaml.js';
import { projectRoot } from '../../testbed/project-root.js';
import { withoutUpgradeCheck } from '../../tools/prepare/cdk8s-cli.js';
import { bench, namesIn, site } from '../unit/render-manifests.js';

const ROOT = projectRoot();
const APP = fileURLToPath(new URL('../../cli/synth-app.js', import.meta.url));
const CLI = join(ROOT, 'node_modules/cdk8s-cli');

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'app-operator-synth-'));
  // The command as `npm ci` leaves it, and a home without the cache of the upgrade check.
  mkdirSync(join(dir, 'cli/bin'), { recursive: true });
  symlinkSync(join(CLI, 'lib'), join(dir, 'cli/lib'));
  writeFileSync(
    join(dir, 'cli/bin/cdk8s'),
    withoutUpgradeCheck(readFileSync(join(CLI, 'bin/cdk8s'), 'utf8')),
  );
});
afterEach(() => rmSync(dir, { recursive: true }));

/** Runs `cdk8s synth` in a folder of the user's. */
function cdk8sSynth(appOperator: unknown, env: Readonly<Record<string, string>> = {}) {
  const config = { language: 'typescript', app: `${process.execPath} ${APP}`, output: 'out' };
  writeFileSync(join(dir, 'cdk8s.yaml'), stringify({ ...config, appOperator }));
  const { status, stdout, stderr } = spawnSync(process.execPath, ['cli/bin/cdk8s', 'synth'], {
    cwd: dir,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], HOME: dir, ...env },
  });
  return { code: status, out: stdout, err: stderr };
}

const read = (file: string): string => readFileSync(join(dir, 'out', file), 'utf8');

function write(file: string, ...objects: readonly object[]): void {
  mkdirSync(join(dir, file, '..'), { recursive: true });
  writeFileSync(join(dir, file), toYaml(objects));
}

describe('cdk8s synth', () => {
  test("previews the user's manifests, one chart a bench or site, and prints nothing else", () => {
    const backup = {
      ...{ apiVersion: 'app-operator.io/v1alpha1', kind: 'SiteBackup', metadata: { name: 'once' } },
      spec: { siteRef: { name: 's' }, destination: { pvc: { claimName: 'backups' } } },
    };
    write('shop/bench.yaml', bench());
    write('shop/sites/a.yaml', site(), backup);
    write('shop/sites/b.yaml', site({}, 't'), bench({}, 'b', 'team'));
    const { code, out, err } = cdk8sSynth({ manifests: 'shop' });
    assert.deepEqual([code, err], [0, '']);
    const files = readdirSync(join(dir, 'out'));
    assert.deepEqual(files.sort(), ['appbench-b.k8s.yaml', 'appsite-s.k8s.yaml', 'appsite-t.k8s.yaml', 'install.k8s.yaml', 'team-appbench-b.k8s.yaml']); // prettier-ignore
    for (const file of files) assert.ok(out.includes(file), file);
    assert.ok(namesIn(read('appbench-b.k8s.yaml')).includes('Deployment/b-nginx'));
    const ofSite = namesIn(read('appsite-s.k8s.yaml'));
    assert.ok(ofSite.includes('Deployment/s-gunicorn'));
    assert.ok(ofSite.includes('Job/once-backup'), ofSite.join());
    assert.ok(!ofSite.some((name) => /\/[bt]-/.test(name)));
  });

  test('previews examples/ without settings; the environment wins over the file', () => {
    cpSync(join(ROOT, 'examples'), join(dir, 'examples'), { recursive: true });
    assert.equal(cdk8sSynth(undefined).code, 0);
    const charts = readdirSync(join(dir, 'out'));
    for (const name of ['appbench-demo-bench', 'appsite-demo-site', 'appsite-shop'])
      assert.ok(charts.includes(`${name}.k8s.yaml`), name);
    assert.doesNotMatch(read('appsite-shop.k8s.yaml'), /kind: Certificate/);
    const env = {
      APP_OPERATOR_MANIFESTS: 'examples/bench.yaml, examples/site-with-tls.yaml',
      APP_OPERATOR_SERVES: 'cert-manager',
    };
    assert.equal(cdk8sSynth({ manifests: 'missing', serves: ['keda'] }, env).code, 0);
    assert.deepEqual(readdirSync(join(dir, 'out')).sort(), ['appbench-demo-bench.k8s.yaml', 'appsite-shop.k8s.yaml', 'install.k8s.yaml']); // prettier-ignore
    assert.match(read('appsite-shop.k8s.yaml'), /kind: Certificate/);
  });

  const WRONG: readonly (readonly [string, unknown, RegExp])[] = [
    ['no folder', undefined, /^synth: nothing to preview: no folder examples\/; name yours as appOperator\.manifests in cdk8s\.yaml, or in APP_OPERATOR_MANIFESTS$/m],
    ['a missing folder', { manifests: 'x' }, /^synth: x: no such file or directory$/m],
    ['settings of another type', { manifests: 7 }, /^synth: cdk8s\.yaml: appOperator\.manifests: got 7, allowed: a text or a list of texts$/m],
    ['an unknown integration', { manifests: 'shop', serves: 'helm' }, /^synth: serves: got "helm", allowed: keda, cert-manager/m],
    ['a wrong bench', { manifests: 'wrong' }, /^synth: wrong\/b\.yaml:7: AppBench\/b: spec\.foo: Unknown field$/m],
  ]; // prettier-ignore
  for (const [what, settings, message] of WRONG) {
    test(`reports ${what} in one line, without a stack of ours`, () => {
      write('shop/bench.yaml', bench());
      write('wrong/b.yaml', bench({ foo: 1 }));
      const { code, err } = cdk8sSynth(settings);
      assert.notEqual(code, 0);
      assert.match(err, message);
      assert.doesNotMatch(err, /^ {4}at .*(dist\/lib|_loadurl)|A new version/m);
    });
  }

  test('of this repository previews the examples', () => {
    const { app, appOperator } = parse(readFileSync(join(ROOT, 'cdk8s.yaml'), 'utf8')) as {
      readonly app: string;
      readonly appOperator: { readonly manifests: string };
    };
    assert.match(app, /dist\/lib\/cli\/synth-app\.js dist\/install\.yaml$/);
    assert.equal(appOperator.manifests, 'examples/');
  });

  test('has its upgrade check switched off once, after the first line', () => {
    const once = withoutUpgradeCheck('#!/usr/bin/env node\nrequire("../lib/cli");\n');
    assert.match(once, /^#!\/usr\/bin\/env node\nprocess\.env\.CDK8S_CHECK_UPGRADE \?\?= 'false'/);
    assert.equal(withoutUpgradeCheck(once), once);
  });
});
