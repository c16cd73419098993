import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';

import {
  convert,
  ConversionError,
  renamed,
  type KindVersion,
  type Versioned,
} from '../../constructs/kit/conversion.js';
import { crdOf } from '../../constructs/install/crd.js';
import { DEFINITIONS } from '../../constructs/registry.js';
import { convertReview } from '../../runner/admission/conversion.js';
import { valuesOf } from '../support/schema-arbitrary.js';
import { V1BETA1 } from '../v1beta1/versions.js';
import { aBench, aSite } from './schema-manifests.js';

const GROUP = 'app-operator.io';
const RUNS = {
  seed: Number(process.env['TEST_SEED'] ?? 16),
  numRuns: Number(process.env['TEST_RUNS'] ?? 300),
};

for (const version of V1BETA1) {
  const { kind, spec } = version.definition;
  const stored = DEFINITIONS.find((definition) => definition.kind === kind);
  assert.ok(stored);

  describe(`the ${version.name} of ${kind}`, () => {
    test('loses nothing of the stored version', () => {
      lossless(objects(`${GROUP}/v1alpha1`, kind, valuesOf(stored.spec)), version.name);
    });

    test('loses nothing on the way through the stored version', () => {
      lossless(objects(`${GROUP}/${version.name}`, kind, valuesOf(spec)), 'v1alpha1');
    });

    test('names no field of the stored version that it has replaced', () => {
      fc.assert(
        fc.property(objects(`${GROUP}/v1alpha1`, kind, valuesOf(stored.spec)), (object) => {
          const { spec: converted } = convert(object, version.name, V1BETA1);
          for (const name of Object.keys(converted as object)) {
            assert.ok(Object.hasOwn(spec.properties ?? {}, name), name);
          }
        }),
        RUNS,
      );
    });
  });
}

describe('a conversion', () => {
  test('keeps what has no other form in an annotation, until the field is changed', () => {
    const bench = versioned(aBench({ appsJSON: '[ "erpnext" ]' }));
    const beta = convert(bench, 'v1beta1', V1BETA1);
    assert.deepEqual((beta.spec as { apps: unknown }).apps, [{ name: 'erpnext' }]);
    assert.deepEqual(beta.metadata.annotations, {
      'app-operator.io/fields-of-v1alpha1': '{"apps":{"appsJSON":"[ \\"erpnext\\" ]"}}',
    });
    assert.deepEqual(convert(beta, 'v1alpha1', V1BETA1), bench);
    const changed = { ...beta, spec: { ...(beta.spec as object), apps: [{ name: 'hrms' }] } };
    const back = convert(changed, 'v1alpha1', V1BETA1);
    assert.deepEqual((back.spec as { apps: unknown }).apps, [{ name: 'hrms' }]);
    assert.equal((back.spec as { appsJSON?: unknown }).appsJSON, undefined);
    assert.equal(back.metadata.annotations, undefined);
  });

  test('leaves the rest of an object as it is', () => {
    const status = { phase: 'Ready' };
    const metadata = { name: 'x', uid: 'u', annotations: { a: 'b' }, labels: { c: 'd' } };
    const site = { ...versioned(aSite()), metadata, status };
    const beta = convert(site, 'v1beta1', V1BETA1);
    assert.equal(beta.apiVersion, `${GROUP}/v1beta1`);
    assert.deepEqual([beta.metadata, beta['status']], [metadata, status]);
  });

  test('ignores an annotation that is no JSON', () => {
    const key = 'app-operator.io/fields-of-v1beta1';
    for (const text of ['', '{', '[]', 'null', '{"apps":1}', '{"apps":{"apps":null}}']) {
      const bench = versioned(aBench({ apps: [{ name: 'erpnext' }] }));
      const garbled = { ...bench, metadata: { name: 'x', annotations: { [key]: text } } };
      const beta = convert(garbled, 'v1beta1', V1BETA1);
      assert.deepEqual((beta.spec as { apps: unknown }).apps, [{ name: 'erpnext' }]);
    }
  });

  test('goes through the stored version between two others', () => {
    const [beta] = V1BETA1;
    assert.ok(beta);
    const other: KindVersion = { ...beta, name: 'v2', changes: [renamed('paused', 'suspended')] };
    const versions = [...V1BETA1, other];
    const first = convert(versioned(aBench({ paused: true, dbConfig: {} })), 'v2', versions);
    const { spec } = convert(first, 'v1beta1', versions);
    assert.deepEqual(
      [(spec as { paused: unknown }).paused, (spec as { database: unknown }).database],
      [true, {}],
    );
  });

  test('to an unknown version, or of another kind, is an error', () => {
    assert.throws(() => convert(versioned(aBench()), 'v2', V1BETA1), ConversionError);
    const job = { apiVersion: `${GROUP}/v1alpha1`, kind: 'SiteJob', metadata: {} };
    assert.throws(() => convert(job, 'v1beta1', V1BETA1), /SiteJob: unknown version: "v1beta1"/);
  });
});

