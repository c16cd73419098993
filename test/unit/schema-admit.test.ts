import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Schema } from '../../constructs/kit/definition.js';
import type { Problem } from '../../constructs/kit/errors.js';
import type { Resource } from '../../constructs/kit/object.js';
import { admit } from '../../constructs/kit/schema/admit.js';
import { assertGolden } from '../golden/compare.js';
import { CHANGES, REFUSED } from './schema-corpus.js';
import { definitionOf } from './schema-definitions.js';
import { aBench, aManifest, aSite, MINIMAL, minimal, type Manifest } from './schema-manifests.js';

const MESSAGES = fileURLToPath(
  new URL('../../../../test/unit/schema-refused.txt', import.meta.url),
);
/** Long values are cut: the end has the problem. */
const shortened = (message: string): string => message.replace(/(.{80}).{100,}(.{160})$/, '$1…$2');
const admitted = (manifest: Manifest, old?: Manifest) => {
  const definition = definitionOf(manifest.kind);
  return admit(definition, manifest, old ? { old: admit(definition, old).object } : {});
};
const messages = (problems: readonly Problem[]) => problems.map((p) => `${p.path}: ${p.message}`);

suite('admit fills in defaults', () => {
  test('of nested objects, outside in', () => {
    const { object, problems } = admitted(aBench({ storage: { size: '20Gi' } }));
    assert.deepEqual(problems, []);
    assert.deepEqual(object.spec, {
      frameworkVersion: 'version-15',
      storage: { size: '20Gi', accessMode: 'ReadWriteMany' },
      dbConfig: { provider: 'mariadb', mode: 'managed' },
      metrics: { enabled: true },
      deletionPolicy: 'Retain',
    });
  });
  test('in place of null, if the field has a default; otherwise null is removed', () => {
    const { object, problems } = admitted(aBench({ deletionPolicy: null, image: null }));
    assert.deepEqual(problems, []);
    assert.deepEqual(object.spec, admitted(aBench()).object.spec);
  });
  test('in the items of lists', () => {
    const { object } = admitted(minimal('SiteDashboard'));
    const { charts } = object.spec as { charts: unknown };
    assert.deepEqual(charts, [{ chart: { document: 'Orders' }, width: 'Full' }]);
  });
  test('and leaves the manifest as it was', () => {
    const manifest = aBench({ storage: { unknown: 1 } });
    const before = structuredClone(manifest);
    admitted(manifest);
    assert.deepEqual(manifest, before);
  });
});

suite('admit drops what the schema does not know', () => {
  test('and reports where', () => {
    const manifest = {
      ...aBench({ storage: { sise: '1Gi' }, apps: [{ name: 'a', branch: 'x' }], extra: 1 }),
      data: {},
    };
    const { object, pruned } = admitted(manifest);
    assert.deepEqual(pruned, ['data', 'spec.storage.sise', 'spec.apps[0].branch', 'spec.extra']);
    assert.ok(!('data' in object));
    assert.deepEqual((object.spec as { apps: unknown }).apps, [{ name: 'a' }]);
  });
  test('but keeps the fields of maps and of opaque objects', () => {
    const podTemplate = { labels: { 'a/b': 'c' }, affinity: { nodeAffinity: { x: [null] } } };
    const { object, pruned } = admitted(aBench({ podTemplate }));
    assert.deepEqual(pruned, []);
    assert.deepEqual((object.spec as { podTemplate: unknown }).podTemplate, podTemplate);
  });
  test('and passes metadata and status through', () => {
    const manifest = { ...aBench(), status: { ready: true } };
    const { object } = admitted(manifest);
    assert.deepEqual(object.metadata, manifest.metadata);
    assert.deepEqual(object.status, { ready: true });
  });
});

