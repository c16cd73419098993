import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';

import { renderFile, renderObjects } from '../../cli/testing.js';
import { toYaml } from '../../cli/yaml.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { VERSION } from '../../runner/version.js';

const MAIN = fileURLToPath(new URL('../../cli/main.js', import.meta.url));
const EXAMPLES = fileURLToPath(new URL('../../../../examples/', import.meta.url));
const API_VERSION = 'app-operator.io/v1alpha1';

interface Result {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs the command line, as a process of its own. */
function appOperator(args: readonly string[], input = '', cwd = dir): Promise<Result> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [MAIN, ...args], { cwd }, (error, out, err) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, out, err });
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

const bench = (spec: object = {}, name = 'b', namespace?: string) => ({
  apiVersion: API_VERSION,
  kind: 'AppBench',
  metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
  spec: { frameworkVersion: 'version-15', ...spec },
});
const site = (spec: object = {}, name = 's', namespace?: string) => ({
  apiVersion: API_VERSION,
  kind: 'AppSite',
  metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
  spec: { benchRef: { name: 'b' }, siteName: `${name}.example.com`, ...spec },
});

const objectsIn = (text: string): KubeObject[] =>
  parseAllDocuments(text).map((document) => document.toJS() as KubeObject);
const namesIn = (text: string): string[] =>
  objectsIn(text).map(({ kind, metadata }) => `${kind}/${metadata.name}`);

const MINIMAL = [
  'ConfigMap/b-config',
  'PersistentVolumeClaim/b-sites',
  'Secret/b-redis-auth',
  'Service/b-redis',
  'StatefulSet/b-redis',
  'NetworkPolicy/b-redis',
  'Secret/b-db-root',
  'Service/b-db',
  'StatefulSet/b-db',
  'NetworkPolicy/b-db',
  'Job/b-init',
  'Service/b-gunicorn',
  'Deployment/b-gunicorn',
  'Service/b-socketio',
  'Deployment/b-socketio',
  'ConfigMap/b-nginx',
  'Service/b-nginx',
  'Deployment/b-nginx',
  'Deployment/b-scheduler',
  'Deployment/b-worker-default',
  'Deployment/b-worker-short',
  'Deployment/b-worker-long',
  'Secret/s-admin-password',
  'Secret/s-db',
  'Secret/s-encryption-key',
  'Job/s-init',
  'Service/s-gunicorn',
  'Deployment/s-gunicorn',
  'Deployment/s-worker-default',
  'Deployment/s-worker-short',
  'Deployment/s-worker-long',
].sort();

describe('a preview', () => {
  test('is the complete graph of a bench and a site, with defaults, in one namespace', () => {
    const text = renderObjects([bench(), site()]);
    assert.deepEqual(namesIn(text).sort(), MINIMAL);
    for (const { kind, metadata } of objectsIn(text)) {
      assert.equal(metadata.namespace, 'default', `${kind}/${metadata.name}`);
      assert.equal(metadata.ownerReferences, undefined, `${kind}/${metadata.name}`);
    }
    assert.match(text, /image: frappe\/erpnext:version-15/);
  });

  test('routes the sites of a bench', () => {
    const text = renderObjects([bench(), site(), site({}, 't')]);
    const { data } = objectsIn(text).find(
      ({ kind, metadata }) => `${kind}/${metadata.name}` === 'ConfigMap/b-nginx',
    ) as KubeObject & { readonly data: unknown };
    for (const host of ['s.example.com', 't.example.com']) {
      assert.ok(JSON.stringify(data).includes(host), host);
    }
  });

  test('is the same text whatever the order and the file of its resources', () => {
    const resources = [bench(), site(), site({}, 't'), bench({}, 'b', 'other')];
    const text = renderObjects(resources);
    assert.equal(renderObjects(resources.toReversed()), text);
    assert.equal(renderObjects(resources.map((one) => structuredClone(one))), text);
    const folder = join(dir, 'order');
    mkdirSync(folder);
    resources
      .toReversed()
      .forEach((one, at) => writeFileSync(join(folder, `${at}.yaml`), toYaml([one])));
    assert.equal(renderFile(folder), text);
  });

  test('shows what KEDA and cert-manager change', () => {
    const scaling = { enabled: true, minReplicas: 0, maxReplicas: 10, queueLength: 2 };
    const resources = [
      bench({ workerAutoscaling: { short: scaling } }),
      site({ ingress: { enabled: true, tls: { enabled: true, certManagerIssuer: 'le' } } }),
    ];
    const fixed = namesIn(renderObjects(resources));
    const served = namesIn(renderObjects(resources, { serves: ['keda', 'cert-manager'] }));
    assert.deepEqual(
      served.filter((name) => !fixed.includes(name)),
      [
        'ScaledObject/b-worker-short',
        'TriggerAuthentication/b-redis-trigger',
        'ScaledObject/s-worker-short',
        'Certificate/s-tls',
      ],
    );
    assert.throws(() => renderObjects(resources, { serves: ['helm'] }), /got helm, allowed: keda/);
  });

  test('takes the settings of the operator', () => {
    const text = renderObjects([bench()], { settings: { defaultUid: 2000 } });
    assert.match(text, /runAsUser: 2000/);
    assert.doesNotMatch(text, /runAsUser: 1001/);
  });

  test('is made in another API group', () => {
    const apiGroup = 'benches.example.org';
    const moved = [bench(), site()].map((one) => ({ ...one, apiVersion: `${apiGroup}/v1alpha1` }));
    const text = renderObjects(moved, { apiGroup });
    assert.match(text, /benches\.example\.org\/owner: AppBench\.b/);
    assert.doesNotMatch(text, /app-operator\.io/);
  });
});

