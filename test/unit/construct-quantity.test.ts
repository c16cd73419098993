import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { bytesOf } from '../../constructs/kit/quantity.js';

const QUANTITIES: readonly (readonly [quantity: string, number: number])[] = [
  ['0', 0],
  ['1', 1],
  ['+1', 1],
  ['128', 128],
  ['1.5', 1.5],
  ['1.', 1],
  ['.5', 0.5],
  ['500m', 0.5],
  ['1k', 1e3],
  ['1M', 1e6],
  ['1G', 1e9],
  ['1T', 1e12],
  ['1P', 1e15],
  ['1E', 1e18],
  ['1Ki', 1024],
  ['256Mi', 268_435_456],
  ['1.5Gi', 1_610_612_736],
  ['1Ti', 2 ** 40],
  ['1Pi', 2 ** 50],
  ['1Ei', 2 ** 60],
  ['1e3', 1e3],
  ['1E3', 1e3],
  ['1e-3', 1e-3],
  ['1.5e9', 1.5e9],
];

suite('a quantity is', () => {
  for (const [quantity, number] of QUANTITIES) {
    test(`${quantity} = ${number}`, () => {
      assert.equal(bytesOf(quantity), number);
    });
  }
});

suite('what is no quantity is refused', () => {
  for (const text of [
    '',
    ' 1',
    '1 ',
    '1KB',
    '1ki',
    '1K',
    '-',
    '.',
    '-1',
    '1Gi2',
    'Gi',
    '1e',
    '0x1',
    '1,5',
    'NaN',
  ]) {
    test(JSON.stringify(text), () => {
      assert.throws(() => bytesOf(text), RangeError);
    });
  }
});
