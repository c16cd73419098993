import assert from 'node:assert/strict';
import { describe, suite, test } from 'node:test';
import { resolveApps, withoutIgnoredApps, type AppsSource } from '../../constructs/frappe/apps.js';
import { benchWarnings } from '../../constructs/kinds/bench/warnings.js';
import { StaticReader } from '../../constructs/kit/static-reader.js';
import { admit } from '../../constructs/kit/schema/admit.js';
import type { Resource } from '../../constructs/kit/object.js';
import { aBench } from '../golden/builders.js';
import { definitionOf } from './schema-definitions.js';
import { aManifest } from './schema-manifests.js';

type Spec = AppsSource['spec'];

const NOTHING = new StaticReader({ objects: [] });
const EXAMPLE = 'give a JSON array of application names, for example ["erpnext"]';
const NAME =
  'is not the name of an application: lower-case letters, digits and underscores, beginning with a letter';

suite('apps and appsJSON are two spellings of one list', () => {
  const TAKEN: readonly (readonly [reason: string, spec: Spec, ...apps: string[]])[] = [
    ['neither is an empty list', {}],
    ['objects', { apps: [{ name: 'erpnext' }, { name: 'hrms' }] }, 'erpnext', 'hrms'],
    ['text', { appsJSON: '["erpnext", "hrms"]' }, 'erpnext', 'hrms'],
    ['empty text list', { appsJSON: '[]' }],
    ['white space around', { appsJSON: ' [ "erpnext" ]\n' }, 'erpnext'],
    ['the order is kept: it is the order of installation', { appsJSON: '["b","a"]' }, 'b', 'a'],
    ['digits and underscores', { appsJSON: '["my_app_2"]' }, 'my_app_2'],
    ['the framework itself', { appsJSON: '["frappe"]' }, 'frappe'],
    ['the longest name', { appsJSON: `["${'a'.repeat(64)}"]` }, 'a'.repeat(64)],
  ];
  for (const [reason, spec, ...apps] of TAKEN) {
    test(reason, () => {
      assert.deepEqual(resolveApps({ spec }), { apps, problems: [] });
    });
  }

  const REFUSED: readonly (readonly [reason: string, appsJSON: string, message: string])[] = [
    ['no JSON', 'erpnext', `Invalid value: erpnext: is not JSON; ${EXAMPLE}`],
    ['nothing', '', `Invalid value: : is not JSON; ${EXAMPLE}`],
    ['half of it', '["erpnext"', `Invalid value: ["erpnext": is not JSON; ${EXAMPLE}`],
    ['an object', '{"a":1}', `Invalid value: {"a":1}: is not a JSON array; ${EXAMPLE}`],
    ['a text', '"erpnext"', `Invalid value: "erpnext": is not a JSON array; ${EXAMPLE}`],
    ['null', 'null', `Invalid value: null: is not a JSON array; ${EXAMPLE}`],
    ['a number', '[1]', `Invalid value: 1: ${NAME}; ${EXAMPLE}`],
    ['an object inside', '[{"name":"a"}]', `Invalid value: {"name":"a"}: ${NAME}; ${EXAMPLE}`],
    ['capitals', '["ERPNext"]', `Invalid value: "ERPNext": ${NAME}; ${EXAMPLE}`],
    ['an option', '["--force"]', `Invalid value: "--force": ${NAME}; ${EXAMPLE}`],
    ['a command', '["a;rm -rf /"]', `Invalid value: "a;rm -rf /": ${NAME}; ${EXAMPLE}`],
    ['a substitution', '["$(id)"]', `Invalid value: "$(id)": ${NAME}; ${EXAMPLE}`],
    ['a path', '["../a"]', `Invalid value: "../a": ${NAME}; ${EXAMPLE}`],
    ['a line break', '["a\\nb"]', `Invalid value: "a\\nb": ${NAME}; ${EXAMPLE}`],
    ['no letters', '[""]', `Invalid value: "": ${NAME}; ${EXAMPLE}`],
    ['an app twice', '["a","b","a"]', `Invalid value: "a": stands in the list twice; ${EXAMPLE}`],
  ];
  for (const [reason, appsJSON, message] of REFUSED) {
    test(`${reason}: refused, with the value and what is allowed`, () => {
      assert.deepEqual(resolveApps({ spec: { appsJSON } }), {
        apps: [],
        problems: [{ path: 'spec.appsJSON', message }],
      });
    });
  }

  test('both at once, if they agree', () => {
    const spec = { apps: [{ name: 'a' }], appsJSON: '["a"]' };
    assert.deepEqual(resolveApps({ spec }).apps, ['a']);
  });
  describe('two lists that differ are refused by the schema, unless one is as before', () => {
    const list = (...names: readonly string[]) => names.map((name) => ({ name }));
    const problemsOf = (spec: Spec, old?: Spec) => {
      const of = (apps: Spec) => aManifest('AppBench', { frameworkVersion: 'version-15', ...apps });
      const { problems } = admit(definitionOf('AppBench'), of(spec), old ? { old: of(old) as unknown as Resource } : {}); // prettier-ignore
      return problems.length;
    };
    const both = { apps: list('a'), appsJSON: '["b"]' };
    const CASES: readonly (readonly [what: string, problems: number, spec: Spec, old?: Spec])[] = [
      ['a new bench with two lists', 1, both],
      ['a new bench with the same list twice', 0, { apps: list('a', 'b'), appsJSON: '["a", "b"]' }],
      ['a new bench with two empty lists', 0, { apps: [], appsJSON: '[]' }],
      ['appsJSON is added', 0, both, { apps: list('a') }],
      ['apps is added', 0, both, { appsJSON: '["b"]' }],
      ['appsJSON is changed', 0, both, { apps: list('a'), appsJSON: '["c"]' }],
      ['both are as before', 0, both, both],
      ['both are changed', 1, both, { apps: list('c'), appsJSON: '["d"]' }],
      ['both are added', 1, both, {}],
    ];
    for (const [what, problems, spec, old] of CASES) {
      test(what, () => assert.equal(problemsOf(spec, old), problems));
    }
    test('what is stored is no change', () => {
      const bench = aManifest('AppBench', { frameworkVersion: 'version-15', ...both });
      assert.deepEqual(admit(definitionOf('AppBench'), bench, { isStored: true }).problems, []);
    });
  });
  test('what is shown of a long value is cut', () => {
    const { problems } = resolveApps({ spec: { appsJSON: 'x'.repeat(10_000) } });
    assert.ok((problems[0]?.message.length ?? 0) < 250);
  });
});

