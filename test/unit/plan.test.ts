import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ApiObject, Chart } from 'cdk8s';
import type { Construct } from 'constructs';
import { bench } from '../../constructs/kinds/bench/index.js';

import { childLabels } from '../../constructs/kit/labels.js';
import { dataLabels } from '../../constructs/kit/deletion-policy.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import { DEFAULT_SETTINGS } from '../../constructs/kit/operator-settings.js';
import type { AnyKind } from '../../constructs/registry.js';
import * as kinds from '../../constructs/kit/object-kind.js';
import { childOf, createOnlyHash, createOnlyKeys } from '../../runner/cache/child.js';
import { DependencyTracker } from '../../runner/cache/dependencies.js';
import { planOf, plannedOf, type Plan } from '../../runner/plan/plan.js';
import { ReconcileStates } from '../../runner/plan/reconcile-state.js';
import { Planner } from '../../runner/reconcile/planner.js';
import { aPlan, BENCH, KINDS, METADATA_KEYS, type Wanted } from './plan-builder.js';

const objectOf = (made: Plan, id: string): KubeObject => {
  const object = made.object(id);
  assert.ok(object, id);
  return object;
};

describe('a plan', () => {
  test('keeps the order of stages and of objects, and which stage is a gate', () => {
    const { stages } = aPlan([
      [
        { kind: 'Secret', name: 'b' },
        { kind: 'ConfigMap', name: 'a' },
      ],
      [{ kind: 'Deployment', name: 'c' }],
    ]);
    assert.deepEqual(
      stages.map(({ waitForReady, children }) => [waitForReady, children.map(({ id }) => id)]),
      [
        [true, ['v1/Secret/n/b', 'v1/ConfigMap/n/a']],
        [false, ['apps/v1/Deployment/n/c']],
      ],
    );
  });

  test('of no tree has no stages', () => {
    const nothing = planOf(BENCH, { kinds: KINDS, metadataKeys: METADATA_KEYS }, () => undefined);
    assert.deepEqual([nothing.stages, nothing.object('v1/Secret/n/b')], [[], undefined]);
  });

  test('refuses an object of a kind that is not owned: the operator would not watch it', () => {
    const pod = { kind: 'Pod', name: 'p' } as unknown as Wanted;
    const build = () => aPlan([[{ ...pod, apiVersion: 'v1' }]]);
    assert.throws(build);
  });

  test('puts objects that name no namespace into that of the resource', () => {
    const made = aPlan([[{ kind: 'ConfigMap', name: 'a' }]]);
    assert.equal(objectOf(made, 'v1/ConfigMap/n/a').metadata.namespace, 'n');
  });

  test('hashes the same for the same tree, and another one for any difference', () => {
    const hash = (data: Record<string, string>, resource = BENCH): string | undefined =>
      plannedOf(aPlan([[{ kind: 'ConfigMap', name: 'a', data }]], { resource }))[0]?.hash;
    assert.equal(hash({ x: '1', y: '2' }), hash({ y: '2', x: '1' }));
    assert.notEqual(hash({ x: '1' }), hash({ x: '2' }));
    const reconcileAgain = { ...BENCH, metadata: { ...BENCH.metadata, uid: 'u-2' } };
    assert.notEqual(
      hash({ x: '1' }),
      hash({ x: '1' }, reconcileAgain),
      'it belongs to another one',
    );
  });
});

describe('an object of a plan', () => {
  test('belongs to the resource', () => {
    const { metadata } = objectOf(aPlan([[{ kind: 'ConfigMap', name: 'a' }]]), 'v1/ConfigMap/n/a');
    assert.deepEqual(metadata.ownerReferences, [
      {
        apiVersion: BENCH.apiVersion,
        kind: 'AppBench',
        name: 'b',
        uid: 'u-1',
        controller: true,
      },
    ]);
  });

  test('has no owner if it outlives the resource', () => {
    const labels = { [METADATA_KEYS.retain]: 'true', [METADATA_KEYS.owner]: 'AppBench.b' };
    const made = aPlan([[{ kind: 'Secret', name: 'a', labels }]]);
    const { metadata } = objectOf(made, 'v1/Secret/n/a');
    assert.equal(metadata.ownerReferences, undefined);
    assert.deepEqual(metadata.labels, labels);
  });

  test('lists what it does once, for a Job or a generated Secret', () => {
    const [job, secret, plain] = plannedOf(
      aPlan([
        [
          { kind: 'Job', name: 'j', annotations: { [METADATA_KEYS.run]: 'r-1' } },
          { kind: 'Secret', name: 's', annotations: { [METADATA_KEYS.generate]: '{}' } },
          { kind: 'Secret', name: 'plain' },
        ],
      ]),
    );
    assert.equal(job?.taskHash, 'r-1');
    assert.ok(job.createOnly && secret?.createOnly);
    assert.equal(plain?.createOnly, undefined);
    assert.equal(secret.taskHash, undefined);
  });
});

describe('the objects of a plan', () => {
  const STAGES: readonly (readonly Wanted[])[] = [
    [{ kind: 'ConfigMap', name: 'a', data: { x: '1' } }],
    [{ kind: 'Job', name: 'j' }],
  ];

  test('are made once for all stages', () => {
    let made = 0;
    const plan = aPlan(STAGES, { onMade: () => ++made });
    const ids = plannedOf(plan).map(({ id }) => id);
    const objects = ids.map((id) => plan.object(id));
    assert.equal(made, 1);
    assert.deepEqual(
      objects.map((object) => object?.metadata.name),
      ['a', 'j'],
    );
    assert.equal(plan.object('nothing'), undefined);
  });

  test('are made again, equal, once for all, and only if one is asked for, of known stages', () => {
    const first = aPlan(STAGES);
    const ids = plannedOf(first).map(({ id }) => id);
    let made = 0;
    const plan = aPlan(STAGES, { onMade: () => ++made, known: first.stages });
    assert.equal(plan.stages, first.stages);
    assert.equal(made, 0);
    assert.deepEqual(
      ids.map((id) => plan.object(id)),
      ids.map((id) => first.object(id)),
    );
    assert.equal(made, 1);
  });
});

