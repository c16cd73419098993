import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { PersistentVolumeClaim } from '../../constructs/kit/object-kind.js';
import { KINDS } from '../../constructs/registry.js';
import { conditionOf, DELETED, kindOf, rig } from './deletion-rig.js';
import { METADATA_KEYS } from './plan-builder.js';

const NO_OBJECTS: readonly unknown[] = [undefined, null, 'text', 5, ['list']];
describe('a resource whose spec is no object', () => {
  for (const kind of KINDS) {
    const { kind: name, plural } = kind.definition;
    test(`is Stalled, without a finalizer, and is not tried again: ${name}`, async (t) => {
      const { api, put, reconcile, controller } = rig(kind, t);
      for (const [index, spec] of NO_OBJECTS.entries()) {
        put(`r${index}`, spec === undefined ? {} : { spec });
        await reconcile(`r${index}`);
        const written = api.written.get(`${plural}/r${index}`) ?? assert.fail(`r${index}`);
        const stalled = conditionOf(written, 'Stalled');
        assert.equal(stalled?.reason, 'InvalidSpec');
        assert.match(stalled.message, /^spec: (Required value|Invalid value: .*must be of type)/);
        assert.equal(written.status?.phase, 'Failed');
        assert.equal(controller.queue.failures(`n/r${index}`), 0);
        const { finalizers } = api.objects.get(`${plural}/r${index}`)?.metadata ?? {};
        assert.equal(finalizers, undefined);
      }
    });

    test(`is deleted, and an event has the reason: ${name}`, async (t) => {
      const { api, put, reconcile } = rig(kind, t);
      for (const [index, spec] of NO_OBJECTS.entries()) {
        put(`r${index}`, { ...(spec === undefined ? {} : { spec }), metadata: DELETED });
        await reconcile(`r${index}`);
        const { finalizers } = api.objects.get(`${plural}/r${index}`)?.metadata ?? {};
        assert.deepEqual(finalizers, ['example.com/other']);
      }
      assert.deepEqual(
        api.events.map(({ reason }) => reason),
        NO_OBJECTS.map(() => 'CleanupSkipped'),
      );
      assert.match(api.events[0]?.note ?? '', /and data stays: spec: Required value$/);
    });
  }
});

describe('the deletion of an invalid resource', () => {
  test('has an event, also if the caches lose the resource first', async (t) => {
    const { api, put, reconcile, forget } = rig(kindOf('SiteUser'), t);
    put('r', { spec: {}, metadata: DELETED });
    api.patched = forget;
    await reconcile('r');
    assert.deepEqual(
      api.events.map(({ reason }) => reason),
      ['CleanupSkipped'],
    );
  });

  for (const spec of ['text', { siteRef: { name: 's' }, deletionPolicy: 'Delete' }]) {
    test('does not wait until its status is corrected', async (t) => {
      const { api, put, reconcile } = rig(kindOf('SiteBackup'), t);
      put('r', { spec, status: { backups: 5, bench: 'b' }, metadata: DELETED });
      await reconcile('r');
      assert.equal(api.events[0]?.reason, 'CleanupSkipped');
      assert.match(api.events[0].note, /status\.backups: Invalid value/);
    });
  }

  test('retains its data, also where the label says that it is deleted with it', async (t) => {
    const { api, put, reconcile, addChild } = rig(kindOf('AppBench'), t);
    put('b', { metadata: DELETED });
    addChild(PersistentVolumeClaim, 'b-sites', 'b');
    await reconcile('b');
    const claim = api.objects.get('persistentvolumeclaims/b-sites') ?? assert.fail();
    assert.equal(claim.metadata.labels?.[METADATA_KEYS.retain], 'true');
    assert.equal(claim.metadata.ownerReferences ?? null, null);
    assert.match(api.events[0]?.note ?? '', /; retained: PersistentVolumeClaim b-sites$/);
  });

  test('waits where others need it: a bench for a site that may be on it', async (t) => {
    const bench = kindOf('AppBench');
    for (const spec of [undefined, { frameworkVersion: 'version-15', deletionPolicy: 'Delete' }]) {
      const { api, put, reconcile } = rig(bench, t);
      put('b', { ...(spec ? { spec } : {}), metadata: DELETED });
      put('lost', {}, kindOf('AppSite'));
      await reconcile('b');
      const written = api.written.get('appbenchs/b') ?? assert.fail();
      assert.equal(conditionOf(written, 'Ready')?.reason, 'SitesExist');
      assert.deepEqual(api.objects.get('appbenchs/b')?.metadata.finalizers, DELETED.finalizers);
      assert.deepEqual(
        api.events.filter(({ reason }) => reason === 'CleanupSkipped'),
        [],
      );
    }
  });
});
