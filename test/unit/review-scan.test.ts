import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { ReviewScan, type ScanLimits } from '../../runner/admission/scan.js';

const LIMITS: ScanLimits = { depth: 10, values: 100, bytes: 1_000 };
type Exceeds = string | undefined;

/** More levels than a stack has frames. */
const DEEP = 300_000;

function scanned(text: string, piece = text.length, limits = LIMITS): ReviewScan {
  const scan = new ReviewScan(limits);
  const bytes = Buffer.from(text);
  for (let i = 0; i < bytes.length; i += piece) scan.push(bytes.subarray(i, i + piece));
  return scan;
}

const review = (object: string, oldObject = 'null'): string =>
  `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":` +
  `{"uid":"u-1","kind":{"kind":"AppSite"},"object":${object},"oldObject":${oldObject}}}`;
const lists = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
const both = ({ exceeded, oldExceeded }: ReviewScan) => [exceeded, oldExceeded];

describe('a review is measured', () => {
  const DEPTH = 'Too deep: may not nest more than 7 levels';
  const VALUES = 'Too many: must have at most 100 values';
  const BYTES = 'Too long: may not be more than 1000 bytes';
  const many = `[${'1,'.repeat(200)}1]`;
  const long = `"${'x'.repeat(1200)}"`;
  const cases: readonly (readonly [what: string, text: string, object?: Exceeds, old?: Exceeds])[] =
    [
      ['as small', review('{"spec":{}}', '{"spec":{}}')],
      ['at its greatest depth', review(lists(8))],
      ['as too deep', review(lists(9)), DEPTH],
      ['as too deep by far', review(lists(DEEP)), DEPTH],
      ['as too deep where nothing is closed', review('['.repeat(DEEP)), DEPTH],
      ['as of too many values', review(many), VALUES],
      ['as of too many lists', review(`[${'[],'.repeat(80)}[]]`), VALUES],
      ['as too long', review(`{"a":${long}}`), BYTES],
      ['by the stored object apart', review('{}', lists(9)), undefined, DEPTH],
      ['by the values of it apart', review('{}', many), undefined, VALUES],
      ['by the bytes of it apart', review('{}', `{"a":${long}}`), undefined, BYTES],
      ['by both', review(many, lists(9)), VALUES, DEPTH],
      ['without what is in texts', review(`{"a":"${'[{,'.repeat(200)}"}`)],
      ['past an escaped quote', review(String.raw`{"a":"\"[[[[[[[[[[[[[[","b":"\\"}`)],
      ['with other fields', review('{}').replace('"uid"', `"options":${many},"uid"`), VALUES],
      ['with two objects', review('{}').replace('"object"', `"object":${many},"object"`), VALUES],
      ['where an inner field has the name', review('{"oldObject":[]}').replace('[]', many), VALUES],
    ];
  for (const [what, text, exceeded, oldExceeded] of cases) {
    test(what, () => {
      assert.deepEqual(both(scanned(text)), [exceeded, oldExceeded]);
      assert.equal(scanned(text).uid, 'u-1');
    });
  }

  test('in pieces as in one', () => {
    for (const text of [review(lists(9)), review('{}', many), review('{"a":"é\\"[["}')]) {
      const whole = scanned(text);
      for (const piece of [1, 2, 3, 7]) {
        assert.deepEqual(both(scanned(text, piece)), both(whole));
        assert.equal(scanned(text, piece).uid, 'u-1');
      }
    }
  });
  test('also where it is no JSON', () => {
    for (const text of ['', ']]]]}', '"', '{"request":{"uid":', '\\"\\', '}'.repeat(DEEP)]) {
      assert.equal(scanned(text).uid, undefined);
    }
  });
  test('and its uid is its own', () => {
    const text = '{"uid":"x","request":{"kind":{"uid":"y"},"uid":"z","object":{"uid":"w"}}}';
    assert.equal(scanned(text).uid, 'z');
  });
});