describe('what of a Job or a generated Secret is ours', () => {
  const METADATA = {
    name: 's',
    labels: { [METADATA_KEYS.owner]: 'AppSite.s', 'app.kubernetes.io/component': 'c' },
    annotations: { [METADATA_KEYS.generate]: '{"p":"password"}' },
    ownerReferences: [
      { apiVersion: 'x/v1', kind: 'AppSite', name: 's', uid: 'u-1', controller: true },
    ],
  };
  const hash = (metadata: Partial<KubeObject['metadata']> = {}): string =>
    createOnlyHash(
      { apiVersion: 'v1', kind: 'Secret', metadata: { ...METADATA, ...metadata } },
      METADATA_KEYS,
    );

  for (const [what, metadata, same] of [
    ['another version', { resourceVersion: '2', uid: 'x' }, true],
    ['another owner’s label', { labels: { ...METADATA.labels, team: 'blue' } }, true],
    [
      'another owner’s common label',
      { labels: { ...METADATA.labels, 'app.kubernetes.io/part-of': 'shop' } },
      true,
    ],
    [
      'a label of our group that the operator does not set',
      { labels: { ...METADATA.labels, [`${METADATA_KEYS.group}/team`]: 'blue' } },
      true,
    ],
    ['another owner’s annotation', { annotations: { ...METADATA.annotations, note: 'n' } }, true],
    [
      'labels in another order',
      { labels: Object.fromEntries(Object.entries(METADATA.labels).reverse()) },
      true,
    ],
    [
      'a changed label',
      { labels: { ...METADATA.labels, [METADATA_KEYS.owner]: 'AppSite.t' } },
      false,
    ],
    ['a removed label', { labels: { [METADATA_KEYS.owner]: 'AppSite.s' } }, false],
    [
      'a common label that we set',
      { labels: { ...METADATA.labels, 'app.kubernetes.io/name': 'x' } },
      false,
    ],
    [
      'the mark that it is retained',
      { labels: { ...METADATA.labels, [METADATA_KEYS.retain]: 'true' } },
      false,
    ],
    ['a changed annotation', { annotations: { [METADATA_KEYS.generate]: '{}' } }, false],
    [
      'another owner',
      { ownerReferences: METADATA.ownerReferences.map((one) => ({ ...one, uid: 'u-2' })) },
      false,
    ],
    [
      'an owner that does not control it',
      { ownerReferences: METADATA.ownerReferences.map((one) => ({ ...one, controller: false })) },
      false,
    ],
    ['no owner', { ownerReferences: [] }, false],
  ] as const) {
    test(`${same ? 'does not change' : 'changes'} with ${what}`, () => {
      assert.equal(hash(metadata) === hash(), same);
    });
  }

  test('is every label that a child gets', () => {
    const retained = { ...BENCH, spec: { deletionPolicy: 'Retain' } };
    const all = { ...childLabels(BENCH, 'c'), ...dataLabels(retained, 'c') };
    const ours: readonly string[] = createOnlyKeys(METADATA_KEYS).labels;
    assert.deepEqual(
      Object.keys(all).filter((key) => !ours.includes(key)),
      [],
    );
  });

  test('is the same for the planned and the live object', () => {
    const annotations = { [METADATA_KEYS.generate]: '{"p":"password"}' };
    const made = aPlan([[{ kind: 'Secret', name: 's', labels: METADATA.labels, annotations }]]);
    const [planned] = plannedOf(made);
    const live = objectOf(made, 'v1/Secret/n/s');
    const { createOnly } = childOf(kinds.Secret, live, METADATA_KEYS);
    assert.equal(createOnly, planned?.createOnly);
  });
});

describe('a planner', () => {
  const planner = (): Planner => {
    const kind = {
      ...bench,
      chart: (scope: Construct, id: string, { resource }: { readonly resource: Resource }) => {
        const chart = new Chart(scope, id, { disableResourceNameHashes: true });
        const data = { ...resource.metadata.annotations };
        new ApiObject(chart, 'a', {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: 'a' },
          data,
        });
        return chart;
      },
      recordedIn: () => undefined,
    } as AnyKind;
    const dependencies = new DependencyTracker({
      ...{ settings: DEFAULT_SETTINGS, indexes: [], enqueue: () => undefined },
      now: Date.now,
    });
    const props = { kinds: KINDS, metadataKeys: METADATA_KEYS, kind, dependencies };
    return new Planner(props, new ReconcileStates(() => []));
  };
  const annotated = (annotations: Readonly<Record<string, string>>): Resource => ({
    ...BENCH,
    metadata: { ...BENCH.metadata, annotations },
  });

  test('plans again when an annotation changes that charts may read, and else not', () => {
    const { skipDrop, recordedStatus } = METADATA_KEYS;
    const one = planner();
    const planned = (annotations: Readonly<Record<string, string>>) =>
      one.plan(annotated(annotations), {}).stages;
    const first = planned({});
    assert.equal(planned({ note: 'a', [recordedStatus]: '{}' }), first);
    const skipped = planned({ [skipDrop]: 'true' });
    assert.notEqual(skipped, first);
    assert.equal(planned({ note: 'b', [skipDrop]: 'true' }), skipped);
  });
});
