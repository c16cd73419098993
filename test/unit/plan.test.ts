import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { ApiObject, Chart } from 'cdk8s';
import type { Construct } from 'constructs';

import { DEFAULT_API_GROUP } from '../../constructs/kit/definition.js';
import { markers } from '../../constructs/kit/labels.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import * as kinds from '../../constructs/kit/object-kind.js';
import { kindId } from '../../constructs/kit/object-kind.js';
import { Stage } from '../../constructs/kit/stage.js';
import { childOf, seedHash } from '../../runner/child.js';
import { planOf, plannedOf, type Plan } from '../../runner/plan.js';

const MARKERS = markers(DEFAULT_API_GROUP);
const KINDS = new Map(
  [kinds.ConfigMap, kinds.Secret, kinds.Job, kinds.StatefulSet, kinds.Deployment].map((kind) => [
    kindId(kind),
    kind,
  ]),
);
const BENCH: Resource = {
  apiVersion: `${DEFAULT_API_GROUP}/v1alpha1`,
  kind: 'AppBench',
  metadata: { name: 'b', namespace: 'n', uid: 'u-1', generation: 1 },
  spec: {},
};

interface Wanted {
  readonly kind: 'ConfigMap' | 'Secret' | 'Job' | 'StatefulSet' | 'Deployment';
  readonly name: string;
  readonly namespace?: string;
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly [field: string]: unknown;
}

/** How often trees were made. */
let made = 0;

/** A plan of stages of objects. */
function plan(stages: readonly (readonly Wanted[])[], resource = BENCH): Plan {
  return planOf(resource, KINDS, MARKERS, (scope: Construct, id: string) => {
    made++;
    const chart = new Chart(scope, id, { disableResourceNameHashes: true });
    stages.forEach((objects, number) => {
      const stage = new Stage(chart, `stage-${number}`, { gate: number === 0 });
      for (const { kind, name, namespace, labels, annotations, ...rest } of objects) {
        new ApiObject(stage, `${kind}-${name}`, {
          apiVersion: kinds[kind].apiVersion,
          kind,
          metadata: {
            name,
            ...(namespace === undefined ? {} : { namespace }),
            ...(labels ? { labels } : {}),
            ...(annotations ? { annotations } : {}),
          },
          ...rest,
        });
      }
    });
    return chart;
  });
}

const objectOf = (made: Plan, id: string): KubeObject => {
  const object = made.objects().get(id);
  assert.ok(object, id);
  return object;
};

describe('a plan', () => {
  test('keeps the order of stages and of objects, and which stage is a gate', () => {
    const { stages } = plan([
      [
        { kind: 'Secret', name: 'b' },
        { kind: 'ConfigMap', name: 'a' },
      ],
      [{ kind: 'Deployment', name: 'c' }],
    ]);
    assert.deepEqual(
      stages.map(({ gate, children }) => [gate, children.map(({ id }) => id)]),
      [
        [true, ['v1/Secret/n/b', 'v1/ConfigMap/n/a']],
        [false, ['apps/v1/Deployment/n/c']],
      ],
    );
  });

  test('of no tree has no stages', () => {
    const nothing = planOf(BENCH, KINDS, MARKERS, () => undefined);
    assert.deepEqual([nothing.stages, nothing.objects().size], [[], 0]);
  });

  test('refuses an object of a kind that is not owned: nobody would watch it', () => {
    const pod = { kind: 'Pod', name: 'p' } as unknown as Wanted;
    const build = () => plan([[{ ...pod, apiVersion: 'v1' }]]);
    assert.throws(build);
  });

  test('puts objects that name no namespace into that of the resource', () => {
    const made = plan([[{ kind: 'ConfigMap', name: 'a' }]]);
    assert.equal(objectOf(made, 'v1/ConfigMap/n/a').metadata.namespace, 'n');
  });

  test('hashes the same for the same tree, and another one for any difference', () => {
    const hash = (data: Record<string, string>, resource = BENCH): string | undefined =>
      plannedOf(plan([[{ kind: 'ConfigMap', name: 'a', data }]], resource))[0]?.hash;
    assert.equal(hash({ x: '1', y: '2' }), hash({ y: '2', x: '1' }));
    assert.notEqual(hash({ x: '1' }), hash({ x: '2' }));
    const again = { ...BENCH, metadata: { ...BENCH.metadata, uid: 'u-2' } };
    assert.notEqual(hash({ x: '1' }), hash({ x: '1' }, again), 'it belongs to another one');
  });
});

