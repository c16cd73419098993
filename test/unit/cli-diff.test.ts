import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { patchOf, withoutRun } from '../../cli/diff/text.js';
import type { KubeObject } from '../../constructs/kit/object.js';

const object = (kind: string, more: object, metadata: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name: 'x', namespace: 'ns', ...metadata },
  ...more,
});

describe('the patch of an object', () => {
  test('passes over what the API server adds by itself', () => {
    const before = object(
      'Thing',
      { spec: { a: 1 }, status: { b: 2 } },
      { generation: 1, uid: 'u' },
    );
    const after = object('Thing', { spec: { a: 1 } }, { generation: 2, managedFields: [] });
    assert.equal(patchOf('x', before, after), '');
  });

  test('is unified, whatever the order of the fields', () => {
    const patch = patchOf(
      'Thing.ns.x',
      object('Thing', { spec: { a: 1, b: 2 } }),
      object('Thing', { spec: { b: 3, a: 1 } }),
    );
    assert.equal(
      patch,
      [
        ...['--- live/Thing.ns.x', '+++ new/Thing.ns.x', '@@ -5,4 +5,4 @@'],
        ...['   namespace: ns', ' spec:', '   a: 1', '-  b: 2', '+  b: 3', ''],
      ].join('\n'),
    );
  });

  test('hides the values of Secrets, and tells which are other ones', () => {
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    const before = object('Secret', { data: { same: base64('one'), other: base64('two') } });
    const after = object('Secret', { stringData: { same: 'one', other: 'three', more: 'four' } });
    const patch = patchOf('x', before, after);
    assert.deepEqual(
      patch.split('\n').filter((line) => /^[ +-] {2}(same|other|more):/.test(line)),
      ['-  other: "*** (before)"', '+  more: "***"', '+  other: "*** (after)"', '   same: "***"'],
    );
    for (const value of ['one', 'two', 'three', 'four'])
      assert.ok(!patch.includes(value) && !patch.includes(base64(value)), value);
    assert.doesNotMatch(patchOf('x', undefined, after), /three|dGhyZWU/);
  });

  test('of a Job leaves out what selects its pods', () => {
    const job = object('Job', {
      spec: {
        selector: { matchLabels: { 'batch.kubernetes.io/controller-uid': 'u' } },
        template: { metadata: { labels: { app: 'a', 'job-name': 'x', 'controller-uid': 'u' } } },
      },
    });
    assert.deepEqual(withoutRun(job), {
      ...job,
      spec: { template: { metadata: { labels: { app: 'a' } } } },
    });
  });
});