suite('of apps and appsJSON, the one that was patched later counts', () => {
  const list = (...names: readonly string[]) => names.map((name) => ({ name }));
  /** Patches one after another, each followed by a reconcile that writes the status. */
  const after = (...specs: readonly Spec[]): AppsSource => {
    let status: AppsSource['status'];
    let bench: AppsSource = { spec: {} };
    for (const spec of specs) {
      bench = { spec, ...(status ? { status } : {}) };
      const { apps, ignored } = resolveApps(bench);
      status = { apps, ...(ignored ? { ignoredApps: ignored } : {}) };
    }
    // The decision stays the same once its status is written.
    const settled = { ...bench, ...(status ? { status } : {}) };
    assert.deepEqual(resolveApps(settled), resolveApps(bench));
    return settled;
  };
  const appsOf = (...specs: readonly Spec[]): readonly string[] =>
    resolveApps(after(...specs)).apps;

  test('appsJSON, patched onto apps', () => {
    const specs = [{ apps: list('a') }, { apps: list('a'), appsJSON: '["a","b"]' }];
    assert.deepEqual(appsOf(...specs), ['a', 'b']);
    assert.deepEqual(withoutIgnoredApps(after(...specs)), { appsJSON: '["a","b"]' });
  });
  test('apps, patched onto appsJSON', () => {
    const specs = [{ appsJSON: '["a"]' }, { apps: list('b'), appsJSON: '["a"]' }];
    assert.deepEqual(appsOf(...specs), ['b']);
    assert.deepEqual(withoutIgnoredApps(after(...specs)), { apps: list('b') });
  });
  test('each in turn', () => {
    const specs = [
      { apps: list('a') },
      { apps: list('a'), appsJSON: '["b"]' },
      { apps: list('c'), appsJSON: '["b"]' },
      { apps: list('c'), appsJSON: '["d"]' },
    ];
    assert.deepEqual(appsOf(...specs.slice(0, 3)), ['c']);
    assert.deepEqual(appsOf(...specs), ['d']);
  });
  test('the one that is left, when the other is removed', () => {
    const specs = [
      { apps: list('a') },
      { apps: list('a'), appsJSON: '["b"]' },
      { apps: list('a') },
    ];
    assert.deepEqual(appsOf(...specs), ['a']);
    assert.equal(resolveApps(after(...specs)).ignored, undefined);
  });
  test('appsJSON, where the status before is lost', () => {
    const spec = { apps: list('a'), appsJSON: '["b"]' };
    assert.deepEqual(resolveApps({ spec }).apps, ['b']);
  });
  test('a newer one that is invalid is a problem, not a reason to use the older one', () => {
    const spec = { apps: list('a'), appsJSON: 'b' };
    const { problems } = resolveApps({ spec, status: { apps: ['a'] } });
    assert.deepEqual(
      problems.map(({ path }) => path),
      ['spec.appsJSON'],
    );
  });
  test('a warning names the other one, and how to remove it', () => {
    const bench = aBench({ apps: list('erpnext'), appsJSON: '["erpnext"]' }, { generation: 2 });
    const [warning] = benchWarnings({ ...bench, status: { apps: ['erpnext'] } }, NOTHING);
    assert.deepEqual(warning, {
      path: 'spec.apps',
      message: 'has no effect: spec.appsJSON was set later; remove it: {"spec":{"apps":null}}',
    });
  });
});

