import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { CATEGORY, crdOf } from '../../constructs/install/crd.js';
import type { KindDefinition, Schema } from '../../constructs/kit/definition.js';
import { admit } from '../../constructs/kit/schema/admit.js';
import { rootSchema } from '../../constructs/kit/schema/root.js';
import { structuralProblems } from '../../tools/generate/structural-check.js';
import { DEFINITIONS } from '../../constructs/registry.js';
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

suite('A CRD', () => {
  test('has the names of the specification', () => {
    assert.deepEqual(
      DEFINITIONS.map((definition) => crd(definition).metadata.name),
      [
        'appbenchs.app-operator.io',
        'appsites.app-operator.io',
        'siteusers.app-operator.io',
        'siteworkspaces.app-operator.io',
        'sitedashboards.app-operator.io',
        'sitedashboardcharts.app-operator.io',
        'sitebackups.app-operator.io',
        'sitejobs.app-operator.io',
      ],
    );
  });
  test('can be in another group', () => {
    for (const definition of DEFINITIONS) {
      const { metadata, spec } = crd(definition, 'example.com');
      assert.equal(metadata.name, `${definition.plural}.example.com`);
      assert.equal(spec.group, 'example.com');
    }
  });
  test('has short names that no other has', () => {
    const names = DEFINITIONS.flatMap(({ shortNames }) => shortNames);
    assert.deepEqual(names, ['ab', 'as', 'su', 'sw', 'sd', 'sdc', 'sb', 'sj']);
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
    test('leaves the name room for the suffixes of its children', () => {
      const rules = rootSchema(definition)['x-kubernetes-validations'] ?? [];
      assert.ok(rules.some(({ rule }) => rule.includes(`<= ${definition.maxNameLength}`)));
      assert.ok(definition.maxNameLength <= 63);
    });
  });
}

test('Only these fields take any text: every other refuses what a shell or a terminal would read', () => {
  const taken = DEFINITIONS.flatMap((definition) =>
    all(definition)
      .filter(({ schema }) => schema.type === 'string')
      .filter((field) => {
        const { problems } = admit(definition, withField(definition, field, HOSTILE));
        const path = `spec.${field.path.join('.')}`;
        const at = path.replaceAll('.[]', '[0]').replaceAll('[*]', 'key');
        return !problems.some((problem) => problem.path === at);
      })
      .map(({ path }) => `${definition.kind} ${path.join('.')}`),
  );
  assert.deepEqual(taken, [
    'AppBench appsJSON',
    'AppBench podTemplate.annotations.[*]',
    'AppSite ingress.annotations.[*]',
    'AppSite podTemplate.annotations.[*]',
    'SiteWorkspace blocks.[].text',
    'SiteWorkspace shortcuts.[].filters.[].value',
    'SiteWorkspace shortcuts.[].filters.[].values.[]',
    'SiteWorkspace quickLists.[].filters.[].value',
    'SiteWorkspace quickLists.[].filters.[].values.[]',
    'SiteDashboardChart filters.[].value',
    'SiteDashboardChart filters.[].values.[]',
    'SiteDashboardChart dynamicFilters.[].expression',
  ]);
});

/** Every field of a kind's spec. */
function all(definition: KindDefinition): Field[] {
  return fieldsOf(definition.spec);
}
