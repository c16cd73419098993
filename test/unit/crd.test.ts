import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { CATEGORY, crdOf } from '../../constructs/install/crd.js';
import type { KindDefinition, Schema } from '../../constructs/kit/definition.js';
import { admit } from '../../constructs/kit/schema/admit.js';
import { rootSchema } from '../../constructs/kit/schema/root.js';
import { structuralProblems } from '../../tools/generate/structural-check.js';
import { DEFINITIONS } from '../../constructs/registry.js';
import { listedFields } from '../golden/scenario.js';
import { fieldsOf, HOSTILE, withField, type Field } from './schema-fields.js';
import { minimal } from './schema-manifests.js';

interface Crd {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly group: string;
    readonly names: { readonly categories: readonly string[] };
    readonly versions: readonly {
      readonly name: string;
      readonly subresources: Readonly<Record<string, unknown>>;
      readonly schema: { readonly openAPIV3Schema: Schema };
    }[];
  };
}

const crd = (definition: KindDefinition, group?: string): Crd => crdOf(definition, group) as Crd;

/** Kind, name of its CRD and short name of each kind of the specification. */
const SPECIFIED = [
  ['AppBench', 'appbenchs.app-operator.io', 'ab'],
  ['AppSite', 'appsites.app-operator.io', 'as'],
  ['SiteUser', 'siteusers.app-operator.io', 'su'],
  ['SiteWorkspace', 'siteworkspaces.app-operator.io', 'sw'],
  ['SiteDashboard', 'sitedashboards.app-operator.io', 'sd'],
  ['SiteDashboardChart', 'sitedashboardcharts.app-operator.io', 'sdc'],
  ['SiteBackup', 'sitebackups.app-operator.io', 'sb'],
  ['SiteJob', 'sitejobs.app-operator.io', 'sj'],
];

suite('A CRD', () => {
  test('has the names of the specification', () => {
    const names = SPECIFIED.map(([kind]) => kind);
    assert.deepEqual(
      DEFINITIONS.filter(({ kind }) => names.includes(kind)).map((definition) => [
        definition.kind,
        crd(definition).metadata.name,
        ...definition.shortNames,
      ]),
      SPECIFIED,
    );
  });
  test('can be in another group', () => {
    for (const definition of DEFINITIONS) {
      const { metadata, spec } = crd(definition, 'example.com');
      assert.equal(metadata.name, `${definition.plural}.example.com`);
      assert.equal(spec.group, 'example.com');
    }
  });
  test('has names that no other has', () => {
    const names = DEFINITIONS.flatMap(({ kind, plural, singular, shortNames }) => [
      ...new Set([kind.toLowerCase(), plural, singular]),
      ...shortNames,
    ]);
    assert.deepEqual(
      names.filter((name, at) => names.indexOf(name) !== at),
      [],
    );
    for (const { kind, shortNames } of DEFINITIONS) assert.ok(shortNames.length > 0, kind);
  });
});

for (const definition of DEFINITIONS) {
  suite(`The CRD of ${definition.kind}`, () => {
    const [version] = crd(definition).spec.versions;
    test('is of the category, one version, with a status', () => {
      assert.deepEqual(crd(definition).spec.names.categories, [CATEGORY]);
      assert.deepEqual([version?.name, version?.subresources['status']], ['v1alpha1', {}]);
    });
    test('has a structural schema with descriptions and bounds', () => {
      assert.deepEqual(structuralProblems(definition.spec, 'spec'), []);
      assert.deepEqual(structuralProblems(definition.status, 'status'), []);
    });
    test('has columns Ready first and Age last, each of a field that there is', () => {
      const names = definition.printerColumns.map(({ name }) => name);
      assert.deepEqual([names[0], names.at(-1)], ['Ready', 'Age']);
      for (const { name, jsonPath } of definition.printerColumns) {
        const [, half, field = ''] = /^\.(spec|status)\.(\w+)/.exec(jsonPath) ?? [];
        if (!half) continue;
        assert.ok(
          definition[half as 'spec' | 'status'].properties?.[field],
          `${name}: ${jsonPath}`,
        );
      }
    });
    test('has a status with conditions by type and an observed generation', () => {
      const { conditions, observedGeneration } = definition.status.properties ?? {};
      assert.deepEqual(conditions?.['x-kubernetes-list-map-keys'], ['type']);
      assert.equal(observedGeneration?.type, 'integer');
    });
    test('has the keys of its lists among what their items need', () => {
      for (const { path, schema } of all(definition)) {
        const items = schema.items ?? {};
        for (const key of schema['x-kubernetes-list-map-keys'] ?? []) {
          assert.ok(items.required?.includes(key), `${path.join('.')} ${key}`);
        }
      }
    });
    test('has patterns with an end and a beginning', () => {
      for (const { path, schema } of all(definition)) {
        if (schema.pattern !== undefined) assert.match(schema.pattern, /^\^.*\$$/, path.join('.'));
      }
    });
    test('has defaults that it takes itself', () => {
      assert.deepEqual(admit(definition, minimal(definition.kind)).problems, []);
    });
    test('takes any text only in fields that its scenario lists, and refuses it in every other', () => {
      const taken = all(definition)
        .filter(({ schema }) => schema.type === 'string')
        .filter((field) => {
          const { problems } = admit(definition, withField(definition, field, HOSTILE));
          const at = `spec.${field.path.join('.')}`
            .replaceAll('.[]', '[0]')
            .replaceAll('[*]', 'key');
          return !problems.some((problem) => problem.path === at);
        })
        .map(({ path }) => `spec.${path.join('.')}`.replaceAll('.[', '['));
      assert.deepEqual(taken.sort(), listedFields(definition, 'Fields that take any text'));
    });
    test('leaves the name room for the suffixes of its children', () => {
      const rules = rootSchema(definition)['x-kubernetes-validations'] ?? [];
      assert.ok(rules.some(({ rule }) => rule.includes(`<= ${definition.maxNameLength}`)));
      assert.ok(definition.maxNameLength <= 63);
    });
  });
}

/** Every field of a kind's spec. */
function all(definition: KindDefinition): Field[] {
  return fieldsOf(definition.spec);
}
