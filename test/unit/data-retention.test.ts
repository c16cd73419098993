import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { PersistentVolumeClaim } from '../../constructs/kit/object-kind.js';
import { conditionOf, DELETED, kindOf, rig } from './deletion-rig.js';
import { METADATA_KEYS } from './plan-builder.js';

describe('the deletion of a site under Delete', () => {
  const SPEC = {
    ...{ siteName: 'a.b', benchRef: { name: 'b' }, deletionPolicy: 'Delete' },
    dbConfig: { mode: 'dedicated' },
  };
  const STATUS = {
    database: { provider: 'mariadb', host: 's-db', name: 's_s_1' },
    ...{ appliedHash: 'h', phase: 'Ready', conditions: [] },
  };
  const BENCH = {
    spec: {
      ...{ frameworkVersion: 'version-15', appsJSON: '[]', deletionPolicy: 'Retain' },
      storage: { size: '1Gi', accessMode: 'ReadWriteMany' },
      dbConfig: { provider: 'mariadb', mode: 'managed' },
    },
    status: {},
  };
  const skipped = { annotations: { [METADATA_KEYS.skipDrop]: 'true' } };

  for (const [when, before] of [
    ['after it was blocked', DELETED],
    ['before', undefined],
  ] as const) {
    test(`retains its data where the Job is skipped ${when}`, async (t) => {
      const { api, put, reconcile, addChild } = rig(kindOf('AppSite'), t);
      if (before) {
        put('s', { spec: SPEC, status: STATUS, metadata: before });
        addChild(PersistentVolumeClaim, 's-db-data', 's');
        await reconcile('s');
        const written = api.written.get('appsites/s') ?? assert.fail();
        assert.equal(conditionOf(written, 'Ready')?.reason, 'BenchMissing');
      } else {
        const metadata = { ...skipped, finalizers: [] };
        put('s', { spec: SPEC, status: STATUS, metadata });
        await reconcile('s');
        const { finalizers } = api.objects.get('appsites/s')?.metadata ?? {};
        assert.deepEqual(finalizers, [METADATA_KEYS.finalizer], 'its data is retained first');
        addChild(PersistentVolumeClaim, 's-db-data', 's');
      }
      put('s', {
        ...{ spec: SPEC, status: STATUS },
        metadata: { ...DELETED, ...skipped, resourceVersion: '9' },
      });
      await reconcile('s');
      const claim = api.objects.get('persistentvolumeclaims/s-db-data') ?? assert.fail();
      assert.equal(claim.metadata.labels?.[METADATA_KEYS.retain], 'true');
      const tracked = claim.metadata.labels['app.kubernetes.io/instance'] ?? null;
      assert.equal(tracked, null, 'Argo CD would prune it');
      assert.equal(claim.metadata.ownerReferences ?? null, null);
      const { finalizers } = api.objects.get('appsites/s')?.metadata ?? {};
      assert.deepEqual(finalizers, ['example.com/other']);
    });
  }

  test('reads the policy again before anything is deleted', async (t) => {
    const { api, put, reconcile, addChild } = rig(kindOf('AppSite'), t);
    put('s', { spec: SPEC, status: STATUS, metadata: DELETED });
    addChild(PersistentVolumeClaim, 's-db-data', 's');
    await reconcile('s');
    // The watch of sites is late: only the API server has the change.
    const stored = api.objects.get('appsites/s') ?? assert.fail();
    const changed = {
      ...stored,
      metadata: { ...stored.metadata, generation: 2, resourceVersion: '50' },
      spec: { ...SPEC, deletionPolicy: 'Retain' },
    };
    api.objects.set('appsites/s', changed);
    put('b', BENCH, kindOf('AppBench'));
    await reconcile('s');
    await reconcile('s');
    assert.deepEqual(api.deleted, []);
  });
});
