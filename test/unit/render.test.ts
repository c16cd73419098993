import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { renderFile, renderObjects } from '../../cli/testing.js';
import { toYaml } from '../../cli/io/yaml.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { API_VERSION, bench, MINIMAL, namesIn, objectsIn, site } from './render-manifests.js';

let dir: string;
before(() => {
  dir = mkdtempSync(join(tmpdir(), 'app-operator-render-'));
});
after(() => rmSync(dir, { recursive: true }));

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

  test('shows the jobs of a site as they are once it is Ready, and misses the site of one without', () => {
    const job = (schedule?: string) => ({
      apiVersion: API_VERSION,
      kind: 'SiteJob',
      metadata: { name: 'j' },
      spec: { siteRef: { name: 's' }, command: ['migrate'], ...(schedule ? { schedule } : {}) },
    });
    const find = (text: string, kind: string) =>
      objectsIn(text).find(({ kind: one, metadata }) => one === kind && metadata.name === 'j-run');
    assert.ok(find(renderObjects([bench(), site(), job()]), 'Job'));
    const cron = find(renderObjects([bench(), site(), job('@daily')]), 'CronJob');
    const { spec } = cron as unknown as { readonly spec: { readonly suspend: boolean } };
    assert.equal(spec.suspend, false);
    for (const one of [job(), job('@daily')]) {
      assert.throws(
        () => renderObjects([bench(), one]),
        /there is no AppSite "s" in namespace default in the input: add it to the input/,
      );
    }
  });

  test('shows what the specs ask of KEDA and cert-manager', () => {
    const scaling = { enabled: true, minReplicas: 0, maxReplicas: 10, queueLength: 2 };
    const resources = [
      bench({ workerAutoscaling: { short: scaling } }),
      site({ ingress: { enabled: true, tls: { enabled: true, certManagerIssuer: 'le' } } }),
    ];
    const fixed = namesIn(renderObjects(resources, { serves: [] }));
    const text = renderObjects(resources);
    assert.equal(renderObjects(resources, { serves: ['cert-manager', 'keda'] }), text);
    const served = namesIn(text);
    assert.deepEqual(
      served.filter((name) => !fixed.includes(name)),
      [
        'ScaledObject/b-worker-short',
        'TriggerAuthentication/b-redis-trigger',
        'ScaledObject/s-worker-short',
        'Certificate/s-tls',
      ],
    );
    assert.throws(
      () => renderObjects(resources, { serves: ['helm'] }),
      /got "helm", allowed: keda/,
    );
  });

  const DATABASE = { provider: 'postgres', mode: 'operator', clusterRef: { name: 'pg' } };
  const TLS = { enabled: true, tls: { enabled: true, secretName: 'own' } };
  const NAMED: readonly (readonly [string, object, object, string])[] = [
    ['cert-manager of its bench', { domainConfig: { issuer: 'le' } }, { ingress: { ...TLS, tls: { enabled: true } } }, 'Certificate/s-tls'],
    ['KEDA for a queue of its own', { workers: [{ name: 'slow', queues: ['slow'], autoscaling: { enabled: true, minReplicas: 0, maxReplicas: 3, queueLength: 5 } }] }, {}, 'ScaledObject/b-worker-slow'],
    ['the MariaDB operator', { dbConfig: { mode: 'operator', mariadbRef: { name: 'db' } } }, { dbConfig: { mode: 'operator' } }, 'Database/s-db'],
    ['CloudNativePG', { dbConfig: DATABASE }, { dbConfig: { mode: 'operator' } }, 'Database/s-db'],
    ['Traefik', {}, { ingress: { ...TLS, className: 'traefik-internal' } }, 'Middleware/s-ingress'],
    ['Traefik of its bench', { domainConfig: { ingressClassName: 'traefik' } }, { ingress: TLS }, 'Middleware/s-ingress'],
  ]; // prettier-ignore
  for (const [what, ofBench, ofSite, object] of NAMED) {
    test(`takes what a spec names as served: ${what}`, () => {
      const names = namesIn(renderObjects([bench(ofBench), site(ofSite)]));
      assert.ok(names.includes(object), names.join('\n'));
    });
  }

  test('takes nothing as served that no spec names', () => {
    const resources = [bench(), site({ ingress: { enabled: true, className: 'nginx' } })];
    assert.equal(renderObjects(resources), renderObjects(resources, { serves: [] }));
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
    'a misspelt field of metadata',
    [{ ...bench(), metadata: { name: 'b', lables: {} } }],
    /^AppBench\/b: metadata\.lables: Unknown field$/,
  ],
  [
    'an unknown field of metadata',
    [{ ...bench(), metadata: { name: 'b', owner: 'x' } }],
    /^AppBench\/b: metadata\.owner: Unknown field$/,
  ],
  [
    'a label that is no text',
    [{ ...bench(), metadata: { name: 'b', labels: { a: 1 } } }],
    /^AppBench\/b: metadata\.labels\.a: Invalid value: 1: must be text; write it in quotes$/,
  ],
  [
    'a label with a blank',
    [{ ...bench(), metadata: { name: 'b', labels: { a: 'x y' } } }],
    /^AppBench\/b: metadata\.labels\.a: Invalid value: "x y": must be at most 63 letters/,
  ],
  [
    'a key of a label that is none',
    [{ ...bench(), metadata: { name: 'b', labels: { 'a b': '' } } }],
    /^AppBench\/b: metadata\.labels: Invalid value: "a b": must be a qualified name$/,
  ],
  [
    'labels that are a list',
    [{ ...bench(), metadata: { name: 'b', labels: ['a'] } }],
    /^AppBench\/b: metadata\.labels: Invalid value: \["a"\]: must be a mapping of text$/,
  ],
  [
    'an annotation that is no text',
    [{ ...bench(), metadata: { name: 'b', annotations: { a: true } } }],
    /^AppBench\/b: metadata\.annotations\.a: Invalid value: true: must be text/,
  ],
  [
    'a namespace that is no text',
    [{ ...bench(), metadata: { name: 'b', namespace: 7 } }],
    /^AppBench\/7\/b: metadata\.namespace: Invalid value: 7: must be text/,
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
