import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';

import { objectKind } from '../../constructs/kit/definition.js';
import { kindId, type ObjectKind } from '../../constructs/kit/object-kind.js';
import type { Condition } from '../../constructs/kit/condition.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import { admit } from '../../constructs/kit/schema/admit.js';
import { KINDS, type AnyKind } from '../../constructs/registry.js';
import type { Client, Method, RequestOptions } from '../../runner/api/client.js';
import { ResourceStore } from '../../runner/cache/store.js';
import { LiveResources, type OwnKind } from '../../runner/reconcile/live-resources.js';
import { controllerOf } from './controller-builder.js';
import { METADATA_KEYS } from './plan-builder.js';

export const kindOf = (name: string): AnyKind =>
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
  /** Objects that were deleted, as `<plural>/<name>`. */
  readonly deleted: string[] = [];
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
    if (method === 'DELETE') this.deleted.push(key);
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
export function rig(kind: AnyKind, t: TestContext) {
  const api = new Api();
  const own = new Map<string, OwnKind>(
    KINDS.map((each) => {
      const of = {
        api: objectKind(each.definition),
        kind: each,
        found: () => undefined,
        cached: () => undefined,
      };
      return [each.definition.kind, of];
    }),
  );
  const { controller, dependencies, children } = controllerOf(kind, api, {
    live: new LiveResources(api, own, METADATA_KEYS),
    kinds: new Map(kind.owns.map((each) => [kindId(each), each])),
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
      // As release 0.2.0 has made it.
      'app.kubernetes.io/instance': owner,
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

export const DELETED = {
  deletionTimestamp: '2026-01-01T00:00:00Z',
  finalizers: ['example.com/other', METADATA_KEYS.finalizer],
};
export const conditionOf = ({ status }: Stored, type: string): Condition | undefined =>
  status?.conditions.find((condition) => condition.type === type);