const REFUSED: readonly (readonly [string, readonly object[], RegExp])[] = [
  ['a site alone', [site()], /^AppSite\/s: spec\.benchRef\.name: there is no AppBench "b"/],
  [
    'a bench in another namespace',
    [bench({}, 'b', 'other'), site()],
    /^AppSite\/s: spec\.benchRef\.name: there is no AppBench "b" in namespace default in the input/,
  ],
  [
    'a missing field',
    [bench({ frameworkVersion: undefined })],
    /^AppBench\/b: spec\.frameworkVersion: Required value$/,
  ],
  ['a misspelt field', [bench({ apsJSON: '[]' })], /^AppBench\/b: spec\.apsJSON: Unknown field$/],
  [
    'a broken rule',
    [bench({ workerAutoscaling: { long: { enabled: true, minReplicas: 5, maxReplicas: 2 } } })],
    /^AppBench\/b: spec\.workerAutoscaling\.long: .*minReplicas/,
  ],
  ['invalid JSON', [bench({ appsJSON: '{' })], /^AppBench\/b: spec\.appsJSON: Invalid value: {/],
  [
    'one name for a bench and a site',
    [bench(), site({}, 'b')],
    /^AppSite\/b: metadata\.name: Invalid value: "b": the AppBench of this name/,
  ],
  [
    'one host for two sites',
    [bench(), site({ siteName: 'x.org' }), site({ siteName: 'x.org' }, 't')],
    /^AppSite\/t: spec\.siteName: Invalid value: "x\.org": AppSite s on bench b/,
  ],
  [
    'an app that the bench does not have',
    [bench(), site({ apps: [{ name: 'hrms' }] })],
    /^AppSite\/s: spec\.apps\[0\]\.name: Unsupported value: "hrms"/,
  ],
  [
    'one resource given twice',
    [bench(), bench()],
    /^AppBench\/b: metadata\.name: Duplicate value: given twice$/,
  ],
  [
    'an unknown kind',
    [{ ...bench(), kind: 'AppBnch' }],
    /^AppBnch\/b: kind: Unsupported value: "AppBnch": .*"AppBench", "AppSite"/,
  ],
  [
    'an unknown version',
    [{ ...bench(), apiVersion: 'app-operator.io/v1' }],
    /^AppBench\/b: apiVersion: Unsupported value: "app-operator\.io\/v1"/,
  ],
  [
    'a namespace that is no name',
    [bench({}, 'b', 'a b')],
    /^AppBench\/a b\/b: metadata\.namespace: Invalid value: "a b"/,
  ],
  [
    'no metadata',
    [{ apiVersion: API_VERSION, kind: 'AppBench', spec: { frameworkVersion: 'version-15' } }],
    /^AppBench: metadata\.name: Required value/,
  ],
];

describe('a preview refuses', () => {
  for (const [what, objects, message] of REFUSED) {
    test(what, () => {
      assert.throws(
        () => renderObjects(objects),
        (error: Error) => {
          assert.match(error.message, message);
          return true;
        },
      );
    });
  }

  test('a bench once, and not its sites for it', () => {
    assert.throws(
      () => renderObjects([bench({ foo: 1 }), site(), site({}, 't')]),
      (error: Error) => error.message === 'AppBench/b: spec.foo: Unknown field',
    );
  });

  test('everything that is wrong at once', () => {
    assert.throws(
      () => renderObjects([bench({ foo: 1 }), bench({ appsJSON: 'x' }, 'c'), site({ bar: 1 })]),
      (error: Error) => error.message.split('\n').length === 3,
    );
  });
});

describe('app-operator render', () => {
  test('prints the examples, byte for byte as the helper for tests does', async () => {
    const folder = await appOperator(['render', '-f', EXAMPLES]);
    assert.deepEqual([folder.code, folder.err], [0, '']);
    assert.equal(folder.out, renderFile(EXAMPLES));
    const files = ['bench.yaml', 'site.yaml'].map((name) => join(EXAMPLES, name));
    const single = await appOperator(['render', ...files.flatMap((file) => ['-f', file])]);
    assert.equal(single.out, folder.out);
    const text = files.map((file) => readFileSync(file, 'utf8')).join('---\n');
    const stdin = await appOperator(['render', '--filename=-'], text);
    assert.equal(stdin.out, folder.out);
  });

  test('reads JSON, lists and YAML as kubectl does', async () => {
    const list = { apiVersion: 'v1', kind: 'List', items: [bench(), site()] };
    const { out } = await appOperator(['render', '-f', '-'], JSON.stringify(list));
    assert.deepEqual(namesIn(out).sort(), MINIMAL);
    const yaml = `${toYaml([bench()])}  paused: yes\n---\n# nothing\n---\n`;
    assert.equal((await appOperator(['render', '-f', '-'], yaml)).code, 0);
  });

  test('takes folders in folders with -R only', async () => {
    mkdirSync(join(dir, 'deep/sites'), { recursive: true });
    write('deep/bench.yaml', toYaml([bench()]));
    write('deep/sites/site.yml', toYaml([site()]));
    write('deep/README.md', 'no: [manifest');
    const flat = await appOperator(['render', '-f', 'deep']);
    assert.ok(!namesIn(flat.out).includes('Job/s-init'));
    const deep = await appOperator(['render', '-R', '-f', 'deep']);
    assert.deepEqual(namesIn(deep.out).sort(), MINIMAL);
  });

  test('says where a problem is, and prints nothing else', async () => {
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

  test('passes over what is not ours, and what has no controller yet, with a note', async () => {
    const user = {
      apiVersion: API_VERSION,
      kind: 'SiteUser',
      metadata: { name: 'ada' },
      spec: { siteRef: { name: 's' }, email: 'ada@example.org', firstName: 'Ada' },
    };
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'p' } };
    const { code, out, err } = await appOperator(
      ['render', '-f', '-'],
      toYaml([bench(), user, secret]),
    );
    assert.equal(code, 0);
    assert.ok(namesIn(out).includes('Job/b-init'));
    assert.match(err, /^<stdin>:\d+: SiteUser\/ada: passed over: SiteUser has no controller yet$/m);
    assert.match(err, /^<stdin>:\d+: Secret\/p: passed over: not of the API group/m);
    assert.doesNotMatch(out, /ada@example|kind: SiteUser/);
  });

  test('does not print nothing without a word', async () => {
    for (const input of ['', '# nothing\n', toYaml([{ apiVersion: 'v1', kind: 'Pod' }])]) {
      const { code, out, err } = await appOperator(['render', '-f', '-'], input);
      assert.deepEqual([code, out], [1, '']);
      assert.match(err, /nothing to render/);
    }
  });

  test('says what cannot be read', async () => {
    write('broken.yaml', 'a: [1,\nb: 2\n');
    write('text.yaml', 'just text\n');
    const { code, err } = await appOperator([
      ...['render', '-f', 'missing.yaml', '-f', 'broken.yaml', '-f', 'text.yaml'],
    ]);
    assert.equal(code, 1);
    assert.match(err, /^missing\.yaml: no such file or folder$/m);
    assert.match(err, /^broken\.yaml:\d: /m);
    assert.match(err, /^text\.yaml:1: is not an object/m);
  });

  test('takes the flags of the operator', async () => {
    const input = toYaml([bench()]);
    const flags = ['--default-uid=2000', '--default-gid=3000', '--default-fsgroup=4000'];
    const { out } = await appOperator(['render', '-f', '-', ...flags], input);
    assert.match(out, /runAsUser: 2000/);
    assert.match(out, /runAsGroup: 3000/);
    assert.match(out, /fsGroup: 4000/);
  });
});

describe('app-operator', () => {
  test('prints its version, its help, the CRDs and the install manifest', async () => {
    assert.equal((await appOperator(['version'])).out, `${VERSION}\n`);
    assert.match((await appOperator(['help'])).out, /^Usage: app-operator COMMAND/);
    assert.match((await appOperator(['render', '--help'])).out, /^Usage:/);
    const crds = objectsIn((await appOperator(['crds', '--api-group=x.example.org'])).out);
    assert.equal(crds.length, 8);
    assert.ok(crds.every(({ metadata }) => metadata.name.endsWith('.x.example.org')));
    const flags = ['--image=r.example.org/op:2', '--replicas=2', '--namespaces=a,b'];
    const { out } = await appOperator(['install', ...flags]);
    assert.match(out, /image: r\.example\.org\/op:2/);
    assert.match(out, /replicas: 2/);
    assert.match(out, /--watch-namespaces=a,b/);
  });

  const WRONG: readonly (readonly [string[], RegExp])[] = [
    [['rendr'], /"rendr" is no command/],
    [['render'], /render needs -f/],
    [['render', '-f', 'x', '--serve=keda'], /--serve/],
    [['render', '-f', 'x', '--serves=helm'], /--serves: got "helm", allowed: keda/],
    [['render', '-f', 'x', '--default-uid=root'], /--default-uid: got "root", allowed: an integer/],
    [['render', 'x.yaml'], /x\.yaml/],
    [['install', '--replicas=0'], /--replicas: got "0", allowed: an integer from 1/],
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
