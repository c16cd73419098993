import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { FileDiff } from '../../cli/commands/diff/file-diff.js';
import { patchOf, withoutRun } from '../../cli/commands/diff/patch.js';
import { readerOf, type SnapshotReader } from '../../cli/commands/diff/snapshot-reader.js';
import { parseManifests } from '../../cli/io/manifest-files.js';
import type { Connection } from '../../cli/kube/connect.js';
import { ServedKinds } from '../../cli/kube/discovery.js';
import { optionalKinds, referenceListings } from '../../cli/kube/kinds.js';
import { ClusterSnapshot } from '../../cli/kube/snapshot.js';
import { scalersOfDeployment } from '../../constructs/frappe/indexes.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { ClusterIssuer, Issuer } from '../../constructs/integrations/cert-manager/kinds.js';
import { MariaDb } from '../../constructs/integrations/mariadb-operator/kinds.js';
import { SecurityContextConstraints } from '../../constructs/integrations/openshift/kinds.js';
import {
  HorizontalPodAutoscaler,
  kindId,
  type ObjectKind,
} from '../../constructs/kit/object-kind.js';
import { DEFAULT_SETTINGS } from '../../constructs/kit/operator-settings.js';

const object = (kind: string, more: object, metadata: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name: 'x', namespace: 'ns', ...metadata },
  ...more,
});

describe('the patch of an object', () => {
  test('ignores the fields that the API server sets', () => {
    const before = object(
      'Thing',
      { spec: { a: 1 }, status: { b: 2 } },
      { generation: 1, uid: 'u' },
    );
    const after = object('Thing', { spec: { a: 1 } }, { generation: 2, managedFields: [] });
    assert.equal(patchOf('x', before, after), '');
  });

  test('is unified, whatever the order of the fields', () => {
    const patch = patchOf(
      'Thing.ns.x',
      object('Thing', { spec: { a: 1, b: 2 } }),
      object('Thing', { spec: { b: 3, a: 1 } }),
    );
    assert.equal(
      patch,
      [
        ...['--- live/Thing.ns.x', '+++ new/Thing.ns.x', '@@ -5,4 +5,4 @@'],
        ...['   namespace: ns', ' spec:', '   a: 1', '-  b: 2', '+  b: 3', ''],
      ].join('\n'),
    );
  });

  test('masks the values of Secrets, and marks the changed ones', () => {
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    const before = object('Secret', { data: { same: base64('one'), other: base64('two') } });
    const after = object('Secret', { stringData: { same: 'one', other: 'three', more: 'four' } });
    const patch = patchOf('x', before, after);
    assert.deepEqual(
      patch.split('\n').filter((line) => /^[ +-] {2}(same|other|more):/.test(line)),
      ['-  other: "*** (before)"', '+  more: "***"', '+  other: "*** (after)"', '   same: "***"'],
    );
    for (const value of ['one', 'two', 'three', 'four'])
      assert.ok(!patch.includes(value) && !patch.includes(base64(value)), value);
    assert.doesNotMatch(patchOf('x', undefined, after), /three|dGhyZWU/);
  });

  test('omits the selector and labels that the API server adds to a Job', () => {
    const job = object('Job', {
      spec: {
        selector: { matchLabels: { 'batch.kubernetes.io/controller-uid': 'u' } },
        template: { metadata: { labels: { app: 'a', 'job-name': 'x', 'controller-uid': 'u' } } },
      },
    });
    assert.deepEqual(withoutRun(job), {
      ...job,
      spec: { template: { metadata: { labels: { app: 'a' } } } },
    });
  });
});

