import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { AppBench, ImageDigest } from '../../constructs/api/bench.js';
import type { Image } from '../../constructs/kit/api.js';
import { frappeImage } from '../../constructs/frappe/image.js';
import { awaitsDigest, digestIn, refreshOf } from '../../constructs/frappe/image-digest.js';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const OTHER = `sha256:${'b'.repeat(64)}`;
const TAG = 'frappe/erpnext:version-15';

suite('the digest in what a runtime names', () => {
  const ids: readonly (readonly [what: string, imageId: string | undefined, digest?: string])[] = [
    ['containerd and CRI-O', `docker.io/frappe/erpnext@${DIGEST}`, DIGEST],
    ['a mirror', `mirror.example.com:5000/hub/frappe/erpnext@${DIGEST}`, DIGEST],
    ['a repository with a tag', `docker.io/frappe/erpnext:version-15@${DIGEST}`, DIGEST],
    ["Docker's shim", `docker-pullable://frappe/erpnext@${DIGEST}`, DIGEST],
    [
      'a repository whose name begins with import',
      `ghcr.io/import-tools/erpnext@${DIGEST}`,
      DIGEST,
    ],
    ["Docker's id of an image that was built on the node", `docker://${DIGEST}`],
    ['the id of an image that was loaded into containerd', DIGEST],
    ['the id as CRI-O gives it', 'a'.repeat(64)],
    ['an archive of kind load', `docker.io/library/import-2026-11-28@${DIGEST}`],
    ['nothing', ''],
    ['no status', undefined],
    ['another algorithm', `docker.io/frappe/erpnext@sha512:${'a'.repeat(128)}`],
    ['a digest that is cut', `docker.io/frappe/erpnext@${DIGEST.slice(0, -1)}`],
    ['something behind it', `docker.io/frappe/erpnext@${DIGEST}\nx`],
    ['capital letters', `docker.io/frappe/erpnext@${DIGEST.toUpperCase()}`],
  ];
  for (const [what, imageId, digest] of ids) {
    test(`${what}: ${digest === undefined ? 'none' : 'that of the content'}`, () => {
      assert.equal(digestIn(imageId), digest);
    });
  }
});

/** A bench by what decides about its image. */
function bench(image: Image | undefined, status: AppBench['status'] = {}): AppBench {
  const spec = { frameworkVersion: 'version-15', ...(image ? { image } : {}) };
  return { spec, status } as AppBench;
}

function known(digest: string | undefined, more: Partial<ImageDigest> = {}): AppBench['status'] {
  return { imageDigest: { image: TAG, init: 'r', ...(digest ? { digest } : {}), ...more } };
}

suite('what pods run', () => {
  const cases: readonly (readonly [what: string, bench: AppBench, reference: string])[] = [
    ['the reference, as long as nothing is known', bench(undefined), TAG],
    ['the digest that is known', bench(undefined, known(DIGEST)), `${TAG}@${DIGEST}`],
    ['the reference, where there is no digest', bench(undefined, known(undefined)), TAG],
    [
      'another tag, until its digest is known',
      bench({ tag: 'v15.121.3' }, known(DIGEST)),
      'frappe/erpnext:v15.121.3',
    ],
    ['the digest of the spec', bench({ digest: OTHER }, known(DIGEST)), `${TAG}@${OTHER}`],
    ['what nodes hold', bench({ pullPolicy: 'Never' }, known(DIGEST)), TAG],
    ['the reference, once the newest is asked for', bench({ refresh: '2' }, known(DIGEST)), TAG],
    [
      'the answer to that',
      bench({ refresh: '2' }, known(OTHER, { refresh: '2' })),
      `${TAG}@${OTHER}`,
    ],
    [
      'the same, when the value is taken away',
      bench(undefined, known(OTHER, { refresh: '2' })),
      `${TAG}@${OTHER}`,
    ],
  ];
  for (const [what, subject, reference] of cases) {
    test(what, () => {
      assert.equal(frappeImage(subject).reference, reference);
    });
  }

  test('is pulled only where it is missing, once the digest is known', () => {
    assert.equal(frappeImage(bench(undefined)).pullPolicy, 'Always');
    assert.equal(frappeImage(bench(undefined, known(DIGEST))).pullPolicy, 'IfNotPresent');
    const always = bench({ pullPolicy: 'Always' }, known(DIGEST));
    assert.equal(frappeImage(always).pullPolicy, 'Always');
  });

  test('is, as a text, what a spec with this digest names: the way back is no other image', () => {
    assert.equal(
      frappeImage(bench({ digest: DIGEST })).reference,
      frappeImage(bench(undefined, known(DIGEST))).reference,
    );
  });
});

suite('the init Job is asked for the digest', () => {
  const assets = { image: TAG, inSites: [] };
  const cases: readonly (readonly [what: string, bench: AppBench, awaits: boolean])[] = [
    ['of a new bench', bench(undefined), true],
    ['not again', bench(undefined, known(DIGEST)), false],
    ['not again by another run', bench(undefined, known(DIGEST, { init: 'before' })), false],
    ['of another tag', bench({ tag: 'v15.121.3' }, known(DIGEST)), true],
    ['by another value of refresh', bench({ refresh: '2' }, known(DIGEST, { refresh: '1' })), true],
    ['not by the same', bench({ refresh: '2' }, known(DIGEST, { refresh: '2' })), false],
    ['not by a value that is taken away', bench(undefined, known(DIGEST, { refresh: '2' })), false],
    ['not where the spec has one', bench({ digest: DIGEST }), false],
    ['not where nothing is pulled', bench({ pullPolicy: 'Never' }), false],
    ['not by the run that had none', bench(undefined, known(undefined)), false],
    ['by the run after one that had none', bench(undefined, known(undefined, { init: 'x' })), true],
    ['not of a bench of an older release', bench(undefined, { assets }), false],
    ['of such a bench, by refresh', bench({ refresh: '1' }, { assets }), true],
    ['of such a bench, by another tag', bench({ tag: 'v15.121.3' }, { assets }), true],
  ];
  for (const [what, subject, awaits] of cases) {
    test(what, () => {
      const tag = subject.spec.image?.tag ?? 'version-15';
      assert.equal(awaitsDigest(subject, `frappe/erpnext:${tag}`, 'r'), awaits);
    });
  }

  test('and runs once for each value of refresh', () => {
    assert.equal(refreshOf(bench({ refresh: '2' }), TAG), '2');
    assert.equal(refreshOf(bench(undefined, known(DIGEST, { refresh: '2' })), TAG), '2');
    assert.equal(refreshOf(bench(undefined), TAG), undefined);
  });
});
