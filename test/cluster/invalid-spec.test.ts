import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { type Cluster, startCluster } from './harness.js';
import { aBench, aSite } from './support/builders.js';
import { at, conditionOf, type Live, type Manifest, nameOf } from './support/objects.js';

let cluster: Cluster;
let namespace: string;
before(async () => {
  cluster = await startCluster();
  namespace = await cluster.namespace();
  await cluster.operator();
  await cluster.apply(namespace, aBench('b', { appsJSON: '["erpnext"]' }));
  await cluster.ready('AppBench', namespace, 'b');
});
after(() => cluster.stop());

const childrenOf = async (name: string): Promise<string[]> =>
  (await cluster.children(namespace)).map(nameOf).filter((child) => child.includes(`/${name}-`));

/**
 * Specs that the schema accepts and that the operator refuses: the status has the reason. All such specs:
 * `test/golden/scenarios/`, and the tables of `test/unit/`.
 */
const REFUSED_BY_OPERATOR: readonly {
  readonly what: string;
  readonly manifest: Manifest;
  readonly phase: 'Failed' | 'Pending';
  readonly reason: string;
  /** NAMESPACE stands for the namespace of the test. */
  readonly message: string;
}[] = [
  {
    what: 'text that is not JSON for appsJSON',
    manifest: aBench('apps', { appsJSON: 'erpnext' }),
    phase: 'Failed',
    reason: 'InvalidSpec',
    message:
      'spec.appsJSON: Invalid value: erpnext: is not JSON; give a JSON array of application names, for example ["erpnext"]',
  },
  {
    what: 'a bench that does not exist',
    manifest: aSite('no-bench', { bench: 'mistyped' }),
    phase: 'Pending',
    reason: 'BenchMissing',
    message: 'spec.benchRef.name: there is no AppBench "mistyped" in namespace NAMESPACE',
  },
  {
    what: 'a Secret that does not exist',
    manifest: aSite('no-secret', { bench: 'b', adminPasswordSecretRef: { name: 'nowhere' } }),
    phase: 'Pending',
    reason: 'SecretMissing',
    message:
      'spec.adminPasswordSecretRef.name: there is no Secret "nowhere" in namespace NAMESPACE; create it',
  },
];

describe('the status has the reason to refuse', () => {
  before(async () => {
    for (const { manifest } of REFUSED_BY_OPERATOR) await cluster.create(namespace, manifest);
  });

  for (const { what, manifest, phase, reason, message } of REFUSED_BY_OPERATOR) {
    const { kind, metadata } = manifest;
    test(`${what} (${kind})`, async () => {
      const live: Live = await cluster.becomes(kind, namespace, metadata.name, {
        what: 'has a condition',
        check: (one) => Boolean(conditionOf(one, 'Ready')),
      });
      const { status, reason: found, message: text } = conditionOf(live, 'Ready') ?? {};
      const expected = message.replace('NAMESPACE', namespace);
      assert.deepEqual([status, found, text], ['False', reason, expected]);
      assert.equal(at(live, 'status.phase'), phase);
      const stalled = conditionOf(live, 'Stalled');
      assert.deepEqual(
        [stalled?.status, stalled?.reason, stalled?.message],
        phase === 'Failed' ? ['True', reason, expected] : [undefined, undefined, undefined],
      );
      assert.deepEqual(await childrenOf(metadata.name), []);
    });
  }

  test('a bench, which is Ready as soon as it is corrected', async () => {
    const spec = { appsJSON: '["erpnext"]' };
    await cluster.patch('AppBench', namespace, 'apps', { spec });
    const bench = await cluster.ready('AppBench', namespace, 'apps');
    assert.equal(conditionOf(bench, 'Stalled'), undefined);
  });
});

describe(
  'the status has the message of the API server that refuses a child',
  { concurrency: true },
  () => {
    test('of a pod’s affinity, and the bench is Ready after the correction', async () => {
      const affinity = { nodeAffinity: 'everywhere' };
      await cluster.create(namespace, aBench('odd', { podTemplate: { affinity } }));
      const bench = await cluster.becomes('AppBench', namespace, 'odd', {
        what: 'is refused',
        check: (one) => Boolean(conditionOf(one, 'Stalled')),
      });
      assert.equal(conditionOf(bench, 'Ready')?.reason, 'ApplyRefused');
      assert.match(conditionOf(bench, 'Ready')?.message ?? '', /affinity\.nodeAffinity/);
      assert.equal(await cluster.get('Deployment', namespace, 'odd-gunicorn'), undefined);
      await cluster.patch('AppBench', namespace, 'odd', { spec: { podTemplate: null } });
      await cluster.ready('AppBench', namespace, 'odd');
    });

    test('and an affinity is passed on as it is written, whatever its age', async () => {
      const affinity = {
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            {
              weight: 1,
              podAffinityTerm: {
                labelSelector: { matchLabels: { app: 'even-gunicorn' } },
                matchLabelKeys: ['pod-template-hash'],
                topologyKey: 'kubernetes.io/hostname',
              },
            },
          ],
        },
      };
      await cluster.create(namespace, aBench('even', { podTemplate: { affinity } }));
      await cluster.ready('AppBench', namespace, 'even');
      for (const [kind, name] of [
        ['Deployment', 'even-gunicorn'],
        ['StatefulSet', 'even-redis'],
        ['Job', 'even-init'],
      ] as const) {
        const live = await cluster.the(kind, namespace, name);
        assert.deepEqual(at(live, 'spec.template.spec.affinity'), affinity, name);
      }
    });

    test('of another storage class of an existing volume', async () => {
      await cluster.create(namespace, aBench('classy'));
      await cluster.ready('AppBench', namespace, 'classy');
      const spec = { storage: { className: 'fast' } };
      await cluster.patch('AppBench', namespace, 'classy', { spec });
      const bench = await cluster.becomes('AppBench', namespace, 'classy', {
        what: 'is refused',
        check: (one) => Boolean(conditionOf(one, 'Stalled')),
      });
      assert.equal(conditionOf(bench, 'Ready')?.reason, 'ApplyRefused');
      assert.match(
        conditionOf(bench, 'Ready')?.message ?? '',
        /^the API server refuses PersistentVolumeClaim classy-sites: spec: Forbidden: spec is immutable after creation/,
      );
      assert.doesNotMatch(conditionOf(bench, 'Ready')?.message ?? '', /\n/, 'in one line');
    });

    test('of a volume that would shrink, and no other object changes', async () => {
      await cluster.create(namespace, aBench('small', { storage: { size: '20Gi' } }));
      await cluster.ready('AppBench', namespace, 'small');
      await cluster.patch('AppBench', namespace, 'small', { spec: { storage: { size: '5Gi' } } });
      const bench = await cluster.becomes('AppBench', namespace, 'small', {
        what: 'is refused',
        check: (one) => Boolean(conditionOf(one, 'Stalled')),
      });
      assert.equal(
        conditionOf(bench, 'Ready')?.message,
        'the API server refuses PersistentVolumeClaim small-sites: spec.resources.requests.storage: Forbidden: field can not be less than status.capacity',
      );
      await cluster.patch('AppBench', namespace, 'small', { spec: { storage: { size: '20Gi' } } });
      await cluster.ready('AppBench', namespace, 'small');
    });
  },
);
