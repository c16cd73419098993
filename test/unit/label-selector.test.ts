import assert from 'node:assert/strict';
import { test } from 'node:test';

import { matchesSelector } from '../../runner/config/label-selector.js';
import { labelSelector } from '../../runner/config/parsers.js';

const LABELS = { team: 'blue', tier: '', 'k8s.io/app': 'a-b.c' };

/** As `kubectl get --selector` decides. */
const CASES: readonly (readonly [selector: string, matches: boolean])[] = [
  ['', true],
  ['team', true],
  ['other', false],
  ['!team', false],
  ['! other', true],
  ['team=blue', true],
  ['team == blue', true],
  ['team=red', false],
  ['team!=blue', false],
  ['team != red', true],
  ['other!=x', true],
  ['tier=', true],
  ['tier!=', false],
  ['other=', false],
  ['team in (red, blue)', true],
  ['team in (red)', false],
  ['team notin (red,green)', true],
  ['team notin ( blue )', false],
  ['other notin (a)', true],
  ['k8s.io/app=a-b.c,team in (blue,red),!other', true],
  ['team=blue,other', false],
];

for (const [selector, matches] of CASES) {
  test(`the selector "${selector}" ${matches ? 'matches' : 'does not match'}`, () => {
    assert.equal(labelSelector.parse(selector), selector.trim(), 'the flag takes it');
    assert.equal(matchesSelector(selector, LABELS), matches);
  });
}

test('an object without labels matches what asks for none', () => {
  assert.equal(matchesSelector('!team', undefined), true);
  assert.equal(matchesSelector('team=blue', undefined), false);
});
