import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { AppBench, QueueScaling, QueueScalingStatus } from '../../constructs/api/bench.js';
import type { BenchInputs } from '../../constructs/kinds/bench/resolve.js';
import {
  maxReplicasOf,
  scaledToZero,
  scalingCondition,
  scalingStatus,
  workerScale,
  type WorkerScale,
} from '../../constructs/frappe/worker-scaling.js';
import type { Queue } from '../../constructs/kit/api.js';
import type { Health } from '../../constructs/kit/health.js';
import type { ChildView } from '../../constructs/kit/kind.js';
import { MANAGED_BY, MANAGED_BY_LABEL } from '../../constructs/kit/labels.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { ScaledObject } from '../../constructs/integrations/keda/kinds.js';
import type { AppSite } from '../../constructs/api/site.js';
import type { SiteInputs } from '../../constructs/kinds/site/resolve.js';
import { aReadyBench, aSecret, aSite, aReader, KEDA } from '../golden/builders.js';
import { graphOf, kindOf } from '../golden/outcome.js';

const scaling = (some: Partial<QueueScaling>): QueueScaling => ({
  enabled: true,
  minReplicas: 1,
  maxReplicas: 5,
  queueLength: 5,
  ...some,
});
const fixed = (replicas: number): WorkerScale => ({ mode: 'static', replicas });
const byKeda = (some: Partial<QueueScaling>, fallback: number): WorkerScale => ({
  mode: 'autoscaled',
  scaling: scaling(some),
  fallback,
});

const CASES: readonly (readonly [
  reason: string,
  scaling: QueueScaling | undefined,
  replicas: number | undefined,
  served: boolean,
  scale: WorkerScale,
])[] = [
  ['nothing is specified: one', undefined, undefined, true, fixed(1)],
  ['a number of replicas', undefined, 3, true, fixed(3)],
  ['no replicas', undefined, 0, true, fixed(0)],
  ['scaling switched off', scaling({ enabled: false }), undefined, true, fixed(1)],
  ['… with a number of its own', scaling({ enabled: false, staticReplicas: 2 }), 4, true, fixed(2)],
  ['… with the replicas of the component', scaling({ enabled: false }), 4, true, fixed(4)],
  ['scaling with KEDA', scaling({}), 4, true, byKeda({}, 4)],
  [
    '… that falls back to the least',
    scaling({ minReplicas: 2 }),
    undefined,
    true,
    byKeda({ minReplicas: 2 }, 2),
  ],
  [
    '… but at least to one',
    scaling({ minReplicas: 0 }),
    undefined,
    true,
    byKeda({ minReplicas: 0 }, 1),
  ],
  ['scaling without KEDA: the least', scaling({ minReplicas: 3 }), undefined, false, fixed(3)],
  [
    '… but at least one, or nothing would work',
    scaling({ minReplicas: 0 }),
    undefined,
    false,
    fixed(1),
  ],
  ['… or the number for this case', scaling({ staticReplicas: 2 }), undefined, false, fixed(2)],
  ['… or the replicas of the component', scaling({}), 4, false, fixed(4)],
];

suite('the workers of a queue', () => {
  for (const [reason, queue, replicas, served, scale] of CASES) {
    test(reason, () => {
      assert.deepEqual(workerScale({ scaling: queue, replicas, served }), scale);
    });
  }

  test('are left to another owner’s autoscaler, with or without KEDA', () => {
    for (const served of [true, false]) {
      const scale = workerScale({
        scaling: scaling({}),
        replicas: undefined,
        served,
        foreign: { name: 'mine', deployment: 'w-short', scalesFromZero: false },
      });
      assert.deepEqual(scale, { mode: 'autoscaled', fallback: 1 });
    }
  });

  test('are scaled up from zero by the operator where nothing else does it', () => {
    const scale = workerScale({
      scaling: scaling({ minReplicas: 0, staticReplicas: 2 }),
      replicas: undefined,
      served: true,
      scaledToZero: true,
    });
    assert.deepEqual(scale.replicas, 2);
  });
});

suite('the most workers of a queue', () => {
  const { maxReplicas: _none, ...open } = scaling({});
  for (const [reason, given, most] of [
    ['is maxReplicas', scaling({ maxReplicas: 3 }), 3],
    ['is 5 where it is not given', open, 5],
    ['is minReplicas where that is more', { ...open, minReplicas: 8 }, 8],
  ] as const) {
    test(reason, () => {
      assert.equal(maxReplicasOf(given), most);
    });
  }
});

