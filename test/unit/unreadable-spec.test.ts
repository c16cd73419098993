import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';

import { objectKind } from '../../constructs/kit/definition.js';
import { PersistentVolumeClaim, type ObjectKind } from '../../constructs/kit/object-kind.js';
import type { Condition } from '../../constructs/kit/condition.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import { admit } from '../../constructs/kit/schema/admit.js';
import { KINDS, type AnyKind } from '../../constructs/registry.js';
import type { Client, Method, RequestOptions } from '../../runner/api/client.js';
import { ResourceStore } from '../../runner/cache/store.js';
import { LiveResources, type OwnKind } from '../../runner/reconcile/live-resources.js';
import { controllerOf } from './controller-builder.js';
import { METADATA_KEYS } from './plan-builder.js';

const NO_OBJECTS: readonly unknown[] = [undefined, null, 'text', 5, ['list']];
const kindOf = (name: string): AnyKind =>
  KINDS.find(({ definition }) => definition.kind === name) ?? assert.fail(name);

type Event = KubeObject & { readonly reason: string; readonly note: string };
type Stored = Resource<unknown, { readonly phase: string; readonly conditions: Condition[] }>;

/** The API server: the resources by `<plural>/<name>`, and what is written. */
class Api implements Pick<Client, 'request' | 'apply'> {
  /** Called after each change of an object's metadata, before its answer. */
  patched?: (name: string) => void;
  readonly objects = new Map<string, KubeObject>();
  readonly written = new Map<string, Stored>();
  readonly events: Event[] = [];
  #version = 100;

  request<T>(method: Method, path: string, { body }: RequestOptions = {}): Promise<T> {
    if (path.endsWith('/events')) {
      this.events.push(body as Event);
      return Promise.resolve(body as T);
    }
    const [plural = '', name = ''] = path.split('/').slice(-2);
    if (plural === 'n') {
      const items = [...this.objects].flatMap(([key, each]) =>
        key.startsWith(`${name}/`) ? [each] : [],
      );
      const list = { apiVersion: 'app-operator.io/v1alpha1', kind: 'List' };
      return Promise.resolve({ ...list, metadata: { resourceVersion: '9' }, items } as T);
    }
    const key = `${plural}/${name}`;
    const found = this.objects.get(key) ?? assert.fail(key);
    if (method === 'PATCH') {
      const { metadata } = body as KubeObject;
      const resourceVersion = String(++this.#version);
      this.objects.set(key, {
        ...found,
        metadata: {
          ...{ ...found.metadata, ...metadata, resourceVersion },
          labels: { ...found.metadata.labels, ...metadata.labels },
        },
      });
      this.patched?.(name);
    }
    return Promise.resolve(this.objects.get(key) as T);
  }

  apply<T>(path: string, object: unknown): Promise<T> {
    this.written.set(path.split('/').slice(-3, -1).join('/'), object as Stored);
    return Promise.resolve(object as T);
  }
}

/** The controller of a kind, over caches that an API server without schemas has filled. */
function rig(kind: AnyKind, t: TestContext) {
  const api = new Api();
  const own = new Map<string, OwnKind>(
    KINDS.map((each) => {
      const of = { api: objectKind(each.definition), kind: each, found: () => undefined };
      return [each.definition.kind, of];
    }),
  );
  const { controller, dependencies, children } = controllerOf(kind, api, {
    live: new LiveResources(api, own, METADATA_KEYS),
    validate: (resource) => admit(kind.definition, resource).problems,
  });
  const put = (name: string, rest: object, of: AnyKind = kind): void => {
    const { definition } = of;
    const onChange = (key: string, object: KubeObject | undefined): void => {
      dependencies.update(definition.kind, key, object);
    };
    const nothing = (): void => undefined;
    const store = new ResourceStore({ definition, onChange, onCount: nothing, enqueue: nothing });
    const { metadata, ...others } = rest as Partial<KubeObject>;
    const object = {
      apiVersion: objectKind(definition).apiVersion,
      kind: definition.kind,
      metadata: {
        ...{ name, namespace: 'n', uid: `u-${name}`, generation: 1, resourceVersion: '1' },
        ...metadata,
      },
      ...others,
    };
    api.objects.set(`${definition.plural}/${name}`, object);
    store.upsert(object);
  };
  const forget = (name: string): void => {
    dependencies.update(kind.definition.kind, `n/${name}`, undefined);
  };
  const reconcile = async (name: string): Promise<void> => {
    controller.queue.add(`n/${name}`);
    while (controller.queue.busy) await setImmediate();
  };
  const addChild = (of: ObjectKind, name: string, owner: string): void => {
    const labels = {
      [METADATA_KEYS.owner]: `${kind.definition.kind}.${owner}`,
      [METADATA_KEYS.retain]: 'false',
    };
    const { apiVersion } = objectKind(kind.definition);
    const object = {
      apiVersion: of.apiVersion,
      kind: of.kind,
      metadata: {
        ...{ name, namespace: 'n', uid: `c-${name}`, resourceVersion: '2', labels },
        ownerReferences: [
          {
            ...{ apiVersion, kind: kind.definition.kind },
            name: owner,
            uid: `u-${owner}`,
            controller: true,
          },
        ],
      },
    };
    api.objects.set(`${of.plural}/${name}`, object);
    children.sink(of, () => true).upsert(object);
  };
  controller.queue.start();
  t.after(() => controller.queue.stop());
  return { api, controller, put, forget, reconcile, addChild };
}

const BACKUP = {
  ...{ name: '20260101T000000Z', location: 's3://x/y', size: 1, complete: true },
  ...{ startTime: '2026-01-01T00:00:00Z', completionTime: '2026-01-01T00:00:00Z' },
};
const DELETED = {
  deletionTimestamp: '2026-01-01T00:00:00Z',
  finalizers: ['example.com/other', METADATA_KEYS.finalizer],
};
const conditionOf = ({ status }: Stored, type: string): Condition | undefined =>
  status?.conditions.find((condition) => condition.type === type);

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

