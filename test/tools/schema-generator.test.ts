import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Schema } from '../../constructs/kit/definition.js';
import { schemaSource } from '../../tools/generate/json-schema.js';
import { structural } from '../../tools/generate/structural.js';
import { structuralProblems } from '../../tools/generate/structural-check.js';

const PATH = '/virtual/api.ts';

/** The schema of `Spec` in a source text. */
function schemaOf(source: string): Schema {
  return structural(schemaSource([PATH], new Map([[PATH, source]])).of('Spec'), 'spec');
}

/** The schema of the one field of a spec, `a`, that is declared so. */
function fieldOf(declaration: string, more = ''): Schema {
  const source = `/** A spec. */ export interface Spec {\n${declaration}\n}\n${more}`;
  return schemaOf(source).properties?.['a'] ?? {};
}

const problemsOf = (declaration: string, more = '', half: 'spec' | 'status' = 'spec'): string[] =>
  structuralProblems(fieldOf(declaration, more), half, 'spec.a');

suite('The schema generator', () => {
  test('takes bounds, patterns and formats from JSDoc tags', () => {
    const declaration =
      '/** A number.\n * @type integer\n * @format int32\n * @minimum 0\n * @maximum 9 */\nreadonly a: number;';
    assert.deepEqual(fieldOf(declaration), {
      type: 'integer',
      format: 'int32',
      description: 'A number.',
      minimum: 0,
      maximum: 9,
    });
  });
  test('makes choices of a union of literals, one alone included', () => {
    assert.deepEqual(fieldOf("/** A. */ readonly a: 'x' | 'y';").enum, ['x', 'y']);
    assert.deepEqual(fieldOf("/** A. */ readonly a: 'x';").enum, ['x']);
  });
  test('parses a default that is JSON, and keeps any other as text', () => {
    assert.equal(fieldOf('/** A.\n * @default true */\nreadonly a: boolean;').default, true);
    assert.equal(fieldOf('/** A.\n * @default 10Gi */\nreadonly a: string;').default, '10Gi');
    assert.deepEqual(
      fieldOf('/** A.\n * @default {} */\nreadonly a: B;', '/** B. */ interface B {}').default,
      {},
    );
  });
  test('takes a default in quotes, which keeps a number text', () => {
    assert.equal(fieldOf('/** A.\n * @default "1" */\nreadonly a: string;').default, '1');
  });
  test('requires only fields without a default', () => {
    const source =
      '/** A spec. */ export interface Spec {\n/** A.\n * @default x */\na: string;\n/** B. */ b: string;\n/** C. */ c?: string;\n}';
    assert.deepEqual(schemaOf(source).required, ['b']);
  });
  test("gives a field its type's default, completed with those of the type's fields", () => {
    const more =
      '/** B.\n * @default {} */ interface B {\n/** C.\n * @default x */\nc: string;\n/** D. */ d?: string;\n}';
    assert.deepEqual(fieldOf('/** A. */ a: B;', more).default, { c: 'x' });
  });
  test('gives items and entries no default', () => {
    const more = '/** B.\n * @default {} */ interface B {}';
    assert.ok(!('default' in (fieldOf('/** A. */ a: B[];', more).items ?? {})));
  });
  test("prefers a field's JSDoc tags over its type's, and joins their rules", () => {
    const more =
      '/** B.\n * @maxLength 5\n * @cel self != "x" ;; not x\n * @cel self != "y" ;; not y */ type B = string;';
    const schema = fieldOf('/** A.\n * @maxLength 3\n * @cel self != "z" ;; not z */\na: B;', more);
    assert.equal(schema.description, 'A.');
    assert.equal(schema.maxLength, 3);
    const rules = schema['x-kubernetes-validations'] ?? [];
    assert.deepEqual(
      rules.map(({ message }) => message),
      ['not x', 'not y', 'not z'],
    );
  });
  test('puts parts into rules, also as what the object before says', () => {
    const more = '\n// <LENGTH> size(<TEXT>)\n// <TEXT> self';
    const rule = (text: string) => fieldOf(`/** A.\n * @cel ${text} ;; no */\na: string;`, more);
    assert.equal(
      rule('<LENGTH oldSelf> <= <LENGTH>')['x-kubernetes-validations']?.[0]?.rule,
      'size(oldSelf) <= size(self)',
    );
    assert.throws(() => rule('<OTHER> == 1'), /there is no line \/\/ <OTHER>/);
  });
  test('marks a rule that checks for an old value', () => {
    const schema = fieldOf('/** A.\n * @cel oldSelf.orValue("x") == self ;; fixed */\na: string;');
    assert.equal(schema['x-kubernetes-validations']?.[0]?.optionalOldSelf, true);
  });
  test('knows lists by their keys, and objects that are kept as they are', () => {
    const more =
      '/** B. */ interface B {\n/** Name. */ name: string;\n}\n/** O.\n * @preserveUnknownFields */ interface O { [key: string]: unknown }';
    const list = fieldOf(
      '/** A.\n * @listType map\n * @listMapKey name */\na: readonly B[];',
      more,
    );
    assert.equal(list['x-kubernetes-list-type'], 'map');
    assert.deepEqual(list['x-kubernetes-list-map-keys'], ['name']);
    assert.deepEqual(fieldOf('/** A. */ a: O;', more), {
      type: 'object',
      description: 'A.',
      'x-kubernetes-preserve-unknown-fields': true,
    });
  });
  test('takes over the fields of the interfaces that one extends', () => {
    const source =
      'interface Base {\n/** A. */ a: string;\n}\n/** A spec. */ export interface Spec extends Base {\n/** B. */ b: string;\n}';
    assert.deepEqual(Object.keys(schemaOf(source).properties ?? {}).sort(), ['a', 'b']);
  });
  test('gives the same text for the same source', () => {
    const declaration = "/** A. */ readonly a: 'x' | 'y';";
    assert.equal(JSON.stringify(fieldOf(declaration)), JSON.stringify(fieldOf(declaration)));
  });
});

