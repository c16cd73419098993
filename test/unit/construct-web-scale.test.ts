import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { maxReplicasOf } from '../../constructs/frappe/worker-scaling.js';
import { hasSeveral, oneCondition, webScale } from '../../constructs/frappe/web-scaling.js';
import type { WebAutoscaling } from '../../constructs/kit/api.js';
import { MANAGED_BY, MANAGED_BY_LABEL } from '../../constructs/kit/labels.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import { benchWarnings } from '../../constructs/kinds/bench/warnings.js';
import { siteWarnings } from '../../constructs/kinds/site/warnings.js';
import { aBench, aReader, aReadyBench, aSecret, aSite } from '../golden/builders.js';
import { graphOf, kindOf } from '../golden/outcome.js';

const WEB: WebAutoscaling = {
  enabled: true,
  minReplicas: 2,
  maxReplicas: 10,
  target: { type: 'CPU', value: 70 },
};
const OFF = { ...WEB, enabled: false };

interface Hpa extends KubeObject {
  readonly spec: { readonly minReplicas: number; readonly maxReplicas: number };
}

/** The number of gunicorn, its bounds, and whether it has a PodDisruptionBudget. */
function gunicornOf(resource: Resource, others: readonly KubeObject[] = []): unknown {
  const kind = kindOf(resource);
  const reader = aReader([resource, ...others, aSecret('demo-bench-redis-auth')]);
  const inputs = kind.resolve(resource, reader);
  const objects = graphOf(kind, resource, (scope, id) =>
    kind.chart(scope, id, { resource, inputs }),
  ).flatMap((stage) => stage.objects);
  const name = `${resource.metadata.name}-gunicorn`;
  const find = (wanted: string): KubeObject | undefined =>
    objects.find((object) => object.kind === wanted && object.metadata.name === name);
  const { spec } = find('Deployment') as KubeObject & { readonly spec: { replicas?: number } };
  const hpa = find('HorizontalPodAutoscaler') as Hpa | undefined;
  return [
    spec.replicas ?? 'left',
    hpa ? `${hpa.spec.minReplicas}-${hpa.spec.maxReplicas}` : 'fixed',
    find('PodDisruptionBudget') !== undefined,
  ];
}

const anHpa = (name: string, deployment: string, labels = {}, minReplicas = 1): KubeObject =>
  ({
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name, namespace: 'default', labels },
    spec: { scaleTargetRef: { kind: 'Deployment', name: deployment }, minReplicas },
  }) as KubeObject;

suite('gunicorn of a bench', () => {
  for (const [reason, spec, wanted] of [
    ['has one pod', {}, [1, 'fixed', false]],
    ['has a fixed number', { componentReplicas: { gunicorn: 3 } }, [3, 'fixed', true]],
    ['scales', { webAutoscaling: WEB }, ['left', '2-10', true]],
    ['scales from 1 to 5 by default', { webAutoscaling: {} }, ['left', '1-5', true]],
    ['scales above the most by default', { webAutoscaling: { minReplicas: 8 } }, ['left', '8-8', true]], // prettier-ignore
    ['has no budget where one pod is the most', { webAutoscaling: { maxReplicas: 1 } }, ['left', '1-1', false]], // prettier-ignore
    ['has one pod where scaling is off', { webAutoscaling: OFF }, [1, 'fixed', false]],
    [
      'has the fixed number where scaling is off',
      { webAutoscaling: OFF, componentReplicas: { gunicorn: 4 } },
      [4, 'fixed', true],
    ],
    [
      'has no budget on one node, where it would stop a drain',
      { webAutoscaling: WEB, storage: { accessMode: 'ReadWriteOnce' } },
      ['left', '2-10', false],
    ],
  ] as const) {
    test(reason, () => {
      assert.deepEqual(gunicornOf(aBench(spec)), wanted);
    });
  }
  test('is left to another owner’s autoscaler, with or without scaling of its own', () => {
    for (const name of ['mine', 'demo-bench-gunicorn']) {
      const others = [anHpa(name, 'demo-bench-gunicorn')];
      for (const spec of [{ webAutoscaling: WEB }, { componentReplicas: { gunicorn: 3 } }]) {
        assert.deepEqual(gunicornOf(aBench(spec), others), ['left', 'fixed', true]);
      }
    }
  });
  test('does not take its own HorizontalPodAutoscaler for another’s, nor once it is switched off', () => {
    const own = anHpa('demo-bench-gunicorn', 'demo-bench-gunicorn', {
      [MANAGED_BY_LABEL]: MANAGED_BY,
    });
    assert.deepEqual(gunicornOf(aBench({ webAutoscaling: WEB }), [own]), ['left', '2-10', true]);
    assert.deepEqual(gunicornOf(aBench({ webAutoscaling: OFF }), [own]), [1, 'fixed', false]);
  });
  test('is scaled up from 0, at which a HorizontalPodAutoscaler does nothing', () => {
    const bench = aBench({ webAutoscaling: WEB });
    const sleeping = { webScaling: { currentReplicas: 0, desiredReplicas: 0 } };
    assert.deepEqual(gunicornOf({ ...bench, status: sleeping }), [2, '2-10', true]);
    const awake = { webScaling: { currentReplicas: 0, desiredReplicas: 1 } };
    assert.deepEqual(gunicornOf({ ...bench, status: awake }), ['left', '2-10', true]);
  });
});

