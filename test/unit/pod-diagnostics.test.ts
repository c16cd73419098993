import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { healthOf } from '../../constructs/kit/health.js';
import type { ObjectMeta } from '../../constructs/kit/object.js';
import { Deployment, Job, StatefulSet } from '../../constructs/kit/object-kind.js';
import type { Child } from '../../runner/cache/child.js';
import type { ChildCache } from '../../runner/cache/child-cache.js';
import { PodDiagnostics } from '../../runner/health/pod-diagnostics.js';
import type { ReconcileState } from '../../runner/plan/reconcile-state.js';
import { HealthChecker } from '../../runner/health/health-checker.js';
import { aPlan } from './plan-builder.js';
import { controlledBy, PodApi } from './pod-api.js';

const FAILED: Child = {
  id: 'batch/v1/Job/ns/s-init',
  kind: Job,
  namespace: 'ns',
  name: 's-init',
  uid: 'u1',
  resourceVersion: '1',
  owner: 'AppSite/ns/s',
  controller: 'u0',
  retained: false,
  holdsData: false,
  deleting: false,
  owned: undefined,
  unowned: false,
  createOnly: undefined,
  taskHash: 'r',
  runs: {},
  health: { state: 'Failed', message: 'BackoffLimitExceeded' },
  replicas: undefined,
  job: undefined,
  unobservedSince: undefined,
  failedAt: 0,
};