describe('an object of a plan', () => {
  test('belongs to the resource', () => {
    const { metadata } = objectOf(plan([[{ kind: 'ConfigMap', name: 'a' }]]), 'v1/ConfigMap/n/a');
    assert.deepEqual(metadata.ownerReferences, [
      {
        apiVersion: BENCH.apiVersion,
        kind: 'AppBench',
        name: 'b',
        uid: 'u-1',
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
  });

  test('belongs to nobody where it outlives the resource', () => {
    const labels = { [MARKERS.retain]: 'true', [MARKERS.owner]: 'AppBench.b' };
    const made = plan([[{ kind: 'Secret', name: 'a', labels }]]);
    const { metadata } = objectOf(made, 'v1/Secret/n/a');
    assert.equal(metadata.ownerReferences, undefined);
    assert.deepEqual(metadata.labels, labels);
  });

  test('says what it does once, where it is a Job or a generated Secret', () => {
    const [job, secret, plain] = plannedOf(
      plan([
        [
          { kind: 'Job', name: 'j', annotations: { [MARKERS.run]: 'r-1' } },
          { kind: 'Secret', name: 's', annotations: { [MARKERS.generate]: '{}' } },
          { kind: 'Secret', name: 'plain' },
        ],
      ]),
    );
    assert.equal(job?.run, 'r-1');
    assert.ok(job.seeded && secret?.seeded);
    assert.equal(plain?.seeded, undefined);
    assert.equal(secret.run, undefined);
  });

  test('says what cannot be changed in place, where it is a StatefulSet', () => {
    const fixed = (spec: object): string | undefined =>
      plannedOf(plan([[{ kind: 'StatefulSet', name: 's', spec }]]))[0]?.fixed;
    const spec = { serviceName: 's', replicas: 1, selector: { matchLabels: { a: 'b' } } };
    assert.ok(fixed(spec));
    assert.equal(fixed({ ...spec, replicas: 2 }), fixed(spec));
    assert.notEqual(fixed({ ...spec, serviceName: 't' }), fixed(spec));
    assert.notEqual(fixed({ ...spec, volumeClaimTemplates: [{}] }), fixed(spec));
    const written = objectOf(
      plan([[{ kind: 'StatefulSet', name: 's', spec }]]),
      'apps/v1/StatefulSet/n/s',
    );
    assert.equal(written.metadata.annotations?.[MARKERS.fixed], fixed(spec));
  });
});

describe('the objects of a plan', () => {
  const gc = (): void => {
    setFlagsFromString('--expose-gc');
    (runInNewContext('gc') as () => void)();
  };

  test('are made once for as long as somebody holds them', () => {
    made = 0;
    const kept = plan([[{ kind: 'ConfigMap', name: 'a' }]]);
    assert.equal(kept.objects(), kept.objects());
    assert.equal(made, 1);
  });

  test('are made again, equal, when nobody has held them', async () => {
    const kept = plan([
      [{ kind: 'ConfigMap', name: 'a', data: { x: '1' } }],
      [{ kind: 'Job', name: 'j' }],
    ]);
    const before = JSON.stringify([...kept.objects()]);
    made = 0;
    // A weak reference holds until the end of the turn in which it was read.
    await new Promise(setImmediate);
    gc();
    assert.equal(JSON.stringify([...kept.objects()]), before);
    assert.equal(made, 1);
  });
});

describe('what of a Job or a generated Secret is ours', () => {
  const METADATA = {
    name: 's',
    labels: { [MARKERS.owner]: 'AppSite.s', 'app.kubernetes.io/component': 'c' },
    annotations: { [MARKERS.generate]: '{"p":"password"}' },
    ownerReferences: [
      { apiVersion: 'x/v1', kind: 'AppSite', name: 's', uid: 'u-1', controller: true },
    ],
  };
  const hash = (metadata: Partial<KubeObject['metadata']> = {}): string =>
    seedHash({ apiVersion: 'v1', kind: 'Secret', metadata: { ...METADATA, ...metadata } }, MARKERS);

  for (const [what, metadata, same] of [
    ['another version', { resourceVersion: '2', uid: 'x' }, true],
    ['somebody else’s label', { labels: { ...METADATA.labels, team: 'blue' } }, true],
    ['somebody else’s annotation', { annotations: { ...METADATA.annotations, note: 'n' } }, true],
    [
      'labels in another order',
      { labels: Object.fromEntries(Object.entries(METADATA.labels).reverse()) },
      true,
    ],
    ['a changed label', { labels: { ...METADATA.labels, [MARKERS.owner]: 'AppSite.t' } }, false],
    ['a removed label', { labels: { [MARKERS.owner]: 'AppSite.s' } }, false],
    ['a common label', { labels: { ...METADATA.labels, 'app.kubernetes.io/name': 'x' } }, false],
    [
      'the mark that it is retained',
      { labels: { ...METADATA.labels, [MARKERS.retain]: 'true' } },
      false,
    ],
    ['a changed annotation', { annotations: { [MARKERS.generate]: '{}' } }, false],
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

  test('is the same for what is planned and for what is there', () => {
    const annotations = { [MARKERS.generate]: '{"p":"password"}' };
    const made = plan([[{ kind: 'Secret', name: 's', labels: METADATA.labels, annotations }]]);
    const [planned] = plannedOf(made);
    const live = objectOf(made, 'v1/Secret/n/s');
    const { seeded } = childOf(kinds.Secret, live, MARKERS);
    assert.equal(seeded, planned?.seeded);
  });
});