suite('The schema generator rejects', () => {
  const CASES: readonly (readonly [
    reason: string,
    declaration: string,
    problem: string,
    more?: string,
  ])[] = [
    ['a field without a description', 'a: boolean;', 'spec.a has no description'],
    [
      'a bare number',
      '/** A. */ a: number;',
      'spec.a is a bare number: give it @type integer and @format',
    ],
    [
      'an integer without a format',
      '/** A.\n * @type integer */\na: number;',
      'spec.a is an integer without @format',
    ],
    ['text without a length', '/** A. */ a: string;', 'spec.a is a string without @maxLength'],
    [
      'text with a pattern but no length',
      '/** A.\n * @pattern ^a$ */\na: string;',
      'spec.a is a string without @maxLength',
    ],
    [
      'a default of another type',
      '/** A.\n * @default 1 */\na: string;',
      'spec.a is of type string, and its default is not: quote it where it is text',
    ],
    [
      'a list without a type',
      '/** A.\n * @maxLength 1 */\na: boolean[];',
      'spec.a is a list without @listType or @maxItems',
    ],
    [
      'a list without a bound',
      '/** A.\n * @listType atomic */\na: boolean[];',
      'spec.a is a list without @maxItems',
    ],
    [
      'a list by keys without keys',
      '/** A.\n * @maxItems 1\n * @listType map */\na: boolean[];',
      'spec.a is a list of type map without @listMapKey',
    ],
    [
      'a map without a bound',
      '/** A. */ a: B;',
      'spec.a is a map without @maxProperties',
      '/** B. */ interface B { [key: string]: boolean }',
    ],
    [
      'a value of unknown type',
      '/** A. */ a: unknown;',
      'spec.a has no type: a union, or something that TypeScript alone knows',
    ],
  ];
  for (const [reason, declaration, problem, more] of CASES) {
    test(reason, () => assert.ok(problemsOf(declaration, more).includes(problem)));
  }
  test('a union of types', () => {
    assert.throws(() => {
      const found = problemsOf(
        '/** A. */ a: string | B;',
        '/** B. */ interface B {\n/** C. */ c: string;\n}',
      );
      assert.deepEqual(found, []);
    });
  });
  test('a rule without a message', () => {
    assert.throws(
      () => fieldOf('/** A.\n * @cel self != "x" */\na: string;'),
      /write @cel <rule> ;; <message>/,
    );
  });
  test('a type that contains itself', () => {
    assert.throws(() =>
      problemsOf('/** A. */ a: B;', '/** B. */ interface B {\n/** C. */ c?: B;\n}'),
    );
  });
  test('but needs no bounds in a status, which only the operator writes', () => {
    assert.deepEqual(problemsOf('/** A. */ a: string;', '', 'status'), []);
    assert.deepEqual(problemsOf('/** A.\n * @listType set */\na: string[];', '', 'status'), []);
  });
});