describe('the messages of the pods of an unhealthy child', () => {
  const cases: readonly [string, object, string | undefined][] = [
    [
      'the last line of a script that failed',
      terminated(1, 'noise\napp-operator: DatabaseUnreachable: db:3306 does not answer'),
      'DatabaseUnreachable: db:3306 does not answer',
    ],
    [
      'the exit code of one that says nothing',
      terminated(137),
      'container init ended with exit code 137',
    ],
    [
      'an image that cannot be pulled, without the changing back-off',
      waiting('ImagePullBackOff', 'Back-off pulling image "x:y"'),
      'container init: ImagePullBackOff: Back-off pulling image "x:y"',
    ],
    [
      'a missing key of a Secret',
      waiting('CreateContainerConfigError', "couldn't find key password in Secret ns/a"),
      "container init: CreateContainerConfigError: couldn't find key password in Secret ns/a",
    ],
    ['nothing of a pod that only starts', waiting('ContainerCreating'), undefined],
    [
      'that no node takes it',
      {
        conditions: [{ type: 'PodScheduled', status: 'False', message: '0/3 nodes are available' }],
      },
      'pod is unschedulable: 0/3 nodes are available',
    ],
    ['nothing of a pod that is well', {}, undefined],
    [
      'the container that keeps a Job from ending',
      {
        containerStatuses: [
          { name: 'init', state: { terminated: { exitCode: 0 } } },
          { name: 'linkerd-proxy', state: { running: { startedAt: '2026-01-01T00:00:00Z' } } },
        ],
      },
      'container linkerd-proxy still runs after container init has ended; keep it out of pods of Jobs',
    ],
  ];
  for (const [what, status, expected] of cases) {
    test(what, async () => {
      assert.equal(await whyOf([pod('2026-01-01T00:00:00Z', status)]), expected);
    });
  }

  test('the youngest pod speaks first', async () => {
    const pods = [
      pod('2026-01-01T00:00:00Z', terminated(1, 'app-operator: Old: x')),
      pod('2026-01-02T00:00:00Z', terminated(1, 'app-operator: New: y')),
    ];
    assert.equal(await whyOf(pods), 'New: y');
  });

  test('an answer is kept for half a minute, and slow children are read one in two seconds', async () => {
    const { answers, clock, calls } = counted();
    await answers.explain(FAILED);
    await answers.explain(FAILED);
    assert.equal(calls(), 1, 'the same failure');
    clock.now = 1_000;
    await answers.explain(running('u2'));
    assert.equal(calls(), 1, 'another child, too soon');
    clock.now = 31_000;
    await answers.explain(FAILED);
    assert.equal(calls(), 2, 'after half a minute');
  });

  test('the newest answers are kept when there are too many', async () => {
    const { answers, calls } = counted();
    const failed = Array.from({ length: 1_002 }, (_, index) => ({ ...FAILED, uid: `u${index}` }));
    for (const child of failed) await answers.explain(child);
    const before = calls();
    for (const child of failed.slice(2)) await answers.explain(child);
    assert.equal(calls(), before);
  });

  test('slow children that were not read are read soon, one after the other', async () => {
    const { answers, clock, calls } = counted();
    await answers.explain(running('u1'));
    assert.deepEqual(await answers.explain(running('u2')), { why: undefined, againMs: 2_000 });
    assert.deepEqual(await answers.explain(running('u3')), { why: undefined, againMs: 4_000 });
    clock.now = 2_000;
    assert.deepEqual(await answers.explain(running('u2')), NO_POD);
    clock.now = 4_000;
    assert.deepEqual(await answers.explain(running('u3')), NO_POD);
    assert.equal(calls(), 3);
  });

  test('the pods of a Job with a failed attempt are read at once, also when they had no message before', async () => {
    const { answers, clock, calls, api } = counted();
    assert.deepEqual(await answers.explain(running('u1')), NO_POD);
    clock.now = 10_000;
    await answers.explain(running('u2'));
    const first = pod('2026-01-01T00:00:00Z', terminated(1, 'app-operator: First: x'));
    api.pods = [first];
    assert.deepEqual(await answers.explain(running('u1', 1)), { why: 'First: x' });
    api.pods = [first, pod('2026-01-01T00:01:00Z', terminated(1, 'app-operator: Second: y'))];
    assert.deepEqual(
      await answers.explain(running('u1', 1)),
      { why: 'First: x' },
      'the same failure',
    );
    assert.deepEqual(await answers.explain(running('u1', 2)), { why: 'Second: y' });
    assert.equal(calls(), 4);
  });

  test('a resource whose question was put off is reconciled soon, and otherwise after a minute', async () => {
    const { answers, clock, api } = counted();
    api.pods = [pod('2026-01-01T00:00:00Z')];
    const plan = aPlan([[{ kind: 'Job', name: 's-init' }]]);
    const healthChecker = new HealthChecker({
      children: { get: () => running('u1') } as unknown as ChildCache,
      podDiagnostics: answers,
      probes: undefined,
      now: () => clock.now,
    });
    const memory = { pendingSince: 0 } as ReconcileState;
    clock.now = 8_000;
    await answers.explain(running('u2'));
    await healthChecker.pending(plan, memory);
    assert.equal(healthChecker.untilDiagnosis(memory), 2_000);
    clock.now = 10_000;
    await healthChecker.pending(plan, memory);
    assert.equal(healthChecker.untilDiagnosis(memory), 60_000);
  });

  test('the cause of a refused pod is looked for until its event is there', async () => {
    const clock = { now: 0 };
    const events: object[] = [];
    const client = {
      request: <T>(_: string, path: string): Promise<T> =>
        Promise.resolve({
          ...{ apiVersion: 'v1', kind: 'List', metadata: {} },
          items: path.includes('/events') ? events : [],
        } as T),
    };
    const answers = new PodDiagnostics({ client, now: () => clock.now });
    assert.deepEqual(await answers.explain(running('u1')), NO_POD);
    const note = (name: string): string =>
      `(combined from similar events): Error creating: Pod "${name}" is invalid: the webhook refuses ns/${name}.`;
    events.push({ metadata: { name: 'e' }, note: note('s-init-7qdhh') });
    clock.now = 5_000;
    const why = 'its pod is refused: invalid: the webhook refuses ns/s-init.';
    assert.deepEqual(await answers.explain(running('u1')), { why });
    events[0] = { metadata: { name: 'e' }, note: note('s-init-x2b9z') };
    clock.now = 40_000;
    assert.deepEqual(await answers.explain(running('u1')), { why }, 'another attempt');
  });

  test('without a pod, the last event names what refuses it, without the name that changes', async () => {
    const answers: unknown[] = [];
    const refusal = (note: string, lastObservedTime: string): object => ({
      metadata: { name: 'e' },
      note,
      series: { lastObservedTime },
    });
    const events = [
      refusal(
        'Error creating: pods "s-init-2-x8k2p" is forbidden: exceeded quota: small',
        '2026-01-02T00:00:00.000000Z',
      ),
      refusal('Error creating: Timeout', '2026-01-01T00:00:00.000000Z'),
    ];
    const client = {
      request: <T>(_: string, path: string, options?: object): Promise<T> => {
        const ofEvents = path === '/apis/events.k8s.io/v1/namespaces/ns/events';
        if (ofEvents) answers.push(options);
        const list = { apiVersion: 'v1', kind: 'List', metadata: {} };
        return Promise.resolve({ ...list, items: ofEvents ? events : [] } as T);
      },
    };
    assert.equal(
      (await new PodDiagnostics({ client, now: () => 0 }).explain(FAILED)).why,
      'its pod is refused: forbidden: exceeded quota: small',
    );
    assert.deepEqual(answers, [
      { query: { fieldSelector: 'regarding.uid=u1,reason=FailedCreate', limit: '20' } },
    ]);
  });

  /** An API server with one pod that waits for the claim `demo-sites`. */
  function waitingForClaim(claim: object, events: readonly object[]) {
    const volumes = [
      { name: 'scripts', configMap: { name: 'x' } },
      { name: 'sites', persistentVolumeClaim: { claimName: 'demo-sites' } },
    ];
    const unscheduled = [
      { type: 'PodScheduled', status: 'False', message: 'unbound immediate claims' },
    ];
    const { metadata } = pod('2026-01-01T00:00:00Z');
    const waitingPod = {
      metadata: { ...metadata, namespace: 'ns' },
      status: { phase: 'Pending', conditions: unscheduled },
      spec: { volumes },
    };
    const client = new PodApi([waitingPod], {
      '/api/v1/namespaces/ns/persistentvolumeclaims/demo-sites': {
        metadata: { name: 'demo-sites', namespace: 'ns', uid: 'c1' },
        ...claim,
      },
      '/apis/events.k8s.io/v1/namespaces/ns/events': { items: events },
    });
    return new PodDiagnostics({ client, now: () => 0 }).explain(running('u1'));
  }
  const refused = {
    metadata: { name: 'e', creationTimestamp: '2026-01-01T00:00:00Z' },
    reason: 'ProvisioningFailed',
    note: 'failed to provision volume with StorageClass "standard": NodePath only supports ReadWriteOnce and ReadWriteOncePod (1.22+) access modes',
  };

  test('a claim that the storage class refuses is named, with what to set', async () => {
    const claim = { spec: { accessModes: ['ReadWriteMany'] }, status: { phase: 'Pending' } };
    const provisioning = { ...refused, reason: 'Provisioning', note: 'provisioning' };
    const { why } = await waitingForClaim(claim, [provisioning, refused]);
    assert.equal(
      why,
      `volume claim demo-sites is Pending: ${refused.note}; without a storage class for ReadWriteMany, delete the bench and this claim, and create the bench with spec.storage.accessMode: ReadWriteOnce`,
    );
  });

  test('a claim of one node that is refused has no such advice', async () => {
    const claim = { spec: { accessModes: ['ReadWriteOnce'] }, status: { phase: 'Pending' } };
    const { why } = await waitingForClaim(claim, [{ ...refused, note: 'no space' }]);
    assert.equal(why, 'volume claim demo-sites is Pending: no space');
  });

  test('a bound claim, and one that nothing refuses, leave the word to the scheduler', async () => {
    const unschedulable = 'pod is unschedulable: unbound immediate claims';
    const bound = { spec: {}, status: { phase: 'Bound' } };
    assert.equal((await waitingForClaim(bound, [refused])).why, unschedulable);
    assert.equal((await waitingForClaim({ status: { phase: 'Pending' } }, [])).why, unschedulable);
  });

  test('the metadata of pods is listed, and the newest pods are read until one has a problem', async () => {
    const api = new PodApi([
      pod('2026-01-01T00:00:00Z', terminated(1, 'app-operator: Oldest: x')),
      pod('2026-01-02T00:00:00Z', terminated(1, 'app-operator: Older: x')),
      pod('2026-01-03T00:00:00Z', {}),
    ]);
    assert.equal(await whyOf(api), 'Older: x');
    assert.deepEqual(api.calls, [
      'LIST job-name=s-init 20 metadata',
      'GET s-init-2026-01-03T00:00:00Z',
      'GET s-init-2026-01-02T00:00:00Z',
    ]);
  });

  test('a pod of others with the label is ignored', async () => {
    const status = terminated(1, 'app-operator: Forged: x');
    const forged = pod('2026-01-02T00:00:00Z', status, controlledBy('Job', 's-init', 'u9'));
    const own = pod('2026-01-01T00:00:00Z', terminated(1, 'app-operator: Own: x'));
    assert.equal(await whyOf([forged, own]), 'Own: x');
    const { ownerReferences: _, ...without } = forged.metadata;
    assert.equal(await whyOf([{ ...forged, metadata: without }, own]), 'Own: x');
  });

  test('ten pods are read at most', async () => {
    const minutes = Array.from({ length: 60 }, (_, minute) => String(minute).padStart(2, '0'));
    const api = new PodApi(minutes.map((minute) => pod(`2026-01-01T00:${minute}:00Z`, {})));
    assert.equal(await whyOf(api), undefined);
    assert.equal(api.lists.length, 3);
    assert.equal(api.calls.length, 13);
  });

  test('pods of a Deployment belong to its ReplicaSets, those of a StatefulSet to itself', async () => {
    const metadata = { labels: { app: 'x-redis' } };
    const waits = waiting('ImagePullBackOff');
    const of = (kind: string, name: string, uid: string) =>
      pod('2026-01-01T00:00:00Z', waits, { ...metadata, ...controlledBy(kind, name, uid) });
    const deployment = { ...FAILED, kind: Deployment, name: 'x-redis' };
    const statefulSet = { ...deployment, kind: StatefulSet };
    const why = 'container init: ImagePullBackOff';
    assert.equal(await whyOf([of('ReplicaSet', 'x-redis-7d9', 'r1')], deployment), why);
    assert.equal(await whyOf([of('ReplicaSet', 'y-redis-7d9', 'r1')], deployment), undefined);
    assert.equal(await whyOf([of('StatefulSet', 'x-redis', 'u1')], deployment), undefined);
    assert.equal(await whyOf([of('StatefulSet', 'x-redis', 'u1')], statefulSet), why);
    assert.equal(await whyOf([of('StatefulSet', 'x-redis', 'u9')], statefulSet), undefined);
  });

  test('of thousands of claims of a pod, ten are read', async () => {
    const { metadata } = pod('2026-01-01T00:00:00Z');
    const volumes = Array.from({ length: 5000 }, (_, index) => ({
      persistentVolumeClaim: { claimName: `c${index}` },
    }));
    const api = new PodApi([
      { metadata, status: { phase: 'Pending' }, spec: { volumes } } as never,
    ]);
    const paths: string[] = [];
    const client = {
      request: <T>(...call: Parameters<PodApi['request']>): Promise<T> => {
        paths.push(call[1]);
        return api.request<T>(...call);
      },
    };
    await new PodDiagnostics({ client, now: () => 0 }).explain(FAILED);
    assert.equal(paths.filter((path) => path.includes('/persistentvolumeclaims/')).length, 10);
  });

  test('a question that fails is no answer', async () => {
    const client = { request: () => Promise.reject(new Error('403')) };
    const answers = await new PodDiagnostics({ client, now: () => 0 }).explain(FAILED);
    assert.deepEqual(answers, { why: undefined });
  });
});

