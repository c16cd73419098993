import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { renderFile } from '../../cli/testing.js';
import { toYaml } from '../../cli/io/yaml.js';
import { DEFINITIONS } from '../../constructs/registry.js';
import { VERSION } from '../../runner/version.js';
import { API_VERSION, bench, MINIMAL, namesIn, objectsIn, site } from '../unit/render-manifests.js';

const MAIN = fileURLToPath(new URL('../../cli/main.js', import.meta.url));
const EXAMPLES = fileURLToPath(new URL('../../../../examples/', import.meta.url));

interface Result {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs the command line, as a process of its own. */
function appOperator(
  args: readonly string[],
  input = '',
  cwd = dir,
  env: Readonly<Record<string, string>> = {},
): Promise<Result> {
  return new Promise((resolve) => {
    const options = { cwd, maxBuffer: 2 ** 26, env: { ...process.env, ...env } };
    const child = execFile(process.execPath, [MAIN, ...args], options, (error, out, err) => {
      resolve({ code: error ? Number(error.code) : 0, out, err });
    });
    child.stdin?.end(input);
  });
}

let dir: string;
before(() => {
  dir = mkdtempSync(join(tmpdir(), 'app-operator-render-'));
});
after(() => rmSync(dir, { recursive: true }));

function write(name: string, text: string): string {
  writeFileSync(join(dir, name), text);
  return name;
}

describe('app-operator render', () => {
  test('prints the examples, byte for byte like the test helper', async () => {
    const files = ['bench.yaml', 'site.yaml'].map((name) => join(EXAMPLES, name));
    const { code, out, err } = await appOperator([
      'render',
      ...files.flatMap((file) => ['-f', file]),
    ]);
    assert.deepEqual([code, err], [0, '']);
    assert.equal(out, renderFile(files));
    const text = files.map((file) => readFileSync(file, 'utf8')).join('---\n');
    assert.equal((await appOperator(['render', '--filename=-'], text)).out, out);
    assert.equal((await appOperator(['render', '-f', EXAMPLES])).out, renderFile(EXAMPLES));
  });

  test('reads JSON, lists and YAML like kubectl', async () => {
    const list = { apiVersion: 'v1', kind: 'List', items: [bench(), site()] };
    const { out } = await appOperator(['render', '-f', '-'], JSON.stringify(list));
    assert.deepEqual(namesIn(out).sort(), MINIMAL);
    const yaml = `${toYaml([bench()])}  paused: yes\n---\n# nothing\n---\n`;
    assert.equal((await appOperator(['render', '-f', '-'], yaml)).code, 0);
  });

  test('reads folders in folders with -R only', async () => {
    mkdirSync(join(dir, 'deep/sites'), { recursive: true });
    write('deep/bench.yaml', toYaml([bench()]));
    write('deep/sites/site.yml', toYaml([site()]));
    write('deep/README.md', 'no: [manifest');
    const flat = await appOperator(['render', '-f', 'deep']);
    assert.ok(!namesIn(flat.out).includes('Job/s-init'));
    const deep = await appOperator(['render', '-R', '-f', 'deep']);
    assert.deepEqual(namesIn(deep.out).sort(), MINIMAL);
  });

  test('prints the line of a problem, and no objects', async () => {
    write(
      'wrong.yaml',
      `${toYaml([bench()])}---
apiVersion: ${API_VERSION}
kind: AppSite
metadata:
  name: shop
spec:
  benchRef:
    name: nowhere
  siteName: shop.example.com
  componentReplicas:
    gunicorn: many
`,
    );
    const { code, out, err } = await appOperator(['render', '-f', 'wrong.yaml']);
    assert.deepEqual([code, out], [1, '']);
    assert.match(
      err,
      /^wrong\.yaml:17: AppSite\/shop: spec\.componentReplicas\.gunicorn: Invalid value: .*\n$/,
    );
  });

  test('skips other objects, with a note', async () => {
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'p' } };
    const { code, out, err } = await appOperator(['render', '-f', '-'], toYaml([bench(), secret]));
    assert.equal(code, 0);
    assert.ok(namesIn(out).includes('Job/b-init'));
    assert.match(err, /^<stdin>:\d+: Secret\/p: skipped: not of the API group/m);
  });

  test('fails when the input has no resources', async () => {
    for (const input of ['', '# nothing\n', toYaml([{ apiVersion: 'v1', kind: 'Pod' }])]) {
      const { code, out, err } = await appOperator(['render', '-f', '-'], input);
      assert.deepEqual([code, out], [1, '']);
      assert.match(err, /nothing to render/);
    }
  });