suite("admit's messages are the API server's", () => {
  const CASES: readonly (readonly [reason: string, manifest: Manifest, ...messages: string[]])[] = [
    ['required', aBench({ frameworkVersion: undefined }), 'spec.frameworkVersion: Required value'],
    [
      'type',
      aBench({ componentReplicas: { gunicorn: '3' } }),
      'spec.componentReplicas.gunicorn: Invalid value: "string": spec.componentReplicas.gunicorn in body must be of type integer: "string"',
    ],
    [
      'enum',
      aSite({ dbConfig: { mode: 'mysql' } }),
      'spec.dbConfig.mode: Unsupported value: "mysql": supported values: "shared", "dedicated", "external", "operator"',
    ],
    [
      'pattern, with control characters',
      aBench({ frameworkVersion: 'a\u0000\u0007\n"ü' }),
      String.raw`spec.frameworkVersion: Invalid value: "a\x00\a\n\"ü": spec.frameworkVersion in body should match '^[A-Za-z0-9_][A-Za-z0-9._-]*$'`,
    ],
    [
      'too short',
      aBench({ frameworkVersion: '' }),
      'spec.frameworkVersion: Invalid value: "": spec.frameworkVersion in body should be at least 1 chars long',
    ],
    [
      'too long, counted in characters',
      minimal('SiteUser', { firstName: '😀'.repeat(141) }),
      'spec.firstName: Too long: may not be more than 140 bytes',
    ],
    [
      'too small',
      aBench({ componentReplicas: { nginx: -1 } }),
      'spec.componentReplicas.nginx: Invalid value: -1: spec.componentReplicas.nginx in body should be greater than or equal to 0',
    ],
    [
      'too large',
      aBench({
        dbConfig: { mode: 'external', host: 'db', rootSecretRef: { name: 's' }, port: 70000 },
      }),
      'spec.dbConfig.port: Invalid value: 70000: spec.dbConfig.port in body should be less than or equal to 65535',
    ],
    [
      'too few items',
      minimal('SiteDashboard', { charts: [] }),
      'spec.charts: Invalid value: 0: spec.charts in body should have at least 1 items',
    ],
    [
      'too many items',
      aBench({ apps: Array.from({ length: 101 }, (_, i) => ({ name: `a${i}` })) }),
      'spec.apps: Too many: 101: must have at most 100 items',
    ],
    [
      'twice in a map',
      aBench({ apps: [{ name: 'a' }, { name: 'a' }] }),
      'spec.apps[1]: Duplicate value: {"name":"a"}',
    ],
    [
      'twice in a set',
      minimal('SiteUser', { roles: ['A', 'A'] }),
      'spec.roles[1]: Duplicate value: "A"',
    ],
    [
      'rule',
      aBench({ dbConfig: { mode: 'external' } }),
      'spec.dbConfig: Invalid value: mode external needs host and rootSecretRef',
    ],
    [
      'rule with the values, and what to patch',
      aBench({
        componentResources: {
          gunicorn: { requests: { cpu: '1', memory: '2Gi' }, limits: { memory: '1Gi' } },
        },
      }),
      'spec.componentResources.gunicorn: Invalid value: requests.memory 2Gi is greater than limits.memory 1Gi; patch requests.memory together with the limit, or raise limits.memory',
    ],
    [
      'name',
      aBench({}, 'a'.repeat(46)),
      'metadata.name: Invalid value: must have at most 45 characters: child objects add suffixes to it',
    ],
    [
      'no name',
      { ...aBench(), metadata: {} },
      'metadata.name: Required value: name or generateName is required',
    ],
    [
      'another group',
      { ...aBench(), apiVersion: 'example.com/v1' },
      'apiVersion: Unsupported value: "example.com/v1": supported values: "app-operator.io/v1alpha1"',
    ],
  ];
  for (const [reason, manifest, ...expected] of CASES) {
    test(reason, () => {
      assert.deepEqual(messages(admitted(manifest).problems), expected);
    });
  }
  test('rules wait until types, lengths and choices are right', () => {
    const { problems } = admitted(aBench({ apps: [], appsJSON: '[]', paused: 1 }));
    assert.deepEqual(
      problems.map(({ path }) => path),
      ['spec.paused'],
    );
  });
  test('the group can be another one', () => {
    const manifest = { ...aBench(), apiVersion: 'example.com/v1alpha1' };
    assert.deepEqual(
      admit(definitionOf('AppBench'), manifest, { group: 'example.com' }).problems,
      [],
    );
  });
});

