import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { resolveApps } from '../../constructs/frappe/apps.js';

type Spec = Parameters<typeof resolveApps>[0];

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
      assert.deepEqual(resolveApps(spec), { apps, problems: [] });
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
      assert.deepEqual(resolveApps({ appsJSON }), {
        apps: [],
        problems: [{ path: 'spec.appsJSON', message }],
      });
    });
  }

  test('both at once: refused', () => {
    const message = 'apps and appsJSON are two spellings of one list: give one of them';
    assert.deepEqual(resolveApps({ apps: [{ name: 'a' }], appsJSON: '["a"]' }), {
      apps: [],
      problems: [{ path: 'spec.apps', message }],
    });
  });
  test('what is shown of a long value is cut', () => {
    const { problems } = resolveApps({ appsJSON: 'x'.repeat(10_000) });
    assert.ok((problems[0]?.message.length ?? 0) < 250);
  });
});