  test('reports files that it cannot read', async () => {
    write('broken.yaml', 'a: [1,\nb: 2\n');
    write('text.yaml', 'just text\n');
    const { code, err } = await appOperator([
      ...['render', '-f', 'missing.yaml', '-f', 'broken.yaml', '-f', 'text.yaml'],
    ]);
    assert.equal(code, 1);
    assert.match(err, /^missing\.yaml: no such file or directory$/m);
    assert.match(err, /^broken\.yaml:\d: /m);
    assert.match(err, /^text\.yaml:1: not an object/m);
  });

  test('accepts the settings flags of the operator', async () => {
    const input = toYaml([bench()]);
    const flags = ['--default-uid=2000', '--default-gid=3000', '--default-fsgroup=4000'];
    const { out } = await appOperator(['render', '-f', '-', ...flags], input);
    assert.match(out, /runAsUser: 2000/);
    assert.match(out, /runAsGroup: 3000/);
    assert.match(out, /fsGroup: 4000/);
  });

  test('reads APP_DEFAULT_* as the operator does, and a flag wins', async () => {
    const input = toYaml([bench()]);
    const env = { APP_DEFAULT_UID: '3001', APP_DEFAULT_GID: '3002', APP_DEFAULT_FSGROUP: '3003' };
    const { out } = await appOperator(['render', '-f', '-'], input, dir, env);
    assert.match(out, /runAsUser: 3001/);
    assert.match(out, /runAsGroup: 3002/);
    assert.match(out, /fsGroup: 3003/);
    const flag = await appOperator(['render', '-f', '-', '--default-uid=4001'], input, dir, env);
    assert.match(flag.out, /runAsUser: 4001/);
    assert.match(flag.out, /runAsGroup: 3002/);
    const empty = await appOperator(['render', '-f', '-'], input, dir, { APP_DEFAULT_UID: '' });
    assert.match(empty.out, /runAsUser: 1001/);
    const wrong = await appOperator(['render', '-f', '-'], input, dir, { APP_DEFAULT_UID: 'me' });
    assert.equal(wrong.code, 2);
    assert.match(wrong.err, /APP_DEFAULT_UID: got "me", allowed: an integer from 1/);
  });
});

describe('app-operator', () => {
  test('prints its version, its help, the CRDs and the install manifest', async () => {
    assert.equal((await appOperator(['version'])).out, `${VERSION}\n`);
    assert.match((await appOperator(['help'])).out, /^Usage: app-operator COMMAND/);
    assert.match((await appOperator(['render', '--help'])).out, /^Usage:/);
    const crds = objectsIn((await appOperator(['crds', '--api-group=x.example.org'])).out);
    assert.equal(crds.length, DEFINITIONS.length);
    assert.ok(crds.every(({ metadata }) => metadata.name.endsWith('.x.example.org')));
    const flags = ['--image=r.example.org/op:2', '--replicas=2', '--namespaces=a,b'];
    const { out } = await appOperator(['install', ...flags]);
    assert.match(out, /image: r\.example\.org\/op:2/);
    assert.match(out, /replicas: 2/);
    assert.match(out, /--watch-namespaces=a,b/);
  });

  const WRONG: readonly (readonly [string[], RegExp])[] = [
    [['rendr'], /unknown command "rendr"/],
    [['render'], /render needs -f/],
    [['render', '-f', 'x', '--serve=keda'], /--serve/],
    [['render', '-f', 'x', '--serves=helm'], /--serves: got "helm", allowed: keda/],
    [['render', '-f', 'x', '--default-uid=root'], /--default-uid: got "root", allowed: an integer/],
    [['render', 'x.yaml'], /x\.yaml/],
    [['install', '--replicas=0'], /--replicas: got "0", allowed: an integer from 1/],
    [['install', '--namespaced'], /--namespaced needs --namespaces/],
    [['install', '--namespaces=A'], /--namespaces: got "A"/],
    [['install', '--image=a b'], /--image: got "a b"/],
    [['crds', '--api-group=x'], /--api-group: got "x"/],
    [['version', '--long'], /--long/],
  ];
  for (const [args, message] of WRONG) {
    test(`refuses ${args.join(' ')}`, async () => {
      const { code, out, err } = await appOperator(args);
      assert.deepEqual([code, out], [2, '']);
      assert.match(err, message);
      assert.match(err, /Usage: app-operator/);
    });
  }
});