suite('a warning names fields without effect, and what to do', () => {
  const warningsOf = (spec: object): readonly string[] =>
    benchWarnings(aBench({ ...spec }), NOTHING).map(({ path, message }) => `${path}: ${message}`);

  test('dbConfig.resources of a server that the operator does not run', () => {
    const resources = { requests: { memory: '1Gi' } };
    const dbConfig = { mode: 'external', host: 'db', rootSecretRef: { name: 'root' }, resources };
    assert.deepEqual(warningsOf({ dbConfig }), [
      'spec.dbConfig.resources: has no effect in mode external: you run the server; set its resources there',
    ]);
    assert.deepEqual(warningsOf({ dbConfig: { resources } }), []);
  });
  test('apps that the default image lacks: which it has, and how to get another image', () => {
    const warning =
      'spec.appsJSON: the default image frappe/erpnext has only frappe and erpnext, not hrms; set spec.image to an image that has them: docs/images.md#add-apps';
    assert.deepEqual(warningsOf({ appsJSON: '["erpnext","hrms"]' }), [warning]);
    assert.deepEqual(warningsOf({ appsJSON: '["frappe","erpnext"]' }), []);
    const image = { repository: 'registry.example.com/erp' };
    assert.deepEqual(warningsOf({ appsJSON: '["erpnext","hrms"]', image }), []);
  });
  test('0 replicas of a component that Dedicated sites inherit', () => {
    assert.deepEqual(warningsOf({ componentReplicas: { gunicorn: 0, nginx: 0 } }), [
      'spec.componentReplicas.gunicorn: Dedicated sites without a number of their own inherit 0: they have no gunicorn either',
    ]);
  });
});