suite('the number of a Dedicated site’s own pods', () => {
  /** The replicas in the Deployments of a site, without the site’s name. */
  const replicasOf = (benchSpec: object, siteSpec: object = {}): Record<string, unknown> => {
    const bench = aReadyBench({ ...benchSpec });
    const site = aSite({ ...siteSpec });
    const reader = aReader([bench, site, aSecret('demo-bench-redis-auth')]);
    const kind = kindOf(site);
    const inputs = kind.resolve(site, reader);
    const stages = graphOf(kind, site, (scope, id) =>
      kind.chart(scope, id, { resource: site, inputs }),
    );
    const deployments = stages
      .flatMap(({ objects }) => objects)
      .filter(({ kind: made }) => made === 'Deployment') as unknown as readonly (KubeObject & {
      readonly spec: { readonly replicas?: number };
    })[];
    return Object.fromEntries(
      deployments.map(({ metadata, spec }) => [
        metadata.name.replace('demo-site-', ''),
        spec.replicas,
      ]),
    );
  };
  const ONE = { gunicorn: 1, 'worker-default': 1, 'worker-short': 1, 'worker-long': 1 };
  const BENCH = { componentReplicas: { gunicorn: 5, workerDefault: 3, workerLong: 2, nginx: 4 } };

  test('is 1 where neither the site nor its bench says one', () => {
    assert.deepEqual(replicasOf({}), ONE);
  });
  test('is componentReplicas of the bench', () => {
    const wanted = { ...ONE, gunicorn: 5, 'worker-default': 3, 'worker-long': 2 };
    assert.deepEqual(replicasOf(BENCH), wanted);
  });
  test('is componentReplicas of the site where the site says one, also 0', () => {
    const own = { componentReplicas: { gunicorn: 2, workerLong: 0 } };
    const wanted = { ...ONE, gunicorn: 2, 'worker-default': 3, 'worker-long': 0 };
    assert.deepEqual(replicasOf(BENCH, own), wanted);
  });
  test('is staticReplicas of the bench’s queue, with scaling off or without KEDA', () => {
    const workerAutoscaling = {
      default: { enabled: false, staticReplicas: 2 },
      short: { enabled: true, staticReplicas: 4 },
    };
    const wanted = { ...ONE, 'worker-default': 2, 'worker-short': 4 };
    assert.deepEqual(replicasOf({ workerAutoscaling }), wanted);
    const own = { componentReplicas: { workerDefault: 6 } };
    assert.deepEqual(replicasOf({ workerAutoscaling }, own), { ...wanted, 'worker-default': 6 });
  });
});

suite('how KEDA logs in to the Redis of a bench', () => {
  const SHORT = { short: scaling({}) };
  /** The objects of KEDA's of a bench, and of a Dedicated site on it. */
  const objectsOfKeda = (
    workerAutoscaling: Readonly<Partial<Record<Queue, QueueScaling>>>,
    serves = KEDA,
  ) => {
    const bench = aReadyBench({ workerAutoscaling });
    const site = aSite();
    const reader = aReader([bench, site, aSecret('demo-bench-redis-auth'), anHpa('mine', 1)], {
      serves,
    });
    const inTree = (stages: ReturnType<typeof graphOf>): readonly string[] =>
      stages
        .flatMap(({ objects }) => objects)
        .filter(({ apiVersion }) => apiVersion === ScaledObject.apiVersion)
        .map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    return [bench, site].flatMap((resource) => {
      const kind = kindOf(resource);
      const inputs = kind.resolve(resource, reader);
      return inTree(
        graphOf(kind, resource, (scope, id) => kind.chart(scope, id, { resource, inputs })),
      );
    });
  };

  test('exists for its Dedicated sites where another owner scales all of its own workers', () => {
    assert.deepEqual(objectsOfKeda(SHORT), [
      'TriggerAuthentication demo-bench-redis-trigger',
      'ScaledObject demo-site-worker-short',
    ]);
  });
  test('does not exist without KEDA, nor where no queue is scaled', () => {
    assert.deepEqual(objectsOfKeda(SHORT, []), []);
    assert.deepEqual(objectsOfKeda({ short: scaling({ enabled: false }) }), []);
  });
});

