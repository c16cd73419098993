import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { ConfigMap, Deployment, Secret } from '../../constructs/kit/object-kind.js';
import { FORBIDDEN_SHOWN_MS, watchConditions } from '../../runner/cache/watch-conditions.js';
import { BROKEN_MS, type BrokenWatch } from '../../runner/cache/watches.js';

const broken = (change: Partial<BrokenWatch>): BrokenWatch => ({
  ...{ kind: Deployment, brokenMs: BROKEN_MS, forbidden: false, message: '' },
  ...change,
});
const reasons = (...watches: readonly BrokenWatch[]): readonly string[] =>
  watchConditions([Deployment, Secret], watches).map(
    ({ type, status, reason, message }) => `${type}=${status} ${reason}: ${message}`,
  );

describe('a watch that does not work is a condition of the resources that need it', () => {
  const forbidden = { forbidden: true, brokenMs: FORBIDDEN_SHOWN_MS };
  test('within a minute where the permission is missing', () => {
    assert.deepEqual(reasons(broken({ ...forbidden, brokenMs: FORBIDDEN_SHOWN_MS - 1 })), []);
    assert.deepEqual(reasons(broken(forbidden)), [
      'WatchBroken=True Forbidden: Deployment: the operator may not watch deployments; apply the install manifest of this release',
    ]);
  });
  test('after minutes where the API server does not answer', () => {
    assert.deepEqual(reasons(broken({ brokenMs: BROKEN_MS - 1 })), []);
    assert.deepEqual(reasons(broken({})), [
      'WatchBroken=True Error: Deployment: the operator cannot watch deployments; read its log',
    ]);
  });
  test('with all kinds in one, and the missing permission as its reason', () => {
    const [condition, ...others] = reasons(broken({}), broken({ ...forbidden, kind: Secret }));
    assert.deepEqual(others, []);
    assert.match(condition ?? '', /^WatchBroken=True Forbidden: Deployment: .*; Secret: /);
  });
  test('of no others', () => {
    assert.deepEqual(reasons(broken({ kind: ConfigMap })), []);
  });
});
