import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import type { Schema } from '../../constructs/kit/definition.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { admit } from '../../constructs/kit/schema/admit.js';
import { metadataKeysFor } from '../../constructs/kit/metadata-keys.js';
import { StaticReader } from '../../constructs/kit/static-reader.js';
import { DEFINITIONS, KINDS, type AnyKind } from '../../constructs/registry.js';
import { corpus } from '../golden/corpus.js';
import { helpText } from '../../runner/config/config.js';
import {
  assertSection,
  brokenLinks,
  fieldTable,
  flagTable,
  immutableRows,
  longCells,
  manifestsIn,
  markdownFiles,
  ROOT,
  table,
  valueTable,
} from '../support/docs-tables.js';
import { graphOf, kindOf, outcomesOf } from '../golden/outcome.js';
import { listedFields, readScenario, scenarioNames, wordOf } from '../golden/scenario.js';

const pageOf = ({ definition }: AnyKind) => `docs/spec/${definition.singular}.md`;
const read = (file: string) => readFileSync(ROOT + file, 'utf8');

/** Admits an object unchanged: no problem, and no field pruned. */
function admitted(object: KubeObject): KubeObject {
  const definition = DEFINITIONS.find(({ kind }) => kind === object.kind);
  if (!definition) return object;
  const { object: stored, problems, pruned } = admit(definition, object);
  assert.deepEqual({ problems, pruned }, { problems: [], pruned: [] }, object.metadata.name);
  return { ...stored, metadata: { namespace: 'default', ...stored.metadata } };
}

/** What stands for several names, and the names in the scenarios. */
const NAMES = [
  ['<queue>', ['default', 'short', 'long']],
  ['-worker-<name>', ['-worker-imports', '-worker-reports']],
  ['-ingress-<hash>-redirect', ['-ingress-9c6d03d5-redirect']],
  ['-ingress-<hash>`', ['-ingress-83cfac9b`', '-ingress-9c6d03d5`']],
] as const;

for (const kind of KINDS) {
  const { definition } = kind;
  suite(`the page of ${definition.kind}`, () => {
    const page = read(pageOf(kind));
    test('lists every field of its spec', () => {
      assertSection(pageOf(kind), 'fields', fieldTable(definition.spec, 'spec'));
    });
    test('lists every child object, and no other', () => {
      const word = wordOf(definition);
      const listed = [...page.matchAll(/^\| (\w+ `<\w+>-[^`]+`) +\|/gm)].flatMap(([, name = '']) =>
        NAMES.flatMap(([part, names]) =>
          name.includes(part) ? names.map((one) => name.replace(part, one)) : [],
        ).concat(NAMES.some(([part]) => name.includes(part)) ? [] : [name]),
      );
      const children = corpus()
        .filter(({ resource }) => resource.kind === definition.kind)
        .flatMap(({ resource, objects }) =>
          objects
            .filter((object) => object.kind !== 'PodDisruptionBudget')
            .map((object) => {
              const suffix = object.metadata.name.slice(resource.metadata.name.length);
              return `${object.kind} \`<${word}>${suffix}\``;
            }),
        );
      const scaled = (name: string) => name.startsWith('ScaledObject');
      const sorted = (names: readonly string[]) =>
        [...new Set(names)].filter((name) => !scaled(name)).sort();
      assert.deepEqual(sorted(listed), sorted(children));
      for (const name of children.filter(scaled)) assert.ok(listed.includes(name), name);
    });
    test('explains every status field and phase', () => {
      const [, status = ''] = /^## Status\n([^]*?)^## /m.exec(page) ?? [];
      const common = ['observedGeneration', 'conditions'];
      for (const [name, field] of Object.entries(definition.status.properties ?? {})) {
        if (!common.includes(name)) assert.ok(new RegExp(`\`${name}\\b`).test(status), name);
        if (name !== 'phase') continue;
        for (const phase of field.enum ?? []) assert.ok(status.includes(`\`${String(phase)}\``));
      }
    });
    test('names every condition', () => {
      const types = scenarioNames()
        .flatMap((name) => outcomesOf(readScenario(name)))
        .filter(({ resource }) => resource.kind === definition.kind)
        .flatMap(({ status }) => status.conditions?.map(({ type }) => type) ?? []);
      for (const type of new Set(types)) assert.ok(page.includes(`\`${type}\``), type);
    });
    test('has examples that are admitted unchanged', () => {
      const manifests = manifestsIn(page);
      assert.ok(manifests.length > 0);
      for (const manifest of manifests) admitted(manifest);
    });
  });
}

/** Paths of the fields of a schema; a map or a list of plain values is one field. */
function pathsOf(schema: Schema, path: string): readonly string[] {
  const fields = Object.entries(schema.properties ?? schema.items?.properties ?? {});
  return fields.length === 0
    ? [path]
    : fields.flatMap(([name, field]) => pathsOf(field, `${path}.${name}`));
}

/** Whether a manifest has a value at a path of the schema. */
function isSet(value: unknown, [name, ...rest]: readonly string[]): boolean {
  if (value === undefined || name === undefined) return value !== undefined;
  if (Array.isArray(value)) return value.some((item) => isSet(item, [name, ...rest]));
  return isSet((value as Readonly<Record<string, unknown>>)[name], rest);
}