/** A HorizontalPodAutoscaler on the workers of `short` of a bench. */
function anHpa(
  name: string,
  minReplicas: number,
  metadata: object = {},
  deployment = 'demo-bench-worker-short',
): KubeObject {
  const scaleTargetRef = { kind: 'Deployment', name: deployment };
  return {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name, namespace: 'default', ...metadata },
    spec: { scaleTargetRef, minReplicas },
  } as KubeObject;
}
/** As KEDA makes it: never below one, since KEDA itself scales to 0. */
const kedasHpa = (
  scaler: string,
  labels: Record<string, string> = {},
  deployment?: string,
): KubeObject =>
  anHpa(
    `keda-hpa-${scaler}`,
    1,
    {
      labels: { [MANAGED_BY_LABEL]: 'keda-operator', ...labels },
      ownerReferences: [
        { apiVersion: 'keda.sh/v1alpha1', kind: 'ScaledObject', name: scaler, uid: 'u' },
      ],
    },
    deployment,
  );

suite('a queue at 0 that another owner scales', () => {
  const NONE = {
    mode: 'autoscaled',
    currentReplicas: 0,
    desiredReplicas: 0,
    kedaManaged: false,
  } as const;
  /** What the operator applies as the number of workers. */
  const applied = (hpas: readonly KubeObject[], serves = KEDA): unknown => {
    const fresh = aReadyBench({ workerAutoscaling: { short: { enabled: false } } });
    const resource = { ...fresh, status: { ...fresh.status, workerScaling: { short: NONE } } };
    const reader = aReader([resource, aSecret('demo-bench-redis-auth'), ...hpas], { serves });
    const kind = kindOf(resource);
    const inputs = kind.resolve(resource, reader);
    const workers = graphOf(kind, resource, (scope, id) =>
      kind.chart(scope, id, { resource, inputs }),
    )
      .flatMap(({ objects }) => objects)
      .find(
        ({ kind, metadata }) => `${kind}/${metadata.name}` === 'Deployment/demo-bench-worker-short',
      );
    assert.ok(workers);
    return (workers as KubeObject & { spec: { replicas?: number } }).spec.replicas;
  };

  test('stays at 0 where that is a ScaledObject of a user: KEDA scales it up', () => {
    assert.equal(applied([kedasHpa('mine')]), undefined);
    assert.equal(applied([anHpa('a', 1), kedasHpa('mine')]), undefined);
  });
  test('stays at 0 where the HorizontalPodAutoscaler has minReplicas 0', () => {
    assert.equal(applied([anHpa('mine', 0)]), undefined);
  });
  test('is scaled up where its HorizontalPodAutoscaler cannot do it', () => {
    assert.equal(applied([anHpa('mine', 1)]), 1);
  });
  test('is scaled up where KEDA is not served', () => {
    assert.equal(applied([kedasHpa('mine')], []), 1);
  });
  test('is scaled up where only the leftover of our own ScaledObject exists', () => {
    assert.equal(
      applied([kedasHpa('demo-bench-worker-short', { [MANAGED_BY_LABEL]: MANAGED_BY })]),
      1,
    );
  });
});

suite('a ScaledObject of a user that is named like a Deployment of ours', () => {
  const names = (resource: AppBench | AppSite, others: readonly KubeObject[]): unknown => {
    const reader = aReader([resource, ...others], { serves: KEDA });
    return kindOf(resource).resolve(resource, reader);
  };
  const short = { enabled: true, minReplicas: 0 };
  const left = (deployment: string) => ({
    short: { name: `keda-hpa-${deployment}`, deployment, scalesFromZero: true },
  });
  const secret = aSecret('demo-bench-redis-auth');

  test('is foreign with an external Redis, for which the operator makes none', () => {
    const urls = aSecret('urls');
    const redisConfig = { external: { urlsSecretRef: { name: 'urls' } } };
    const bench = aReadyBench({ workerAutoscaling: { short }, redisConfig });
    const { workloads } = names(bench, [urls, kedasHpa('demo-bench-worker-short')]) as BenchInputs;
    assert.deepEqual(workloads.foreignScalers, left('demo-bench-worker-short'));
  });
  test('has the number in the site’s spec', () => {
    const bench = aReadyBench({ workerAutoscaling: { short } });
    const site = aSite({ componentReplicas: { workerShort: 2 } });
    const hpa = kedasHpa('demo-site-worker-short', {}, 'demo-site-worker-short');
    const { workloads } = names(site, [bench, secret, hpa]) as SiteInputs;
    assert.deepEqual(workloads.foreignScalers, left('demo-site-worker-short'));
  });
  test('is taken for ours where we make one', () => {
    const bench = aReadyBench({ workerAutoscaling: { short } });
    const others = [secret, kedasHpa('demo-bench-worker-short')];
    assert.deepEqual((names(bench, others) as BenchInputs).workloads.foreignScalers, {});
  });
});