    test(`is deleted, and an event says what is left: ${name}`, async (t) => {
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
      assert.match(api.events[0]?.note ?? '', /spec: Required value; left: nothing that is known$/);
    });
  }
});

describe('the deletion of a resource whose spec cannot be read', () => {
  const CASES: readonly (readonly [kind: string, spec: object, status: object, left: string])[] = [
    [
      'AppSite',
      { siteName: 'a.b', benchRef: 5, deletionPolicy: 'Delete' },
      { database: { provider: 'mariadb', host: 'db', name: '_1' }, appliedHash: 'h' },
      'database _1 on db, its folder on the volume',
    ],
    ['SiteUser', {}, { document: 'a@b.c' }, 'User a@b.c'],
    ['SiteWorkspace', { siteRef: 5 }, { document: 'Sales' }, 'Workspace Sales'],
    [
      'SiteBackup',
      { siteRef: { name: 's' }, deletionPolicy: 'Delete' },
      {
        bench: 'b',
        backups: [BACKUP],
      },
      'backup s3://x/y',
    ],
  ];
  for (const [name, spec, status, left] of CASES) {
    test(`leaves what the status names: ${name}`, async (t) => {
      const kind = kindOf(name);
      const { api, put, reconcile } = rig(kind, t);
      put('r', { spec, status, metadata: DELETED });
      await reconcile('r');
      const { finalizers } = api.objects.get(`${kind.definition.plural}/r`)?.metadata ?? {};
      assert.deepEqual(finalizers, ['example.com/other']);
      const [event] = api.events;
      assert.equal(event?.reason, 'CleanupSkipped');
      assert.ok(event.note.endsWith(`; left: ${left}`), event.note);
    });
  }

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

  test('does not wait until the status fits the schema', async (t) => {
    const { api, put, reconcile } = rig(kindOf('SiteBackup'), t);
    put('r', { spec: 'text', status: { backups: 5, bench: 'b' }, metadata: DELETED });
    await reconcile('r');
    assert.equal(api.events[0]?.reason, 'CleanupSkipped');
  });

  test('retains its data, also where the label says that it is deleted with it', async (t) => {
    const { api, put, reconcile, addChild } = rig(kindOf('AppBench'), t);
    put('b', { metadata: DELETED });
    addChild(PersistentVolumeClaim, 'b-sites', 'b');
    await reconcile('b');
    const claim = api.objects.get('persistentvolumeclaims/b-sites') ?? assert.fail();
    assert.equal(claim.metadata.labels?.[METADATA_KEYS.retain], 'true');
    assert.equal(claim.metadata.ownerReferences ?? null, null);
    assert.match(api.events[0]?.note ?? '', /left: PersistentVolumeClaim b-sites$/);
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