suite('the golden scenario with every field set', () => {
  /** Fields that only one of several queues or tolerations needs. */
  const RARE =
    /\.(staticReplicas|cooldownPeriod|pollingInterval|tolerationSeconds)$|\.default\.(min|max)Replicas$|\.default\.queueLength$|\.(limits|requests)$/;
  for (const kind of KINDS) {
    const { definition } = kind;
    test(`of ${definition.kind} omits none that its README does not list`, () => {
      const [admission] = readScenario(`${wordOf(definition)}-everything`).admissions;
      const unset = pathsOf(definition.spec, 'spec')
        .filter((path) => !isSet(admission?.object, path.split('.')))
        .filter((path) => !RARE.test(path));
      assert.deepEqual(unset.sort(), listedFields(definition, 'Fields that are not set'));
    });
  }
});

test('docs/immutable-fields.md lists every field that cannot change', () => {
  const rows = DEFINITIONS.flatMap(immutableRows);
  const rules = JSON.stringify(DEFINITIONS).match(/is immutable: |cannot be added[^:]*: /g) ?? [];
  assert.equal(rows.length, rules.length);
  assertSection('docs/immutable-fields.md', 'immutable', table(['Kind', 'Field', 'Why'], rows));
});

test('docs/labels.md lists every label, annotation and finalizer', () => {
  const { group, ...keys } = metadataKeysFor('app-operator.io');
  const listed = new Set(
    [...read('docs/labels.md').matchAll(/^\| `([^`]+)`/gm)].map(([, key]) => key),
  );
  for (const key of Object.values(keys)) assert.ok(listed.has(key), `${group}: ${key}`);
});

suite('the questions of users', () => {
  const file = 'docs/contributing/user-questions.md';
  const rows = [...read(file).matchAll(/^\| (\d+) +\| ([^|]+?) +\| (.+?) +\|$/gm)];
  test('are numbered, and 52 or more', () => {
    assert.ok(rows.length >= 52, String(rows.length));
    assert.deepEqual(
      rows.map(([, number]) => Number(number)),
      rows.map((_, i) => i + 1),
    );
  });
  for (const [, , question = '', answer = ''] of rows)
    test(`"${question}" is answered with something to copy`, () => {
      const pages = [...answer.matchAll(/\]\(\.\.\/([^)#]+)/g)].map(([, page = '']) => page);
      assert.ok(pages.length > 0);
      for (const page of pages) assert.match(read(`docs/${page}`), /^ *```(sh|yaml|ts|console)$/m);
    });
});

test('docs/operator-flags.md lists every flag of the operator', () => {
  assertSection('docs/operator-flags.md', 'flags', flagTable(helpText()));
});

test('docs/helm-values.md lists every value of the chart', () => {
  assertSection('docs/helm-values.md', 'values', valueTable(read('dist/chart/README.md')));
});

for (const file of markdownFiles()) {
  suite(file, () => {
    const page = read(file);
    test('has links that lead to files and headings that exist', () => {
      assert.deepEqual(brokenLinks(file), []);
    });
    test('has manifests that the operator admits', () => {
      for (const manifest of manifestsIn(page)) admitted(manifest);
    });
    test('has no cell of more than 100 columns outside of generated tables', () => {
      assert.deepEqual(longCells(page), []);
    });
  });
}

test('the index of the kinds has every page', () => {
  const index = read('docs/spec/README.md');
  for (const kind of KINDS) {
    const { kind: name, singular, shortNames } = kind.definition;
    const row = new RegExp(
      `^\\| \\[${name}\\]\\(${singular}[.]md\\) +\\| \`${shortNames.join()}\` +\\|`,
      'm',
    );
    assert.match(index, row);
  }
});

suite('the examples', () => {
  const files = readdirSync(`${ROOT}examples`);
  const objects = files.flatMap((file) =>
    parseAllDocuments(read(`examples/${file}`)).map((document) => document.toJS() as KubeObject),
  );
  const stored = objects.map(admitted);
  test('are admitted unchanged, and refer only to each other', () => {
    const secrets = stored.filter(({ kind }) => kind === 'Secret');
    const reader = new StaticReader({
      objects: [
        ...stored
          .filter(({ kind }) => kind !== 'Secret')
          // Dashboards and workspaces wait until a chart is written.
          .map((one) =>
            one.kind === 'SiteDashboardChart' ? { ...one, status: { outcome: 'Created' } } : one,
          ),
        ...secrets.map((secret) => ({
          ...secret,
          metadata: { namespace: 'default', ...secret.metadata },
        })),
      ],
    });
    const handled = KINDS.map(({ definition }) => definition.kind);
    for (const resource of stored.filter(({ kind }) => handled.includes(kind))) {
      const kind = kindOf(resource);
      const inputs = kind.resolve(resource as never, reader);
      const stages = graphOf(kind, resource as never, (scope, id) =>
        kind.chart(scope, id, { resource: resource as never, inputs }),
      );
      assert.equal(stages.length > 0, kind.owns.length > 0, resource.metadata.name);
    }
  });
  test('have unique names', () => {
    const names = stored.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    assert.equal(new Set(names).size, names.length);
  });
  test('have no metadata except a name', () => {
    for (const { metadata } of objects) {
      assert.deepEqual(Object.keys(metadata), ['name']);
    }
  });
});