/** What is seen of the workers of `short`, and KEDA's word on them. */
function seen(desired: number | undefined, health: Health | undefined) {
  const views: Record<string, ChildView> = {
    ...(desired === undefined
      ? {}
      : { 'Deployment/w-short': { health: READY, replicas: { desired, current: desired } } }),
    ...(health ? { 'ScaledObject/w-short': { health } } : {}),
  };
  return {
    name: (queue: string) => `w-${queue}`,
    scale: (queue: string) => (queue === 'short' ? byKeda({ minReplicas: 0 }, 1) : fixed(1)),
    foreign: {},
    child: (kind: string, name: string) => views[`${kind}/${name}`],
  };
}
const READY: Health = { state: 'Ready', message: '' };
const waiting = (message: string): Health => ({ state: 'InProgress', message });
const PAUSED: Health = { state: 'InProgress', message: 'is paused', reason: 'Paused' };
const UNOBSERVED: Health = {
  state: 'InProgress',
  message: 'has not looked at it',
  reason: 'OperatorSilent',
  unobserved: true,
};
const DELETING: Health = { state: 'Terminating', message: 'is being deleted' };

const SCALED_TO_ZERO: readonly (readonly [
  reason: string,
  desired: number | undefined,
  health: Health | undefined,
  status: Pick<QueueScalingStatus, 'desiredReplicas' | 'kedaManaged'>,
  isScaledToZero: boolean,
])[] = [
  ['KEDA has scaled it to zero', 0, READY, { desiredReplicas: 0, kedaManaged: true }, false],
  ['KEDA has not come yet', 0, waiting('…'), { desiredReplicas: 0, kedaManaged: false }, true],
  ['KEDA does not report', 0, UNOBSERVED, { desiredReplicas: 0, kedaManaged: false }, true],
  ['KEDA cannot work', 0, waiting('no Redis'), { desiredReplicas: 0, kedaManaged: false }, true],
  [
    'its object is stuck in its deletion',
    0,
    DELETING,
    { desiredReplicas: 0, kedaManaged: false },
    true,
  ],
  ['its object is deleted', 0, undefined, { desiredReplicas: 0, kedaManaged: false }, true],
  ['a user has paused it at none', 0, PAUSED, { desiredReplicas: 0, kedaManaged: true }, false],
  [
    'some work although KEDA cannot',
    4,
    waiting('…'),
    { desiredReplicas: 4, kedaManaged: false },
    false,
  ],
  ['nothing is made yet', undefined, undefined, { desiredReplicas: 1, kedaManaged: false }, false],
];

suite('the operator scales up a queue without a worker', () => {
  for (const [
    reason,
    desired,
    health,
    { desiredReplicas, kedaManaged },
    sleeps,
  ] of SCALED_TO_ZERO) {
    test(`${sleeps ? 'when' : 'not when'} ${reason}`, () => {
      const status = scalingStatus(seen(desired, health));
      assert.equal(status.short.desiredReplicas, desiredReplicas);
      assert.equal(status.short.kedaManaged, kedaManaged);
      assert.deepEqual(scaledToZero(status), sleeps ? ['short'] : []);
    });
  }

  test('not when its number is fixed at none', () => {
    const [short] = [{ mode: 'static', currentReplicas: 0, desiredReplicas: 0 } as const];
    assert.deepEqual(scaledToZero({ short: { ...short, kedaManaged: false } }), []);
  });

  test('not without a status', () => {
    assert.deepEqual(scaledToZero(undefined), []);
  });
});

suite('the condition Autoscaling', () => {
  const reported = (health: Health) => scalingCondition(seen(1, health), undefined, ['short'])[0];
  test('reports KEDA’s own message, and a pause', () => {
    assert.equal(reported(READY)?.reason, 'Keda');
    assert.equal(reported(waiting('no Redis'))?.message, 'ScaledObject w-short: no Redis');
    assert.equal(reported(PAUSED)?.reason, 'ScalerPaused');
  });
  test('names who has the number instead of us', () => {
    const [condition] = scalingCondition(
      {
        ...seen(1, READY),
        foreign: { short: { name: 'mine', deployment: 'w-short', scalesFromZero: false } },
      },
      undefined,
      [],
    );
    assert.equal(condition?.reason, 'ForeignScaler');
    assert.match(condition.message, /Deployment w-short .* HorizontalPodAutoscaler mine/);
  });
  test('does not exist where no queue is scaled', () => {
    assert.deepEqual(scalingCondition(seen(1, READY), undefined, []), []);
  });
});
