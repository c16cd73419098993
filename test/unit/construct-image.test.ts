import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { AppBench } from '../../constructs/api/bench.js';
import { frappeImage, type FrappeImage, isSupported } from '../../constructs/frappe/image.js';

type Spec = Pick<AppBench['spec'], 'frameworkVersion' | 'image'>;
const imageOf = (spec: Spec): FrappeImage => frappeImage({ spec: spec as AppBench['spec'] });

const DIGEST = `sha256:${'a'.repeat(64)}`;

const IMAGES: readonly (readonly [
  reason: string,
  spec: Spec,
  reference: string,
  pullPolicy: string,
])[] = [
  [
    'the official image, with the version as its tag',
    { frameworkVersion: 'version-15' },
    'frappe/erpnext:version-15',
    'Always',
  ],
  ['develop floats too', { frameworkVersion: 'develop' }, 'frappe/erpnext:develop', 'Always'],
  [
    'a fixed tag is pulled once',
    { frameworkVersion: 'version-15', image: { tag: 'v15.44.2' } },
    'frappe/erpnext:v15.44.2',
    'IfNotPresent',
  ],
  [
    '… with anything behind it',
    { frameworkVersion: 'version-15', image: { tag: '15.44.2-team.3' } },
    'frappe/erpnext:15.44.2-team.3',
    'IfNotPresent',
  ],
  [
    'a tag of one number floats',
    { frameworkVersion: 'version-15', image: { tag: 'v15' } },
    'frappe/erpnext:v15',
    'Always',
  ],
  [
    'a digest is pulled once, whatever the tag',
    { frameworkVersion: 'version-15', image: { digest: DIGEST } },
    `frappe/erpnext:version-15@${DIGEST}`,
    'IfNotPresent',
  ],
  [
    'a repository of the user’s own',
    { frameworkVersion: 'version-16', image: { repository: 'registry.example.com:5000/a/b' } },
    'registry.example.com:5000/a/b:version-16',
    'Always',
  ],
  [
    'the pull policy of the spec',
    { frameworkVersion: 'version-15', image: { pullPolicy: 'Never' } },
    'frappe/erpnext:version-15',
    'Never',
  ],
];

suite('the image of the framework', () => {
  for (const [reason, spec, reference, pullPolicy] of IMAGES) {
    test(reason, () => {
      const { major: _major, ...image } = imageOf(spec);
      assert.deepEqual(image, { reference, pullPolicy, pullSecrets: [] });
    });
  }
  test('is pulled with the secrets of the spec', () => {
    const { pullSecrets } = imageOf({
      frameworkVersion: 'version-15',
      image: { pullSecrets: [{ name: 'a' }, { name: 'b' }] },
    });
    assert.deepEqual(pullSecrets, ['a', 'b']);
  });
});

suite('versions of the framework', () => {
  for (const version of ['version-15', 'version-16', 'develop']) {
    test(`${version} is tested`, () => {
      assert.equal(isSupported(version), true);
    });
  }
  for (const version of ['version-14', 'version-13', 'version-17', 'v15.44.2', 'Version-15', '']) {
    test(`${version || 'nothing'} is not`, () => {
      assert.equal(isSupported(version), false);
    });
  }
});
