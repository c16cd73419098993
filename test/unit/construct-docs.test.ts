import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import type { Schema } from '../../constructs/kit/definition.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { admit } from '../../constructs/kit/schema/admit.js';
import { StaticReader } from '../../constructs/kit/static-reader.js';
import { DEFINITIONS, KINDS, type AnyKind } from '../../constructs/registry.js';
import { corpus } from '../golden/corpus.js';
import { assertSection, fieldTable, manifestsIn, ROOT } from '../golden/docs.js';
import { graphOf, kindOf, outcomesOf } from '../golden/outcome.js';
import { readScenario, scenarioNames } from '../golden/scenario.js';

const pageOf = ({ definition }: AnyKind) => `docs/spec/${definition.singular}.md`;
const read = (file: string) => readFileSync(ROOT + file, 'utf8');
/** `bench`, `site`, `siteuser` …: what stands for the resource’s name in its page. */
const wordOf = ({ definition }: AnyKind) => definition.singular.replace('app', '');

/** What must be accepted as it stands, with no field dropped. */
function admitted(object: KubeObject): KubeObject {
  const definition = DEFINITIONS.find(({ kind }) => kind === object.kind);
  if (!definition) return object;
  const { object: stored, problems, pruned } = admit(definition, object);
  assert.deepEqual({ problems, pruned }, { problems: [], pruned: [] }, object.metadata.name);
  return { ...stored, metadata: { namespace: 'default', ...stored.metadata } };
}

for (const kind of KINDS) {
  const { definition } = kind;
  suite(`the page of ${definition.kind}`, () => {
    const page = read(pageOf(kind));
    test('lists every field of its spec', () => {
      assertSection(pageOf(kind), 'fields', fieldTable(definition.spec, 'spec'));
    });
    test('lists every object that is made, and no other', () => {
      const word = wordOf(kind);
      const said = [...page.matchAll(/^\| (\w+ `<\w+>-[^`]+`) +\|/gm)].flatMap(([, name = '']) =>
        name.includes('<queue>')
          ? ['default', 'short', 'long'].map((queue) => name.replace('<queue>', queue))
          : [name],
      );
      const made = corpus()
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
      assert.deepEqual(sorted(said), sorted(made));
      for (const name of made.filter(scaled)) assert.ok(said.includes(name), name);
    });
    test('says what every status field and every phase is', () => {
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
    test('has examples that apply as they are', () => {
      const manifests = manifestsIn(page);
      assert.ok(manifests.length > 0);
      for (const manifest of manifests) admitted(manifest);
    });
  });
}

/** Paths of the fields of a schema; maps and lists of plain values are fields themselves. */
function pathsOf(schema: Schema, path: string): readonly string[] {
  const fields = Object.entries(schema.properties ?? schema.items?.properties ?? {});
  return fields.length === 0
    ? [path]
    : fields.flatMap(([name, field]) => pathsOf(field, `${path}.${name}`));
}

/** Paths that a manifest has a value at, by those of the schema. */
function isSet(value: unknown, [name, ...rest]: readonly string[]): boolean {
  if (value === undefined || name === undefined) return value !== undefined;
  if (Array.isArray(value)) return value.some((item) => isSet(item, [name, ...rest]));
  return isSet((value as Readonly<Record<string, unknown>>)[name], rest);
}

suite('the golden scenario with every field set', () => {
  /** Fields that exclude one of those that are set. */
  const EXCLUDED: Readonly<Record<string, readonly string[]>> = {
    AppBench: [
      'spec.appsJSON',
      'spec.dbConfig.clusterRef.name',
      'spec.dbConfig.host',
      'spec.dbConfig.mariadbRef.kind',
      'spec.dbConfig.mariadbRef.name',
      'spec.dbConfig.port',
      'spec.dbConfig.rootSecretRef.name',
      'spec.redisConfig.external.urlsSecretRef.name',
    ],
    AppSite: [
      'spec.dbConfig.host',
      'spec.dbConfig.name',
      'spec.dbConfig.port',
      'spec.dbConfig.secretRef.name',
      'spec.restoreFrom.source.pvc.claimName',
      'spec.restoreFrom.source.pvc.prefix',
      ...['bucket', 'caSecretRef.name', 'endpoint', 'forcePathStyle', 'prefix', 'region'].map(
        (field) => `spec.restoreFrom.source.s3.${field}`,
      ),
      'spec.restoreFrom.source.s3.secretRef.name',
    ],
    SiteJob: ['spec.command'],
    SiteUser: ['spec.roleProfile'],
    SiteBackup: ['spec.destination.pvc.claimName', 'spec.destination.pvc.prefix', 'spec.exclude'],
    SiteWorkspace: ['spec.externalLink', 'spec.linkTo', 'spec.linkType'],
    SiteDashboard: [],
    SiteDashboardChart: [
      'spec.aggregateFunctionBasedOn',
      'spec.groupByBasedOn',
      'spec.groupByType',
      'spec.heatmapYear',
      'spec.numberOfGroups',
      'spec.reportFilters',
      'spec.reportName',
      'spec.source',
      'spec.xField',
      'spec.yAxis.color',
      'spec.yAxis.yField',
    ],
  };
  /** What only one of several queues or tolerations needs. */
  const RARE =
    /\.(staticReplicas|cooldownPeriod|pollingInterval|tolerationSeconds)$|\.default\.(min|max)Replicas$|\.default\.queueLength$|\.(limits|requests)$/;
  for (const kind of KINDS) {
    test(`of ${kind.definition.kind} leaves none out`, () => {
      const [admission] = readScenario(`${wordOf(kind)}-everything`).admissions;
      const unset = pathsOf(kind.definition.spec, 'spec')
        .filter((path) => !isSet(admission?.object, path.split('.')))
        .filter((path) => !RARE.test(path));
      assert.deepEqual(unset.sort(), EXCLUDED[kind.definition.kind]);
    });
  }
});

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
  for (const file of files) {
    test(`${file} begins with a sentence on what it shows`, () => {
      assert.match(read(`examples/${file}`), /^# [A-Z].*[.]\n/);
    });
  }
  test('apply as they are, and refer only to each other', () => {
    const secrets = stored.filter(({ kind }) => kind === 'Secret');
    const reader = new StaticReader({
      objects: [
        ...stored
          .filter(({ kind }) => kind !== 'Secret')
          // As soon as a chart is written, those that show it go on.
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
  test('have distinct names', () => {
    const names = stored.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    assert.equal(new Set(names).size, names.length);
  });
  test('hold no field that belongs to a running cluster', () => {
    for (const { metadata } of objects) {
      assert.deepEqual(Object.keys(metadata), ['name']);
    }
  });
});
