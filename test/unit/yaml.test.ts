import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { parse } from 'yaml';

import { toYaml } from '../../cli/io/yaml.js';

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
});
