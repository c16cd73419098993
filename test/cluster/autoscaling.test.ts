import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { type Cluster, installCrd, startCluster } from './harness.js';
import { aBench, aSite, scaled, WORKERS } from './support/builders.js';
import { crdsOf } from './support/modules.js';
import { at, conditionOf, type Live, nameOf } from './support/objects.js';
import type { Operator } from './support/operator.js';

const KEDA = await crdsOf('keda.sh.ts', [
  'config/crd/bases/keda.sh_scaledobjects.yaml',
  'config/crd/bases/keda.sh_triggerauthentications.yaml',
]);

/** The example of the specification. */
const SCALING = {
  short: scaled(0, 10, 2),
  long: scaled(1, 5, 5),
  default: { enabled: false, staticReplicas: 2 },
};
const SCALED = ['b-worker-long', 'b-worker-short', 's-worker-long', 's-worker-short'];

describe('workers scale by events', { skip: KEDA.skip }, () => {
  let cluster: Cluster;
  let namespace: string;
  let operator: Operator;
  before(async () => {
    cluster = await startCluster({ audit: true });
    namespace = await cluster.namespace();
    operator = await cluster.operator([], { timeFactor: 5 });
    await cluster.apply(
      namespace,
      aBench('b', {
        workerAutoscaling: SCALING,
        componentReplicas: { workerLong: 3 },
      }),
      aSite('s', { bench: 'b', ...WORKERS }),
    );
    await cluster.ready('AppBench', namespace, 'b');
    await cluster.ready('AppSite', namespace, 's');
  });
  after(() => cluster.stop());

  const replicas = async (deployment: string): Promise<unknown> =>
    at(await cluster.the('Deployment', namespace, deployment), 'spec.replicas');
  const scalers = async (): Promise<string[]> =>
    (await cluster.list('ScaledObject', namespace)).map(({ metadata }) => metadata.name);
  const awaitCondition = (
    status: string,
    reason: string,
    message: string,
    [kind, name] = ['AppBench', 'b'],
  ): Promise<Live> =>
    cluster.becomes(kind, namespace, name, {
      what: `reports ${reason}`,
      check: (live) => {
        const autoscaling = conditionOf(live, 'Autoscaling');
        return (
          autoscaling?.status === status &&
          autoscaling.reason === reason &&
          autoscaling.message === message
        );
      },
    });
  const SITE: [string, string] = ['AppSite', 's'];
  const awaitKedaMissing = (): Promise<Live> =>
    awaitCondition(
      'False',
      'KedaMissing',
      'workers are not scaled by events: the cluster does not serve keda.sh/v1alpha1',
    );
  /** Whether the number of replicas is a field that the operator applies. */
  const isOurs = async (deployment: string): Promise<boolean> => {
    const { metadata } = await cluster.the('Deployment', namespace, deployment);
    const ours = metadata.managedFields?.find(
      ({ manager, operation }) => manager === 'app-operator' && operation === 'Apply',
    );
    return at(ours?.fieldsV1, '["f:spec"]["f:replicas"]') !== undefined;
  };
  /** Writes the status that KEDA would write. */
  const setKedaReady = (name: string, status: string, message: string): Promise<Live> => {
    const ready = { type: 'Ready', status, reason: 'Test', message };
    const conditions = [ready];
    return cluster.patchStatus('ScaledObject', namespace, name, { status: { conditions } });
  };
  const kedaWorks = async (): Promise<void> => {
    for (const name of await scalers()) await setKedaReady(name, 'True', 'ScaledObject is ready');
  };
  /** As a horizontal pod autoscaler does it. */
  const scaleTo = (deployment: string, count: number): Promise<unknown> =>
    cluster.controlPlane.api.mergePatch(
      `/apis/apps/v1/namespaces/${namespace}/deployments/${deployment}/scale?fieldManager=hpa`,
      { spec: { replicas: count } },
    );

  const awaitReplicas = (deployment: string, count: number): Promise<true> =>
    cluster.until(`${deployment} has ${count} replicas that are not ours`, async () => {
      assert.deepEqual([await replicas(deployment), await isOurs(deployment)], [count, false]);
      return true;
    });
  /** Uids of the pods of a Deployment: another one was sent home, and came again. */
  const podsOf = async (deployment: string): Promise<readonly unknown[]> => {
    const pods = await cluster.list('Pod', namespace, `app=${deployment}`);
    return pods.map(({ metadata }) => metadata.uid).sort();
  };

  test('not without KEDA: replicas are fixed, and a condition has the reason', async () => {
    const bench = await awaitKedaMissing();
    assert.equal(await replicas('b-worker-short'), 1, 'nothing would scale it from 0');
    assert.equal(await replicas('b-worker-long'), 3);
    assert.equal(await replicas('b-worker-default'), 2);
    const { short } = at(bench, 'status.workerScaling') as { short: unknown };
    assert.deepEqual(short, {
      mode: 'static',
      currentReplicas: 1,
      desiredReplicas: 1,
      kedaManaged: false,
    });
  });

  test('as soon as KEDA’s kinds appear, without a restart', async () => {
    const pods = await cluster.until('three pods', async () => {
      const found = await podsOf('b-worker-long');
      return found.length === 3 && found;
    });
    for (const crd of KEDA.crds) await installCrd(cluster, crd);
    await cluster.until('the ScaledObjects are there', async () => {
      assert.deepEqual(await scalers(), SCALED);
      return true;
    });
    // The number is given up as it is: without a manager it would be the server's default, one.
    await awaitReplicas('b-worker-long', 3);
    assert.deepEqual(await podsOf('b-worker-long'), pods);
    const before = await awaitCondition(
      'False',
      'ScalerNotReady',
      'ScaledObject b-worker-short: its operator has not observed it yet',
    );
    assert.equal(at(before, 'status.workerScaling.long.kedaManaged'), false);
    await kedaWorks();
    await awaitCondition('True', 'Keda', 'KEDA scales short, long');
    const bench = await cluster.ready('AppBench', namespace, 'b');
    await cluster.ready('AppSite', namespace, 's');
    assert.equal(at(bench, 'status.workerScaling.short.mode'), 'autoscaled');
    assert.equal(at(bench, 'status.workerScaling.short.kedaManaged'), true);
    assert.equal(at(bench, 'status.workerScaling.default.mode'), 'static');
    const shown = await cluster.controlPlane.kubectl(['-n', namespace, 'get', 'scaledobjects']);
    assert.match(shown, /\nb-worker-short +b-worker-short +0 +10 /);
  });

  test('and bench and site are Ready whatever the condition of KEDA', async () => {
    const [one, two] = ['b-worker-short', 's-worker-short'];
    for (const [patch, message] of [
      [{ status: { conditions: null } }, 'its operator has not observed it yet'],
      [
        { status: { conditions: [{ type: 'Ready', status: 'False', message: 'no Redis' }] } },
        'no Redis',
      ],
    ] as const) {
      for (const name of [one, two]) {
        await cluster.patchStatus('ScaledObject', namespace, name, patch);
      }
      await awaitCondition('False', 'ScalerNotReady', `ScaledObject b-worker-short: ${message}`);
      await awaitCondition(
        'False',
        'ScalerNotReady',
        `ScaledObject s-worker-short: ${message}`,
        SITE,
      );
      await cluster.ready('AppBench', namespace, 'b', 2_000);
      await cluster.ready('AppSite', namespace, 's', 2_000);
    }
    await kedaWorks();
    await awaitCondition('True', 'Keda', 'KEDA scales short, long');
    await awaitCondition('True', 'Keda', 'KEDA scales short, long', SITE);
  });

  test('and are not left at zero replicas by a KEDA that does nothing', async () => {
    const short = 'b-worker-short';
    const pods = async (): Promise<readonly unknown[]> =>
      Promise.all([short, 's-worker-short'].map(replicas));
    await scaleTo(short, 0);
    await scaleTo('s-worker-short', 0);
    await cluster.becomes('AppBench', namespace, 'b', {
      what: 'sees none',
      check: (bench) => at(bench, 'status.workerScaling.short.desiredReplicas') === 0,
    });
    assert.deepEqual(await pods(), [0, 0], 'KEDA may do that');
    for (const name of [short, 's-worker-short']) await setKedaReady(name, 'False', 'no Redis');
    await awaitReplicas(short, 1);
    await awaitReplicas('s-worker-short', 1);
    await awaitCondition('False', 'ScalerNotReady', 'ScaledObject s-worker-short: no Redis', SITE);
    const since = new Date();
    await scaleTo(short, 4);
    await kedaWorks();
    await awaitCondition('True', 'Keda', 'KEDA scales short, long');
    assert.equal(await replicas(short), 4, 'a number is left alone');
    const writes = (await cluster.calls({ namespace, since })).filter(
      ({ verb, objectRef }) => verb === 'patch' && objectRef?.resource === 'deployments',
    );
    assert.deepEqual(writes, []);
  });

  test('and stay at zero replicas while a user has paused them', async () => {
    const name = 'b-worker-short';
    await scaleTo(name, 0);
    const conditions = [
      { type: 'Ready', status: 'True', reason: 'Test', message: 'is paused' },
      { type: 'Paused', status: 'True', reason: 'Test', message: 'is paused' },
    ];
    await cluster.patchStatus('ScaledObject', namespace, name, { status: { conditions } });
    await awaitCondition(
      'False',
      'ScalerPaused',
      'ScaledObject b-worker-short: is paused by an annotation',
    );
    await cluster.becomes('AppBench', namespace, 'b', {
      what: 'has no worker',
      check: (bench) => {
        const { kedaManaged, ...short } = at(bench, 'status.workerScaling.short') as Record<
          string,
          unknown
        >;
        return kedaManaged === true && short['currentReplicas'] === 0;
      },
    });
    assert.equal(await replicas(name), 0);
    await kedaWorks();
  });

  test('by the length of the list that Frappe uses', async () => {
    const env = async (job: string, variable: string): Promise<string> => {
      const path = 'spec.template.spec.containers[0].env';
      const list = at(await cluster.the('Job', namespace, job), path) as readonly {
        readonly name: string;
        readonly value?: string;
      }[];
      return list.find(({ name }) => name === variable)?.value ?? '';
    };
    for (const [name, job, variable] of [
      ['b-worker-short', 'b-init', 'COMMON_CONFIG'],
      ['s-worker-short', 's-init', 'SITE_CONFIG'],
    ] as const) {
      const { bench_id: id } = JSON.parse(await env(job, variable)) as { bench_id: string };
      const { spec } = await cluster.the('ScaledObject', namespace, name);
      assert.deepEqual(spec, {
        scaleTargetRef: { name },
        minReplicaCount: 0,
        maxReplicaCount: 10,
        fallback: { failureThreshold: 0, replicas: 1, behavior: 'currentReplicasIfHigher' },
        triggers: [
          {
            type: 'redis',
            metadata: {
              address: `b-redis.${namespace}.svc.cluster.local.:6380`,
              listName: `rq:queue:${id}:short`,
              listLength: '2',
              activationListLength: '0',
            },
            authenticationRef: { name: 'b-redis-trigger' },
          },
        ],
      });
    }
    const { spec } = await cluster.the('TriggerAuthentication', namespace, 'b-redis-trigger');
    assert.deepEqual(spec, {
      secretTargetRef: [{ parameter: 'password', name: 'b-redis-auth', key: 'password' }],
    });
  });

  test('to replicas that the operator does not manage, and that survive its changes', async () => {
    for (const name of SCALED) assert.equal(await isOurs(name), false, name);
    assert.equal(await isOurs('b-worker-default'), true);
    await scaleTo('b-worker-short', 7);
    await scaleTo('s-worker-short', 0);
    const resources = { workerShort: { requests: { cpu: '250m' } } };
    await cluster.patch('AppBench', namespace, 'b', { spec: { componentResources: resources } });
    await cluster.ready('AppBench', namespace, 'b');
    await cluster.becomes('AppBench', namespace, 'b', {
      what: 'sees seven',
      check: (bench) => {
        const { short } = at(bench, 'status.workerScaling') as Record<string, object>;
        return at(short, 'desiredReplicas') === 7 && at(short, 'currentReplicas') === 7;
      },
    });
    await cluster.until('the site’s worker has the resources, too', async () => {
      const live = await cluster.the('Deployment', namespace, 's-worker-short');
      return at(live, 'spec.template.spec.containers[0].resources.requests.cpu') === '250m';
    });
    assert.equal(await replicas('b-worker-short'), 7);
    assert.equal(await replicas('s-worker-short'), 0);
    await cluster.ready('AppSite', namespace, 's');
  });

  test('within bounds that can be changed', async () => {
    const spec = { workerAutoscaling: { short: { maxReplicas: 20, cooldownPeriod: 60 } } };
    await cluster.patch('AppBench', namespace, 'b', { spec });
    const bounds = async (name: string): Promise<void> => {
      await cluster.until(`${name} has the new bounds`, async () => {
        const live = await cluster.the('ScaledObject', namespace, name);
        assert.equal(at(live, 'spec.maxReplicaCount'), 20);
        assert.equal(at(live, 'spec.cooldownPeriod'), 60);
        return true;
      });
    };
    for (const name of ['b-worker-short', 's-worker-short']) {
      await bounds(name);
      await cluster.patch('ScaledObject', namespace, name, { spec: { maxReplicaCount: 99 } });
      await bounds(name);
      await cluster.delete('ScaledObject', namespace, name);
      await bounds(name);
    }
  });

  test('not in a queue that is switched off: the operator manages its replicas again', async () => {
    const short = { enabled: false, staticReplicas: 3 };
    await cluster.patch('AppBench', namespace, 'b', { spec: { workerAutoscaling: { short } } });
    await cluster.ready('AppBench', namespace, 'b');
    await cluster.until('the ScaledObjects of the queue are deleted', async () => {
      assert.deepEqual(await scalers(), ['b-worker-long', 's-worker-long']);
      return true;
    });
    assert.equal(await replicas('b-worker-short'), 3);
    assert.equal(await isOurs('b-worker-short'), true);
    await cluster.until('the site has the number of its bench', async () => {
      const site = [await replicas('s-worker-short'), await isOurs('s-worker-short')];
      assert.deepEqual(site, [3, true]);
      return true;
    });
  });

  test('and keeps its replicas when the queue is switched on again', async () => {
    // Not its events, which after ten of one kind are aggregated into one.
    const pods = async (): Promise<string[]> =>
      (await cluster.list('Pod', namespace, 'app=b-worker-short')).map(nameOf);
    const before = await cluster.until('three pods are left', async () => {
      const names = await pods();
      return names.length === 3 && names;
    });
    const switched = (enabled: boolean): Promise<Live> =>
      cluster.patch('AppBench', namespace, 'b', {
        spec: { workerAutoscaling: { short: { enabled } } },
      });
    await switched(true);
    await awaitReplicas('b-worker-short', 3);
    await cluster.until('the ScaledObjects of the queue are there', async () => {
      assert.deepEqual(await scalers(), SCALED);
      return true;
    });
    await kedaWorks();
    await awaitCondition('True', 'Keda', 'KEDA scales short, long');
    assert.deepEqual(await pods(), before);
    await switched(false);
    await cluster.until('the number is ours', () => isOurs('b-worker-short'));
    assert.equal(await replicas('b-worker-short'), 3);
    await cluster.ready('AppBench', namespace, 'b');
  });

  test('not where another HorizontalPodAutoscaler manages the replicas', async () => {
    const hpa = (name: string, deployment: string) => ({
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name },
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: deployment },
        minReplicas: 2,
        maxReplicas: 5,
        metrics: [
          {
            type: 'Resource',
            resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } },
          },
        ],
      },
    });
    // One queue with a fixed number of 2, one that KEDA scales.
    await cluster.apply(namespace, hpa('mine', 'b-worker-default'), hpa('other', 's-worker-long'));
    const left = (deployment: string, name: string): string =>
      `the number of Deployment ${deployment} is scaled by HorizontalPodAutoscaler ${name}, which another owner manages`;
    await awaitCondition('False', 'ForeignScaler', left('b-worker-default', 'mine'));
    await scaleTo('b-worker-default', 4);
    await awaitReplicas('b-worker-default', 4);
    await cluster.until('the ScaledObject of the operator is deleted', async () => {
      assert.deepEqual(await scalers(), ['b-worker-long']);
      return true;
    });
    await awaitCondition('False', 'ForeignScaler', left('s-worker-long', 'other'), SITE);
    // Neither KEDA nor an HorizontalPodAutoscaler with a least number above 0 brings it back from there.
    await scaleTo('b-worker-default', 0);
    await awaitReplicas('b-worker-default', 2);
    await cluster.ready('AppBench', namespace, 'b');
    for (const name of ['mine', 'other']) {
      await cluster.delete('HorizontalPodAutoscaler', namespace, name);
    }
    await cluster.until('all is as before', async () => {
      assert.deepEqual(await scalers(), ['b-worker-long', 's-worker-long']);
      assert.equal(await isOurs('b-worker-default'), true);
      return true;
    });
    assert.equal(await replicas('b-worker-default'), 2);
    await kedaWorks();
    await awaitCondition('True', 'Keda', 'KEDA scales long');
  });

  test('not where a user’s ScaledObject scales them to zero', async () => {
    const [name, deployment] = ['mine', 'b-worker-default'];
    const scaleTargetRef = { name: deployment };
    const triggers = [{ type: 'cron', metadata: {} }];
    await cluster.apply(namespace, {
      apiVersion: 'keda.sh/v1alpha1',
      kind: 'ScaledObject',
      metadata: { name },
      spec: { scaleTargetRef, minReplicaCount: 0, triggers },
    });
    const { metadata } = await cluster.the('ScaledObject', namespace, name);
    assert.ok(metadata.uid);
    const owner = { apiVersion: 'keda.sh/v1alpha1', kind: 'ScaledObject', name, uid: metadata.uid };
    // As KEDA makes it: the way to 0 and back is its own.
    await cluster.apply(namespace, {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: `keda-hpa-${name}`, ownerReferences: [{ ...owner, controller: true }] },
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: deployment },
        minReplicas: 1,
        maxReplicas: 5,
      },
    });
    await awaitCondition(
      'False',
      'ForeignScaler',
      `the number of Deployment ${deployment} is scaled by HorizontalPodAutoscaler keda-hpa-${name}, which another owner manages`,
    );
    await awaitReplicas(deployment, 2);
    const since = new Date();
    await scaleTo(deployment, 0);
    await cluster.becomes('AppBench', namespace, 'b', {
      what: 'sees none',
      check: (bench) => {
        return at(bench, 'status.workerScaling.default.desiredReplicas') === 0;
      },
    });
    // A change of the spec is one more reconcile, with all observed objects.
    const resources = { workerLong: { requests: { cpu: '250m' } } };
    await cluster.patch('AppBench', namespace, 'b', { spec: { componentResources: resources } });
    await cluster.ready('AppBench', namespace, 'b');
    const writes = await cluster.writes({ namespace, since });
    assert.deepEqual(
      writes.filter((write) => write.includes(deployment)),
      [],
    );
    assert.equal(await replicas(deployment), 0);
    await cluster.delete('HorizontalPodAutoscaler', namespace, `keda-hpa-${name}`);
    await cluster.delete('ScaledObject', namespace, name);
    await cluster.until('the number is ours', () => isOurs(deployment));
    assert.equal(await replicas(deployment), 2);
    await awaitCondition('True', 'Keda', 'KEDA scales long');
  });

  test('not by a KEDA object that is stuck in its deletion', async () => {
    const [name, finalizer] = ['b-worker-long', 'finalizer.keda.sh'];
    const finalizers = (list: readonly string[]): Promise<Live> =>
      cluster.patch('ScaledObject', namespace, name, { metadata: { finalizers: list } });
    await finalizers([finalizer]);
    await cluster.delete('ScaledObject', namespace, name);
    await awaitCondition('False', 'ScalerNotReady', `ScaledObject ${name}: is being deleted`);
    await cluster.ready('AppBench', namespace, 'b');
    await scaleTo(name, 0);
    await awaitReplicas(name, 3);
    await finalizers([]);
    await cluster.until('it is created again', async () => {
      const live = await cluster.the('ScaledObject', namespace, name);
      return live.metadata.deletionTimestamp === undefined;
    });
    await kedaWorks();
    await awaitCondition('True', 'Keda', 'KEDA scales long');
  });

  test('and a site is deleted without waiting for an object that a stopped KEDA blocks', async () => {
    await cluster.apply(namespace, aSite('u', { bench: 'b', ...WORKERS }));
    await cluster.ready('AppSite', namespace, 'u');
    const finalizers = (list: readonly string[]): Promise<Live> =>
      cluster.patch('ScaledObject', namespace, 'u-worker-long', { metadata: { finalizers: list } });
    await finalizers(['finalizer.keda.sh']);
    await cluster.delete('AppSite', namespace, 'u');
    await cluster.deleted('AppSite', namespace, 'u');
    const left = await cluster.the('ScaledObject', namespace, 'u-worker-long');
    assert.notEqual(left.metadata.deletionTimestamp, undefined);
    await finalizers([]);
    await cluster.deleted('ScaledObject', namespace, 'u-worker-long');
  });

  test('not after KEDA’s kinds are deleted, and again when they are back', async () => {
    await scaleTo('b-worker-long', 4);
    const finalizers = async (list: readonly string[]): Promise<void> => {
      for (const name of await scalers())
        await cluster.patch('ScaledObject', namespace, name, { metadata: { finalizers: list } });
    };
    // It was taken away before its kinds: no controller removes its finalizers.
    await finalizers(['finalizer.keda.sh']);
    for (const { metadata } of KEDA.crds) {
      await cluster.delete('CustomResourceDefinition', '', metadata.name);
    }
    await awaitKedaMissing();
    await cluster.until('the number is ours', async () => {
      assert.deepEqual([await replicas('b-worker-long'), await isOurs('b-worker-long')], [3, true]);
      return true;
    });
    await cluster.ready('AppBench', namespace, 'b');
    await cluster.ready('AppSite', namespace, 's');
    await cluster.apply(namespace, aSite('t', { bench: 'b', ...WORKERS }));
    await cluster.ready('AppSite', namespace, 't');
    await cluster.delete('AppSite', namespace, 't');
    await cluster.deleted('AppSite', namespace, 't');
    assert.deepEqual(await scalers(), ['b-worker-long', 's-worker-long'], 'they are stuck');
    await finalizers([]);
    for (const { metadata } of KEDA.crds) {
      await cluster.deleted('CustomResourceDefinition', '', metadata.name);
    }
    for (const crd of KEDA.crds) await installCrd(cluster, crd);
    await cluster.until('the ScaledObjects are back', async () => {
      assert.deepEqual(await scalers(), ['b-worker-long', 's-worker-long']);
      return true;
    });
    await kedaWorks();
    await awaitCondition('True', 'Keda', 'KEDA scales long');
    // While a kind vanishes, its objects go first, and cannot be made again.
    const passing = /404 page not found|while custom resource definition is terminating/;
    assert.deepEqual(
      operator.lines.filter(
        ({ level, error }) => level === 'error' && !passing.test(String(error)),
      ),
      [],
    );
  });
});