describe('a ConversionReview', () => {
  const review = (request: object): string =>
    JSON.stringify({ apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview', request });
  const answerTo = (request: object): Record<string, unknown> => {
    const answer = JSON.parse(convertReview(review(request), GROUP, V1BETA1)) as {
      readonly response: Record<string, unknown>;
    };
    return answer.response;
  };

  test('is answered with the objects in their order', () => {
    const objects = [aSite({}, 'b'), aSite({}, 'a')];
    const { uid, convertedObjects, result } = answerTo({
      uid: 'u',
      desiredAPIVersion: `${GROUP}/v1beta1`,
      objects,
    });
    assert.deepEqual([uid, result], ['u', { status: 'Success' }]);
    const names = (convertedObjects as Versioned[]).map(({ metadata }) => metadata['name']);
    assert.deepEqual(names, ['b', 'a']);
  });

  test('of an unknown version or group is refused', () => {
    for (const desiredAPIVersion of [`${GROUP}/v9`, 'example.com/v1beta1', '']) {
      const { result } = answerTo({ uid: 'u', desiredAPIVersion, objects: [aSite()] });
      assert.equal((result as { status: string }).status, 'Failure');
    }
  });

  test('that is none is an error', () => {
    for (const body of ['', '[]', '{"kind":"AdmissionReview"}', review({ uid: 'u' })]) {
      assert.throws(() => convertReview(body, GROUP, V1BETA1), /body:|ConversionReview:/);
    }
  });
});

test('a CRD names the webhook only where a second version is served', () => {
  const [bench] = DEFINITIONS;
  assert.ok(bench);
  const specOf = (crd: object) =>
    (crd as { spec: { versions: { name: string; storage: boolean }[]; conversion?: object } }).spec;
  assert.equal(specOf(crdOf(bench)).conversion, undefined);
  const { versions, conversion } = specOf(
    crdOf(bench, GROUP, { versions: V1BETA1, clientConfig: {} }),
  );
  const stored = versions.map(({ name, storage }) => [name, storage]);
  assert.deepEqual(stored, [
    ['v1alpha1', true],
    ['v1beta1', false],
  ]);
  assert.ok(conversion);
});

function versioned(manifest: object): Versioned {
  return manifest as Versioned;
}

function objects(apiVersion: string, kind: string, spec: fc.Arbitrary<unknown>) {
  const annotations = fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fc.string(), {
    minKeys: 1,
    maxKeys: 2,
  });
  const metadata = fc.record({ name: fc.constant('x'), annotations }, { requiredKeys: ['name'] });
  return fc.record({
    apiVersion: fc.constant(apiVersion),
    kind: fc.constant(kind),
    metadata,
    spec,
  });
}

/** Converts to another version and back. JSON, as the API server keeps it, has no `undefined`. */
function lossless(values: fc.Arbitrary<Versioned>, wanted: string): void {
  fc.assert(
    fc.property(values, (object) => {
      const before = JSON.parse(JSON.stringify(object)) as Versioned;
      const there = convert(before, wanted, V1BETA1);
      const [, from = ''] = before.apiVersion.split('/');
      const sent = JSON.parse(JSON.stringify(there)) as Versioned;
      assert.deepEqual(convert(sent, from, V1BETA1), before);
    }),
    RUNS,
  );
}