suite('gunicorn of a Dedicated site', () => {
  for (const [reason, bench, site, wanted] of [
    ['scales as its bench says', { webAutoscaling: WEB }, {}, ['left', '2-10', true]],
    [
      'scales as it says itself',
      { webAutoscaling: WEB },
      { webAutoscaling: { maxReplicas: 3 } },
      ['left', '1-3', true],
    ],
    [
      'scales whatever number its bench has',
      { componentReplicas: { gunicorn: 4 } },
      { webAutoscaling: WEB },
      ['left', '2-10', true],
    ],
    [
      'has its own number',
      { webAutoscaling: WEB },
      { componentReplicas: { gunicorn: 3 } },
      [3, 'fixed', true],
    ],
    [
      'has one pod where it does not want the scaling of its bench',
      { webAutoscaling: WEB },
      { webAutoscaling: { enabled: false } },
      [1, 'fixed', false],
    ],
    [
      'has the number of its bench where its own scaling is off',
      { componentReplicas: { gunicorn: 4 } },
      { webAutoscaling: OFF },
      [4, 'fixed', true],
    ],
  ] as const) {
    test(reason, () => {
      assert.deepEqual(gunicornOf(aSite(site), [aReadyBench(bench)]), wanted);
    });
  }
});

suite('who decides about web processes', () => {
  const props = { autoscaling: WEB, replicas: undefined, scaledToZero: false, foreign: undefined };
  const foreign = { name: 'mine', deployment: 'd', scalesFromZero: false };

  test('is another owner, but not at 0', () => {
    const scale = webScale({ ...props, foreign });
    assert.deepEqual(scale, { replicas: undefined, scaled: true });
    assert.equal(hasSeveral(scale), true);
    assert.equal(webScale({ ...props, foreign, scaledToZero: true }).replicas, 2);
    const keda = { ...foreign, scalesFromZero: true };
    assert.equal(webScale({ ...props, foreign: keda, scaledToZero: true }).replicas, undefined);
  });
  test('is up to 5 by default', () => {
    assert.equal(maxReplicasOf({ minReplicas: 1 }), 5);
  });
});

suite('the condition Autoscaling of workers and web processes', () => {
  const yes = { type: 'Autoscaling', status: 'True', reason: 'Keda', message: 'a' } as const;
  const no = { type: 'Autoscaling', status: 'False', reason: 'ScalerNotReady' } as const;

  test('is that of the ones that do not scale', () => {
    assert.deepEqual(oneCondition([yes, { ...no, message: 'b' }]), [{ ...no, message: 'b' }]);
    const both = oneCondition([
      { ...no, message: 'b' },
      { ...no, message: 'c' },
    ]);
    assert.deepEqual(both, [{ ...no, message: 'b; c' }]);
  });
  test('is that of all where all scale, and none where nothing should', () => {
    assert.deepEqual(oneCondition([yes, { ...yes, message: 'b' }]), [{ ...yes, message: 'a; b' }]);
    assert.deepEqual(oneCondition([]), []);
  });
});

suite('webAutoscaling warns', () => {
  const warnings = (spec: object) =>
    benchWarnings(aBench({ ...spec }), aReader([]))
      .filter(({ path }) => path === 'spec.webAutoscaling')
      .map(({ message }) => message);
  const gunicorn = (resources: object) => ({ componentResources: { gunicorn: resources } });

  test('of a CPU request that is missing, or small by default', () => {
    assert.deepEqual(warnings({ webAutoscaling: WEB }), [
      'the CPU request by default is small: a little load makes many pods; set componentResources.gunicorn.requests.cpu',
    ]);
    const memory = gunicorn({ requests: { memory: '1Gi' } });
    assert.deepEqual(warnings({ webAutoscaling: WEB, ...memory }), [
      'without a CPU request nothing is measured; set componentResources.gunicorn.requests.cpu',
    ]);
    for (const field of ['requests', 'limits']) {
      const cpu = gunicorn({ [field]: { cpu: '1' } });
      assert.deepEqual(warnings({ webAutoscaling: WEB, ...cpu }), [], field);
    }
    assert.deepEqual(warnings({ webAutoscaling: OFF }), []);
  });
  test('of bounds between which nothing scales', () => {
    const webAutoscaling = { minReplicas: 3, maxReplicas: 3 };
    const cpu = gunicorn({ requests: { cpu: '1' } });
    assert.deepEqual(warnings({ webAutoscaling, ...cpu }), [
      'minReplicas and maxReplicas are both 3: nothing scales',
    ]);
  });
  test('of a Shared site, which has no web processes', () => {
    const site = aSite({ workloads: 'Shared', webAutoscaling: WEB });
    assert.deepEqual(siteWarnings(site, aReader([aReadyBench()])), [
      {
        path: 'spec.webAutoscaling',
        message: 'has no effect with workloads Shared: set it on the AppBench',
      },
    ]);
  });
});
