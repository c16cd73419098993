import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { patchOf } from '../../cli/commands/diff/patch.js';
import type { KubeObject } from '../../constructs/kit/object.js';

const object = (kind: string, more: object, metadata: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name: 'x', namespace: 'ns', ...metadata },
  ...more,
});

describe('the patch of an object', () => {
  test('ignores the fields that the API server and the operator set', () => {
    const metadata = { generation: 1, uid: 'u', ownerReferences: [{ name: 'o' }] };
    const before = object('Thing', { spec: { a: 1 }, status: { b: 2 } }, metadata);
    const after = object('Thing', { spec: { a: 1 } }, { generation: 2, managedFields: [] });
    assert.equal(patchOf(before, after), '');
  });

  test('ignores a hash at any depth where it is asked to', () => {
    const of = (hash: string) =>
      object('Thing', { spec: { template: { metadata: { annotations: { a: '1', hash } } } } });
    assert.match(patchOf(of('v1'), of('v2')), /^\+ +hash: v2$/m);
    assert.equal(patchOf(of('v1'), of('v2'), ['hash']), '');
  });

  test('is unified, whatever the order of the fields', () => {
    const patch = patchOf(
      object('Thing', { spec: { a: 1, b: 2 } }),
      object('Thing', { spec: { b: 3, a: 1 } }),
    );
    const lines = ['   namespace: ns', ' spec:', '   a: 1', '-  b: 2', '+  b: 3', ''];
    const head = ['--- live/Thing.ns.x', '+++ new/Thing.ns.x', '@@ -5,4 +5,4 @@'];
    assert.equal(patch, [...head, ...lines].join('\n'));
  });

  test('names /dev/null for an object that is created or deleted', () => {
    assert.match(patchOf(undefined, object('Thing', {})), /^--- \/dev\/null\n\+\+\+ new\/Thing/);
    assert.match(patchOf(object('Thing', {}), undefined), /^--- live\/Thing.*\n\+\+\+ \/dev\/null/);
  });
});