/** The answer before a pod or an event is there. */
const NO_POD = { why: undefined, againMs: 5_000 };

/** A Job that runs, after so many failed attempts. */
function running(uid: string, failed = 0): Child {
  return { ...FAILED, uid, health: healthOf({ kind: 'Job', metadata: {}, status: { failed } }) };
}

/** A PodDiagnostics with a clock and pods that the test sets, and the number of its lists. */
function counted() {
  const clock = { now: 0 };
  const api = new PodApi();
  const answers = new PodDiagnostics({ client: api, now: () => clock.now });
  return { answers, clock, api, calls: () => api.lists.length };
}

/** Why a child with these pods is not ready. */
async function whyOf(
  pods: PodApi | ConstructorParameters<typeof PodApi>[0],
  child = FAILED,
): Promise<string | undefined> {
  const client = pods instanceof PodApi ? pods : new PodApi(pods);
  return (await new PodDiagnostics({ client, now: () => 0 }).explain(child)).why;
}

/** A pod of the failed Job, or with other labels or another owner. */
function pod(creationTimestamp: string, status: object = {}, metadata: Partial<ObjectMeta> = {}) {
  return {
    metadata: {
      name: `s-init-${creationTimestamp}`,
      labels: { 'job-name': 's-init' },
      creationTimestamp,
      ...controlledBy('Job', 's-init', 'u1'),
      ...metadata,
    },
    status,
  };
}

function terminated(exitCode: number, message?: string): object {
  return { containerStatuses: [{ name: 'init', state: { terminated: { exitCode, message } } }] };
}

function waiting(reason: string, message?: string): object {
  return { containerStatuses: [{ name: 'init', state: { waiting: { reason, message } } }] };
}
