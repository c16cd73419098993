import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Job } from '../../constructs/kit/object-kind.js';
import type { Child } from '../../runner/cache/child.js';
import { Diagnostician } from '../../runner/reconcile/diagnose.js';

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
  seeded: undefined,
  run: 'r',
  health: { state: 'Failed', message: 'BackoffLimitExceeded' },
  replicas: undefined,
  job: undefined,
  unseenSince: undefined,
  failedAt: 0,
};

describe('what the pods of a child in trouble say', () => {
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
      'no node takes its pod: 0/3 nodes are available',
    ],
    ['nothing of a pod that is well', {}, undefined],
  ];
  for (const [what, status, expected] of cases) {
    test(what, async () => {
      assert.equal(
        await diagnostician([pod('2026-01-01T00:00:00Z', status)]).explain(FAILED),
        expected,
      );
    });
  }

  test('the youngest pod speaks first', async () => {
    const pods = [
      pod('2026-01-01T00:00:00Z', terminated(1, 'app-operator: Old: x')),
      pod('2026-01-02T00:00:00Z', terminated(1, 'app-operator: New: y')),
    ];
    assert.equal(await diagnostician(pods).explain(FAILED), 'New: y');
  });

  test('an answer is kept for half a minute, and slow children are asked one in two seconds', async () => {
    let calls = 0;
    let now = 0;
    const client = {
      request: <T>(): Promise<T> => {
        calls += 1;
        return Promise.resolve({ items: [pod('2026-01-01T00:00:00Z', {})] } as T);
      },
    };
    const asked = new Diagnostician({ client, now: () => now });
    await asked.explain(FAILED);
    await asked.explain(FAILED);
    assert.equal(calls, 1, 'the same failure');
    now = 1_000;
    const slow = { ...FAILED, uid: 'u2', health: { state: 'InProgress', message: '' } } as const;
    await asked.explain(slow);
    assert.equal(calls, 1, 'another child, too soon');
    now = 31_000;
    await asked.explain(FAILED);
    assert.equal(calls, 2, 'after half a minute');
  });

  test('without a pod, the last event says who refuses it, without the name that changes', async () => {
    const asked: unknown[] = [];
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
        if (ofEvents) asked.push(options);
        return Promise.resolve({ items: ofEvents ? events : [] } as T);
      },
    };
    assert.equal(
      await new Diagnostician({ client, now: () => 0 }).explain(FAILED),
      'its pod is refused: forbidden: exceeded quota: small',
    );
    assert.deepEqual(asked, [
      { query: { fieldSelector: 'regarding.uid=u1,reason=FailedCreate', limit: '20' } },
    ]);
  });

  test('a question that fails is no answer', async () => {
    const client = { request: () => Promise.reject(new Error('403')) };
    assert.equal(await new Diagnostician({ client, now: () => 0 }).explain(FAILED), undefined);
  });
});

function diagnostician(items: readonly object[]): Diagnostician {
  const client = { request: <T>(): Promise<T> => Promise.resolve({ items } as T) };
  return new Diagnostician({ client, now: () => 0 });
}

function pod(creationTimestamp: string, status: object): object {
  return { metadata: { name: 'p', creationTimestamp }, status };
}

function terminated(exitCode: number, message?: string): object {
  return { containerStatuses: [{ name: 'init', state: { terminated: { exitCode, message } } }] };
}

function waiting(reason: string, message?: string): object {
  return { containerStatuses: [{ name: 'init', state: { waiting: { reason, message } } }] };
}
