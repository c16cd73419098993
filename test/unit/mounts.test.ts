import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { metadataKeysFor } from '../../constructs/kit/metadata-keys.js';
import type { ObjectMeta } from '../../constructs/kit/object.js';
import { ApiError } from '../../runner/api/api-error.js';
import { refreshMounts } from '../../runner/apply/mount-refresh.js';
import { controlledBy, PodApi } from './pod-api.js';

const KEYS = metadataKeysFor('app-operator.io');
const CONFIG = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name: 'x-nginx-config',
    namespace: 'ns',
    resourceVersion: '7',
    annotations: { [KEYS.mountedBy]: 'x-nginx' },
  },
};

function aPod(name: string, metadata: Partial<ObjectMeta>) {
  return { metadata: { name, labels: { app: 'x-nginx' }, ...metadata } };
}

function ownPods(count: number) {
  return Array.from({ length: count }, (_, index) =>
    aPod(`x-nginx-7d9-${index}`, controlledBy('ReplicaSet', 'x-nginx-7d9', 'r1')),
  );
}

describe('the refresh of mounted ConfigMaps', () => {
  test('patches the pods of the workload, of which it lists the metadata', async () => {
    const api = new PodApi(ownPods(2));
    await refreshMounts(api, CONFIG, KEYS);
    assert.deepEqual(api.calls, [
      'LIST app=x-nginx 20 metadata',
      'PATCH x-nginx-7d9-0',
      'PATCH x-nginx-7d9-1',
    ]);
  });

  test('patches no pod of others with the label, and none that is being deleted', async () => {
    const replicaSet = controlledBy('ReplicaSet', 'x-nginx-7d9', 'r1');
    const api = new PodApi([
      aPod('bare', {}),
      aPod('of-a-job', controlledBy('Job', 'x-nginx-7d9', 'r1')),
      aPod('of-another', controlledBy('ReplicaSet', 'y-nginx-7d9', 'r2')),
      aPod('no-controller', {
        ownerReferences: replicaSet.ownerReferences.map((reference) => ({
          ...reference,
          controller: false,
        })),
      }),
      aPod('deleted', { ...replicaSet, deletionTimestamp: '2026-01-01T00:00:00Z' }),
    ]);
    await refreshMounts(api, CONFIG, KEYS);
    assert.deepEqual(api.calls, ['LIST app=x-nginx 20 metadata']);
  });

  test('lists a number of pods at most, and patches four at once', async () => {
    const api = new PodApi(ownPods(1000));
    let pending = 0;
    let most = 0;
    const client = {
      request: async <T>(...call: Parameters<PodApi['request']>): Promise<T> => {
        most = Math.max(most, ++pending);
        await Promise.resolve();
        pending -= 1;
        return api.request<T>(...call);
      },
    };
    await refreshMounts(client, CONFIG, KEYS);
    assert.equal(most, 4);
    assert.equal(api.lists.length, 10);
    assert.equal(api.calls.length, 210);
  });

  test('goes on after a pod that was deleted meanwhile, and ends without an error otherwise', async () => {
    const api = new PodApi(ownPods(6));
    const calls: string[] = [];
    const failing = (status: number) => ({
      request: <T>(...call: Parameters<PodApi['request']>): Promise<T> => {
        calls.push(call[0]);
        return call[0] === 'PATCH'
          ? Promise.reject(new ApiError(status, '', {}, 'no'))
          : api.request<T>(...call);
      },
    });
    await refreshMounts(failing(404), CONFIG, KEYS);
    assert.equal(calls.length, 7);
    calls.length = 0;
    await refreshMounts(failing(403), CONFIG, KEYS);
    assert.equal(calls.length, 5);
  });
});
