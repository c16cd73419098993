import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { parse, stringify } from 'yaml';

import { toYaml, YAML_OPTIONS } from '../../cli/io/yaml.js';
import { reconcileScenario } from '../golden/outcome.js';
import { readScenario, scenarioNames } from '../golden/scenario.js';

describe('the YAML of render and diff', () => {
  const INVISIBLE: Readonly<Record<string, string>> = {
    'the end of an escape sequence of C1': '\u009b31m',
    'an escape': '\u001b[31m',
    'the direction of text': 'a\u202eb\u2066c',
    'a carriage return': 'a\rb',
    'no width': 'a\u200bb\ufeff',
    'a line of Unicode': 'a\u2028b',
    'a tag beyond 16 bits': 'a\u{e0001}b',
    'one in several lines': 'a\n\u009bb\n',
  };
  for (const [what, text] of Object.entries(INVISIBLE)) {
    test(`escapes ${what}`, () => {
      const object = { annotations: { [text]: text }, list: [text] };
      const yaml = toYaml([object]);
      assert.doesNotMatch(yaml, /[^\P{Cc}\n\t]|[\p{Cf}\p{Zl}\p{Zp}]/u);
      assert.deepEqual(parse(yaml, { version: '1.1' }), object);
    });
  }
  test('leaves other text as it is', () => {
    assert.equal(toYaml([{ a: 'ä ß 漢', b: 'x\ny\n' }]), 'a: ä ß 漢\nb: |\n  x\n  y\n');
  });
  test('has the same values for any text', () => {
    const text = fc.string({ unit: 'binary' }).filter((one) => one.isWellFormed());
    fc.assert(
      fc.property(fc.dictionary(text, text), (object) => {
        const entries = Object.entries(object).filter(([key]) => key !== '__proto__');
        const given = Object.fromEntries(entries);
        const yaml = toYaml([given]);
        assert.doesNotMatch(yaml, /[^\P{Cc}\n\t]|[\p{Cf}\p{Zl}\p{Zp}]/u);
        assert.deepEqual(parse(yaml, { version: '1.1' }), given);
      }),
    );
  });
  test('is as the library writes it, of objects with everything', () => {
    for (const name of scenarioNames().filter((one) => one.endsWith('-everything'))) {
      const outcomes = reconcileScenario(readScenario(name));
      const objects = outcomes.flatMap(({ stages }) => stages.flatMap((stage) => stage.objects));
      for (const object of objects) {
        assert.equal(toYaml([object]), stringify(object, YAML_OPTIONS), object.metadata.name);
      }
    }
  });
  test('is as the library writes it, whatever the object', () => {
    const text = fc
      .oneof(
        fc.string({ unit: 'binary' }),
        fc.array(fc.constantFrom(' ', '  ', '\n', 'a', '- ', ': ', '#', 'ä', '"'), {
          maxLength: 9,
        }),
        fc.constantFrom(
          'on',
          '~',
          '1:30',
          'a\n',
          '\na',
          'a\n\n',
          ' a\nb',
          '0x1f',
          '=',
          '<<',
          'null',
        ),
        fc.constantFrom(
          '2026-01-01',
          '1e3',
          '.inf',
          'a long text of words\nin two lines\n'.repeat(9),
        ),
      )
      .map((one) => (typeof one === 'string' ? one : one.join('')))
      .filter((one) => one.isWellFormed());
    const { object } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        text,
        fc.oneof(fc.boolean(), fc.double(), fc.integer(), fc.constantFrom(null, undefined)),
        fc.array(tie('value'), { maxLength: 4 }),
        tie('object'),
      ),
      object: fc.dictionary(
        text.filter((key) => key !== '__proto__'),
        tie('value'),
        { maxKeys: 4 },
      ),
    }));
    fc.assert(
      fc.property(object, (one) => {
        assert.equal(toYaml([one as object]), stringify(one, YAML_OPTIONS));
      }),
      { numRuns: 500 },
    );
  });
});
