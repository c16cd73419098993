import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { FailureIsolation } from '../../runner/batch/failure-isolation.js';

const failureIsolation = (): FailureIsolation<string> =>
  new FailureIsolation((request) => request.slice(0, 3));

describe('a request whose Jobs fail', () => {
  test('stands back when it failed alone, until it is done', () => {
    const all = failureIsolation();
    all.failed(['kim', 'lea']);
    assert.deepEqual(all.next(['kim', 'lea']), ['kim', 'lea']);
    all.failed(['kim']);
    assert.deepEqual(all.next(['kim', 'lea']), ['lea']);
    all.done(['kim']);
    assert.deepEqual(all.next(['kim', 'lea']), ['kim', 'lea']);
  });

  test('gets a Job alone, after the requests that have waited longer', () => {
    const all = failureIsolation();
    for (const name of ['kim', 'lea', 'kim']) all.failed([name]);
    assert.deepEqual(all.next(['kim', 'lea']), ['lea']);
    all.failed(['lea']);
    assert.deepEqual(all.next(['kim', 'lea']), ['kim']);
  });

  test('is not to blame while no other can be done', () => {
    const all = failureIsolation();
    for (const failed of [['kim', 'lea'], ['kim'], ['lea'], ['kim'], ['kim']]) {
      assert.equal(all.failed(failed), false);
    }
  });

  test('is to blame when it fails alone, since which others were done', () => {
    const all = failureIsolation();
    assert.equal(all.failed(['kim']), false);
    all.done(['lea']);
    assert.equal(all.failed(['kim again']), true);
  });

  test('is to blame if the last request that failed with it succeeded before it failed alone', () => {
    const all = failureIsolation();
    all.failed(['kim', 'lea']);
    all.done(['lea']);
    assert.equal(all.failed(['kim']), true);
  });

  test('is not to blame for a Job that failed with others in it', () => {
    const all = failureIsolation();
    all.failed(['kim', 'lea', 'leo']);
    all.done(['lea']);
    assert.equal(all.failed(['kim', 'leo']), false);
  });

  test('is not to blame for what failed before it was done itself', () => {
    const all = failureIsolation();
    all.failed(['kim', 'lea']);
    all.done(['lea']);
    all.done(['kim']);
    assert.equal(all.failed(['kim']), false);
  });

  test('is reported twice, which makes no difference', () => {
    const all = failureIsolation();
    for (let times = 0; times < 2; times += 1) assert.equal(all.failed(['kim']), false);
    all.done(['lea']);
    for (let times = 0; times < 2; times += 1) assert.equal(all.failed(['kim']), true);
  });
});