describe('the reader of diff', () => {
  const nameOf = ({ metadata }: KubeObject): string => metadata.name;
  const of = ({ apiVersion, kind }: ObjectKind, name: string, more: object = {}): KubeObject => ({
    apiVersion,
    kind,
    metadata: { name, namespace: 'ns' },
    ...more,
  });
  /** @param hidden kinds that may not be listed */
  const reader = (
    objects: readonly KubeObject[],
    ...hidden: readonly ObjectKind[]
  ): SnapshotReader => {
    const references = new ClusterSnapshot();
    for (const { kind } of referenceListings())
      if (!hidden.includes(kind)) {
        const mine = objects.filter((one) => kindId(one) === kindId(kind));
        references.replace(kind, mine);
      }
    return readerOf({
      snapshot: new ClusterSnapshot(),
      references,
      apiGroup: 'app-operator.io',
      settings: DEFAULT_SETTINGS,
      serves: optionalKinds().map(kindId),
      replacements: [],
    });
  };

  test('reads the objects that trees depend on, and the platform', () => {
    const { metadata, ...issuer } = of(ClusterIssuer, 'corp');
    const scaleTargetRef = { kind: 'Deployment', name: 'b-worker' };
    const seen = reader([
      of(MariaDb, 'db'),
      { ...issuer, metadata: { name: metadata.name } },
      of(HorizontalPodAutoscaler, 'theirs', { spec: { scaleTargetRef } }),
    ]);
    assert.ok(seen.serves(SecurityContextConstraints));
    assert.ok(seen.serves(MariaDb));
    assert.equal(seen.get('MariaDB', 'ns', 'db', nameOf), 'db');
    assert.equal(seen.get('ClusterIssuer', '', 'corp', nameOf), 'corp');
    assert.equal(seen.get('Issuer', 'ns', 'corp', nameOf), undefined);
    assert.deepEqual(seen.list(scalersOfDeployment, 'ns/b-worker', nameOf), ['theirs']);
    assert.deepEqual(seen.missed(), []);
  });

  test('reports the kinds that were read and could not be listed', () => {
    const seen = reader([], Issuer, ClusterIssuer);
    assert.equal(seen.get('Secret', 'ns', 'any', nameOf), 'any');
    assert.equal(seen.get('MariaDB', 'ns', 'db', nameOf), undefined);
    assert.deepEqual(seen.missed(), []);
    assert.equal(seen.get('Issuer', 'ns', 'corp', nameOf), undefined);
    assert.deepEqual([seen.missed(), seen.missed()], [['issuers.cert-manager.io'], []]);
    assert.ok(seen.serves(Issuer));
    assert.ok(!seen.serves(ClusterIssuer), 'as an operator without the permission');
  });
});

describe('the manifests of diff', () => {
  const METADATA = '\nmetadata: { name: x }';
  const CASES = [
    ['kind: Pod', 'x.yaml:3: apiVersion: Required value'],
    ["apiVersion: ''\nkind: Pod", 'x.yaml:3: apiVersion: Required value'],
    ['apiVersion:\nkind: Pod', 'x.yaml:3: apiVersion: Required value'],
    ['kind: Pod\napiVersion: 1', 'x.yaml:4: apiVersion: Invalid value: 1: must be text'],
    ['kind: Pod\napiVersion: apps/', 'x.yaml:4: apiVersion: Invalid value: "apps/": must be VERSION or GROUP/VERSION'],
    ['apiVersion: v1', 'x.yaml:3: kind: Required value'],
    ['apiVersion: v1\nkind: [Pod]', 'x.yaml:4: kind: Invalid value: ["Pod"]: must be text'],
  ] as const; // prettier-ignore
  for (const [fields, problem] of CASES) {
    test(`without a kind that can be requested: ${problem}`, async () => {
      const requests: string[] = [];
      const request = async (method: string, path: string): Promise<never> => {
        requests.push(`${method} ${path}`);
        throw new Error('no request is expected');
      };
      const connection = { client: { request }, namespace: 'ns' } as unknown as Connection;
      const files = new FileDiff(connection, new ServedKinds(connection.client), 'kubectl');
      const { objects } = parseManifests(`# a comment\n---\n${fields}${METADATA}\n`, 'x.yaml');
      for (const one of objects) await files.add(one);
      assert.deepEqual([files.problems, requests], [[problem], []]);
    });
  }
});

describe('a byte order mark', () => {
  const MARK = '\ufeff';
  const CASES = {
    'at the start of the file': `${MARK}kind: A\n---\nkind: B\n`,
    'at the start of a later document': `kind: A\n---\n${MARK}kind: B\n`,
    'before a separator': `kind: A\n${MARK}---\nkind: B\n`,
    'after a comment': `kind: A\r\n---\r\n# b\r\n\r\n${MARK}kind: B\r\n`,
  };
  for (const [where, manifest] of Object.entries(CASES)) {
    test(`${where} is no part of a key`, () => {
      const { objects, problems } = parseManifests(manifest, 'x.yaml');
      assert.deepEqual(
        [objects.map(({ object }) => object), problems],
        [[{ kind: 'A' }, { kind: 'B' }], []],
      );
    });
  }

  test('in a text stays', () => {
    const { objects } = parseManifests(`kind: A\nnote: |\n  ${MARK}x\n`, 'x.yaml');
    assert.deepEqual(
      objects.map(({ object }) => object),
      [{ kind: 'A', note: `${MARK}x\n` }],
    );
  });
});
