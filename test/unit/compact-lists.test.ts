import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { metadataKeysFor } from '../../constructs/kit/metadata-keys.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { Deployment, type ObjectKind, Secret } from '../../constructs/kit/object-kind.js';
import { DEFAULT_SETTINGS } from '../../constructs/kit/operator-settings.js';
import { ChildCache } from '../../runner/cache/child-cache.js';
import { DependencyTracker } from '../../runner/cache/dependencies.js';
import { isolated } from '../../runner/cache/invalid-objects.js';
import { readableSink } from '../../runner/cache/readable-sink.js';
import type { Sink } from '../../runner/cache/reflector.js';
import { ResourceStore } from '../../runner/cache/store.js';

const FIELDS = { 'f:metadata': { 'f:labels': {} }, 'f:spec': { 'f:replicas': {} } };
const anObject = (apiVersion: string, kind: string, labels: object): KubeObject =>
  ({
    ...{ apiVersion, kind },
    metadata: {
      ...{ name: 'x', namespace: 'a', uid: 'u', resourceVersion: '7', generation: 1, labels },
      annotations: { 'app-operator.io/generated-id': 'id', 'app-operator.io/generate': '{}' },
      managedFields: [
        {
          ...{ apiVersion, manager: 'app-operator', operation: 'Apply' },
          ...{ fieldsType: 'FieldsV1', fieldsV1: FIELDS },
        },
      ],
    },
    spec: { replicas: 2, template: { spec: { containers: [{ name: 'c', image: 'i' }] } } },
    status: { observedGeneration: 1, replicas: 2, readyReplicas: 2, updatedReplicas: 2 },
  }) as KubeObject;
const OWN = {
  'app.kubernetes.io/managed-by': 'app-operator',
  'app-operator.io/owner': 'AppSite.s',
};

function caches() {
  const children = new ChildCache(metadataKeysFor('app-operator.io'), () => undefined);
  const dependencies = new DependencyTracker({
    ...{ settings: DEFAULT_SETTINGS, indexes: [], enqueue: () => undefined, now: () => 0 },
  });
  const sinkOf = (kind: ObjectKind): Sink => {
    const own = children.sink(kind, () => true);
    const read = kind === Secret ? readableSink(kind, dependencies, own, () => true) : own;
    return isolated(kind.kind, read, (...report) => assert.fail(report.join(' ')));
  };
  return { children, dependencies, sinkOf };
}

/** What the caches have of a listed object, with and without compacting it first. */
async function stored(kind: ObjectKind, object: KubeObject, isCompacted: boolean) {
  const { children, dependencies, sinkOf } = caches();
  const sink = sinkOf(kind);
  await sink.replace([isCompacted ? (sink.compact?.(object) ?? assert.fail()) : object], '9');
  return {
    children: children.of('AppSite/a/s'),
    read: [...dependencies.objects(kind.kind).entries()],
  };
}

describe('a compacted list', () => {
  for (const kind of [Deployment, Secret]) {
    for (const [what, labels] of [
      ['child', OWN],
      ['foreign object', { app: 'other' }],
    ] as const) {
      if (kind === Deployment && what !== 'child') continue;
      test(`fills the caches as the whole objects do: ${kind.kind}, ${what}`, async () => {
        const object = anObject(kind.apiVersion, kind.kind, labels);
        const whole = await stored(kind, object, false);
        assert.equal(whole.children.length, what === 'child' ? 1 : 0);
        assert.equal(whole.read.length, kind === Secret ? 1 : 0);
        assert.deepEqual(await stored(kind, object, true), whole);
      });
    }
  }

  test('keeps no content of a child', () => {
    const { sinkOf } = caches();
    const compact = sinkOf(Deployment).compact?.(anObject('apps/v1', 'Deployment', OWN));
    const metadata = { name: 'x', namespace: 'a', labels: OWN };
    assert.deepEqual(compact, { apiVersion: 'apps/v1', kind: 'Deployment', metadata });
  });

  test('keeps a resource without its managed fields', () => {
    const store = new ResourceStore({
      ...{ onChange: () => undefined, onCount: () => undefined, enqueue: () => undefined },
    });
    const object = anObject('app-operator.io/v1alpha1', 'AppSite', {});
    const kept = store.scoped(() => true).compact?.(object);
    assert.equal(kept?.metadata.managedFields, undefined);
    assert.deepEqual({ ...kept, metadata: null }, { ...object, metadata: null });
  });
});