suite('admit takes', () => {
  for (const kind of Object.keys(MINIMAL)) {
    test(`the least ${kind}`, () => {
      const { problems, pruned } = admitted(minimal(kind));
      assert.deepEqual([problems, pruned], [[], []]);
    });
  }
  test('names at the limit', () => {
    assert.deepEqual(admitted(aBench({}, 'a'.repeat(45))).problems, []);
    assert.deepEqual(admitted(minimal('SiteUser', {}, 'a'.repeat(54))).problems, []);
  });
});

suite('admit refuses', () => {
  test('in the words of schema-refused.txt', () => {
    const lines = [
      ...REFUSED.map(([reason, manifest]) => ({ reason, manifest, ...admitted(manifest) })),
      ...CHANGES.map(([change, from, manifest]) => {
        return { reason: `change: ${change}`, manifest, ...admitted(manifest, from) };
      }),
    ].flatMap(({ reason, manifest, problems }) =>
      messages(problems).map((message) => `${manifest.kind}, ${reason}: ${shortened(message)}\n`),
    );
    assertGolden(MESSAGES, lines.join(''));
  });
  for (const [reason, manifest, ...paths] of REFUSED) {
    test(`${reason} (${manifest.kind})`, () => {
      const { problems } = admitted(manifest);
      assert.deepEqual(problems.map(({ path }) => path).sort(), [...paths].sort());
    });
  }
});

suite('admit validates an update', () => {
  const site = aSite({ siteName: 'a.example.com' });
  test('by the rules about changes', () => {
    assert.deepEqual(messages(admitted(aSite({ siteName: 'b.example.com' }), site).problems), [
      "spec: Invalid value: siteName is immutable: it names the site's folder and is what requests are routed by",
    ]);
    assert.deepEqual(
      admitted(aSite({ siteName: 'a.example.com', domain: 'b.com' }), site).problems,
      [],
    );
  });
  test('below optional fields only where there was a value before', () => {
    const fixed = [{ rule: 'self == oldSelf', message: 'is immutable' }];
    const color: Schema = { type: 'string', 'x-kubernetes-validations': fixed };
    const spec: Schema = { type: 'object', properties: { color } };
    const definition = { ...definitionOf('AppBench'), spec };
    const change = (from: object, to: object): string[] =>
      messages(
        admit(definition, aManifest('AppBench', to), {
          old: aManifest('AppBench', from) as unknown as Resource,
        }).problems,
      );
    assert.deepEqual(change({}, { color: 'red' }), []);
    assert.deepEqual(change({ color: 'red' }, {}), []);
    assert.deepEqual(change({ color: 'red' }, { color: 'blue' }), [
      'spec.color: Invalid value: "blue": is immutable',
    ]);
  });
  test('and has the defaults of objects that were stored without them', () => {
    const old = aManifest('AppBench', { frameworkVersion: 'version-15' }) as unknown as Resource;
    const definition = definitionOf('AppBench');
    assert.deepEqual(admit(definition, aBench(), { old }).problems, []);
    const postgres = aBench({ dbConfig: { provider: 'postgres' } });
    const { problems } = admit(definition, postgres, { old });
    assert.deepEqual(
      problems.map(({ path }) => path),
      ['spec.dbConfig'],
    );
  });
  test('and leaves alone what was wrong before and is unchanged', () => {
    const definition = definitionOf('AppBench');
    const image = { repository: 'NOT VALID' };
    const old = aManifest('AppBench', { frameworkVersion: 'v15', image }) as unknown as Resource;
    assert.deepEqual(admit(definition, aBench({ image }), { old }).problems, []);
    const worse = { repository: 'NOT VALID', tag: '-' };
    assert.deepEqual(
      admit(definition, aBench({ image: worse }), { old }).problems.map(({ path }) => path),
      ['spec.image.tag'],
    );
  });
});

test('admit is fast', () => {
  const manifest = aSite({ ingress: { enabled: true, tls: { enabled: true } } });
  const run = (): void => {
    for (let i = 0; i < 1000; i++) admitted(manifest);
  };
  run();
  // Time of the processor: others may have it for a while.
  const start = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(start);
  const ms = (user + system) / 1_000 / 1_000;
  assert.ok(ms < 0.5, `${ms} ms each`);
});
