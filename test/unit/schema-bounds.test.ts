import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { Schema } from '../../constructs/kit/definition.js';
import { admit } from '../../constructs/kit/schema/admit.js';
import { OPAQUE } from '../../constructs/kit/schema/bounds.js';
import { DEFINITIONS } from '../../constructs/registry.js';
import { definitionOf } from './schema-definitions.js';
import { aManifest, aSite, type Manifest } from './schema-manifests.js';

interface Found {
  readonly path: string;
  readonly schema: Schema;
}

function nodes(schema: Schema, path: string): readonly Found[] {
  const { properties = {}, items, additionalProperties: values } = schema;
  return [
    { path, schema },
    ...Object.entries(properties).flatMap(([name, node]) => nodes(node, `${path}.${name}`)),
    ...(items ? nodes(items, `${path}[]`) : []),
    ...(typeof values === 'object' ? nodes(values, `${path}{}`) : []),
  ];
}

const ALL = DEFINITIONS.flatMap(({ kind, spec }) => nodes(spec, `${kind}.spec`));
const isOpaque = ({ schema }: Found): boolean =>
  schema['x-kubernetes-preserve-unknown-fields'] === true;

/** Nested so often: `{"a":{"a":{}}}` is 3 deep. */
const deep = (levels: number): object =>
  JSON.parse('{"a":'.repeat(levels - 1) + '{}' + '}'.repeat(levels - 1)) as object;
const affinity = (value: object): Manifest => aSite({ podTemplate: { affinity: value } });
const kwargs = (value: object): Manifest =>
  aManifest('SiteJob', { siteRef: { name: 's' }, method: 'a.b', kwargs: value });
const siteConfig = (value: object): Manifest => aSite({ siteConfig: [{ key: 'a', value }] });
const messagesOf = (manifest: Manifest): readonly string[] =>
  admit(definitionOf(manifest.kind), manifest).problems.map(
    ({ path, message }) => `${path}: ${message}`,
  );

describe('every spec is bounded', () => {
  const unbounded = (
    what: (schema: Schema) => boolean,
    max: 'maxLength' | 'maxItems' | 'maxProperties',
  ): readonly string[] =>
    ALL.filter(({ schema }) => what(schema) && schema[max] === undefined).map(({ path }) => path);

  test('kinds are found', () => {
    assert.ok(ALL.length > 300);
  });
  test('each text has a greatest length, or a list of values', () => {
    assert.deepEqual(
      unbounded(({ type, enum: values }) => type === 'string' && !values, 'maxLength'),
      [],
    );
  });
  test('each list has a greatest number of items', () => {
    assert.deepEqual(
      unbounded(({ type }) => type === 'array', 'maxItems'),
      [],
    );
  });
  test('each map, and each object of any fields, has a greatest number of entries', () => {
    const open = ({ type, properties }: Schema): boolean => type === 'object' && !properties;
    assert.deepEqual(unbounded(open, 'maxProperties'), []);
    assert.ok(ALL.some(isOpaque));
  });
  test('no field takes any type, except values of site_config.json, which are JSON', () => {
    const any = ALL.filter(({ schema }) => schema.type === undefined);
    assert.deepEqual(
      any.map(({ path }) => path),
      ['AppBench.spec.siteConfig[].value', 'AppSite.spec.siteConfig[].value'],
    );
    assert.ok(any.every(isOpaque));
  });
  test('no spec has more values than an API server stores, whatever is in its lists', () => {
    const MAX_VALUES = 100_000;
    const most = (schema: Schema): number => {
      const { properties = {}, items, additionalProperties: values } = schema;
      const fields = Object.values(properties).reduce((sum, node) => sum + most(node), 1);
      const inList = items ? (schema.maxItems ?? Infinity) * most(items) : 0;
      const inMap =
        typeof values === 'object' ? (schema.maxProperties ?? Infinity) * most(values) : 0;
      return fields + inList + inMap;
    };
    for (const { kind, spec } of DEFINITIONS) {
      // 500 cards of 200 links of as many fields as a link has are more than 1.5 MiB.
      if (kind === 'SiteWorkspace') assert.ok(most(spec) < 2 * MAX_VALUES);
      else assert.ok(most(spec) < MAX_VALUES, kind);
    }
  });
});

describe('an object of any fields', () => {
  const places = [
    ['spec.podTemplate.affinity', affinity],
    ['spec.kwargs', kwargs],
    ['spec.siteConfig[0].value', siteConfig],
  ] as const;
  for (const [path, manifest] of places) {
    test(`${path} is admitted up to its bounds`, () => {
      assert.deepEqual(messagesOf(manifest(deep(OPAQUE.depth))), []);
      assert.deepEqual(messagesOf(manifest({ text: 'x'.repeat(OPAQUE.bytes - 100) })), []);
    });
    test(`${path} is refused where it nests deeper`, () => {
      const message = `${path}: Too deep: may not nest more than 64 levels`;
      for (const levels of [OPAQUE.depth + 1, 200]) {
        assert.deepEqual(messagesOf(manifest(deep(levels))), [message]);
      }
    });
    test(`${path} is refused where it is longer, in fields, texts, lists or numbers`, () => {
      const { bytes } = OPAQUE;
      const long: readonly object[] = [
        { text: 'é'.repeat(bytes / 2) },
        { ['x'.repeat(bytes)]: 1 },
        { list: Array<number>(bytes / 2).fill(1) },
        { list: Array<unknown>(bytes).fill([]) },
      ];
      for (const value of long) {
        assert.deepEqual(messagesOf(manifest(value)), [
          `${path}: Too long: may not be more than ${bytes} bytes`,
        ]);
      }
    });
  }
});

describe('quantities', () => {
  const rules = ALL.flatMap(({ path, schema }) =>
    (schema['x-kubernetes-validations'] ?? []).map(({ rule }) => ({ path, rule })),
  ).filter(({ rule }) => rule.includes('uantity('));
  const patterns = ALL.filter(({ schema }) => schema.pattern?.includes('[eE]'));

  test('each rule that reads one leaves out long exponents first', () => {
    assert.ok(rules.length > 10);
    const unguarded = rules.filter(({ rule }) => {
      const guards = [
        ...rule.matchAll(/([\w.[\]]+)[.]matches\('\[eE\]\[\+-\]\?\[0-9\]\{3\}'\) \|\|/g),
      ];
      const guarded = new Set(guards.map(([, value]) => value));
      const first = rule.search(/\b(isQ|q)uantity\(/);
      const late = guards.some(({ index }) => index > first);
      const read = [...rule.matchAll(/\b(?:isQ|q)uantity\(([^')]+)\)/g)].map(([, value]) => value);
      return late || !read.every((value) => guarded.has(value));
    });
    assert.deepEqual(unguarded, []);
  });
  test('each pattern admits two digits of an exponent', () => {
    assert.ok(patterns.length > 10);
    for (const { schema } of patterns) {
      const pattern = new RegExp(schema.pattern ?? '');
      assert.deepEqual(
        ['1e3', '1e-99', '1E+10', '1e100', '1e999999999', '1e-100'].map((text) =>
          pattern.test(text),
        ),
        [true, true, true, false, false, false],
      );
    }
  });
});
