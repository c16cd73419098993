import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { Ingress } from '../../constructs/kit/object-kind.js';
import type { KubeObject, ObjectMeta } from '../../constructs/kit/object.js';
import { pickBySuffix } from '../../constructs/kit/json/pick-by-suffix.js';
import { keptAnnotations, keptMetadata } from '../../runner/cache/kept-metadata.js';

const keptOf = typeof Ingress.content === 'function' ? Ingress.content : assert.fail();
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

const aSite = (metadata: Partial<ObjectMeta>): KubeObject => ({
  ...{ apiVersion: 'app-operator.io/v1alpha1', kind: 'AppSite' },
  metadata: { name: 's', namespace: 'n', uid: 'u', resourceVersion: '7', ...metadata },
});

describe('the metadata that the caches keep', () => {
  test('has the annotations and labels of others, if they are short', () => {
    const metadata = { labels: { app: 'x' }, annotations: { 'a/b': 'c', pinned: 'true' } };
    assert.deepEqual(keptMetadata(aSite(metadata)), aSite(metadata).metadata);
  });

  test('has neither what kubectl applied, nor managers, nor owners', () => {
    const site = aSite({
      annotations: { [LAST_APPLIED]: '{}' },
      managedFields: [],
      ownerReferences: [],
    });
    assert.deepEqual(keptMetadata(site), aSite({}).metadata);
  });

  test('has no long annotation', () => {
    const annotations = { 'a/long': 'x'.repeat(250_000), 'b/short': 'y' };
    assert.deepEqual(keptAnnotations(aSite({ annotations })), { 'b/short': 'y' });
  });

  test('has some of many annotations and labels, and those of the operator before all others', () => {
    const many = Object.fromEntries(
      Array.from({ length: 4_000 }, (_, index) => [`a/${index}`, 'x'.repeat(40)]),
    );
    const own = { 'app-operator.io/run-again': 'x'.repeat(1_000) };
    const kept = keptMetadata(aSite({ annotations: { ...many, ...own }, labels: many }));
    assert.equal(kept.annotations?.['app-operator.io/run-again'], own['app-operator.io/run-again']);
    for (const texts of [kept.annotations, kept.labels]) {
      const length = Object.entries(texts ?? {})
        .flat()
        .join('').length;
      assert.ok(length > 8_000 && length <= 8_192, `${length} characters`);
    }
  });

  test('is the same when it is reduced again: a cached resource is compared with a read one', () => {
    const annotations = Object.fromEntries(
      Array.from({ length: 500 }, (_, index) => [`a/${index}`, 'x'.repeat(index)]),
    );
    const once = aSite({ annotations: keptAnnotations(aSite({ annotations })) ?? {} });
    assert.deepEqual(keptAnnotations(once), once.metadata.annotations);
  });
});

test('of the grants of an Ingress a few are kept, and no long one', () => {
  const grants = (count: number, length: number): Readonly<Record<string, string>> =>
    Object.fromEntries(
      Array.from({ length: count }, (_, index) => [
        `a${index}/allow-host-from`,
        'x'.repeat(length),
      ]),
    );
  const kept = (annotations: Readonly<Record<string, string>>): number => {
    const ingress = { ...aSite({ annotations }), spec: {} };
    const { metadata } = keptOf(ingress);
    return Object.keys(metadata.annotations ?? {}).length;
  };
  assert.deepEqual(
    [kept(grants(1, 8_192)), kept(grants(1, 8_193)), kept(grants(50, 9))],
    [1, 0, 8],
  );
});

test('of the labels that end with a name a few are kept, and none with a long value', () => {
  const many = Object.fromEntries(
    Array.from({ length: 50 }, (_, index) => [`a${index}/owner`, 'x']),
  );
  assert.equal(Object.keys(pickBySuffix(['/owner'], many) ?? {}).length, 8);
  assert.equal(pickBySuffix(['/owner'], { 'a/owner': 'x'.repeat(254), 'a/other': 'x' }), undefined);
});
