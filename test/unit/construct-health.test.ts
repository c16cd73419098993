import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { healthOf } from '../../constructs/kit/health.js';

type Observable = Parameters<typeof healthOf>[0];
type Case = readonly [
  reason: string,
  object: Omit<Observable, 'kind' | 'metadata'>,
  state: string,
  message: string,
];

const condition = (type: string, status: string, reason?: string, message?: string) => ({
  type,
  status,
  ...(reason === undefined ? {} : { reason }),
  ...(message === undefined ? {} : { message }),
});
const of = (...conditions: ReturnType<typeof condition>[]) => ({ status: { conditions } });

function evaluated(kind: string, cases: readonly Case[]): void {
  suite(`a ${kind}`, () => {
    for (const [reason, rest, state, message] of cases) {
      test(`${reason}: ${state}`, () => {
        const object = { kind, metadata: { generation: 1 }, ...rest };
        const health = healthOf(object);
        assert.deepEqual({ state: health.state, message: health.message }, { state, message });
      });
    }
  });
}

evaluated('Deployment', [
  ['that nobody has looked at', {}, 'InProgress', '0 of 1 replicas available'],
  [
    'with 0 replicas that nobody has looked at',
    { spec: { replicas: 0 } },
    'InProgress',
    '0 of 0 replicas available',
  ],
  ['with 0 replicas', { spec: { replicas: 0 }, status: { observedGeneration: 1 } }, 'Ready', ''],
  [
    'of an old generation',
    { status: { observedGeneration: 0, updatedReplicas: 1, availableReplicas: 1 } },
    'InProgress',
    'the change has not been seen yet',
  ],
  [
    'that starts its new pods',
    { spec: { replicas: 3 }, status: { observedGeneration: 1, updatedReplicas: 1 } },
    'InProgress',
    '1 of 3 replicas updated',
  ],
  [
    'whose pods nobody may make',
    {
      spec: { replicas: 1 },
      status: {
        observedGeneration: 1,
        conditions: [
          condition(
            'ReplicaFailure',
            'True',
            'FailedCreate',
            'pods "web-6b7d-lx2p8" is forbidden: exceeded quota: small',
          ),
        ],
      },
    },
    'InProgress',
    '0 of 1 replicas updated: its pod is refused: forbidden: exceeded quota: small',
  ],
  [
    'that has all it wants in spite of an old refusal',
    {
      spec: { replicas: 1 },
      status: {
        observedGeneration: 1,
        replicas: 1,
        updatedReplicas: 1,
        availableReplicas: 1,
        conditions: [condition('ReplicaFailure', 'True', 'FailedCreate', 'x')],
      },
    },
    'Ready',
    '',
  ],
  [
    'whose old pods are still there',
    {
      spec: { replicas: 1 },
      status: { observedGeneration: 1, replicas: 2, updatedReplicas: 1, availableReplicas: 2 },
    },
    'InProgress',
    'old replicas are going',
  ],
  [
    'whose pods are not available',
    {
      spec: { replicas: 2 },
      status: { observedGeneration: 1, replicas: 2, updatedReplicas: 2, availableReplicas: 1 },
    },
    'InProgress',
    '1 of 2 replicas available',
  ],
  [
    'with all it wants',
    {
      spec: { replicas: 2 },
      status: { observedGeneration: 1, replicas: 2, updatedReplicas: 2, availableReplicas: 2 },
    },
    'Ready',
    '',
  ],
  [
    'without a number wants one',
    { status: { observedGeneration: 1, replicas: 1, updatedReplicas: 1, availableReplicas: 1 } },
    'Ready',
    '',
  ],
  [
    'that makes no progress',
    of(condition('Progressing', 'False', 'ProgressDeadlineExceeded')),
    'Failed',
    'the rollout makes no progress',
  ],
]);

evaluated('StatefulSet', [
  ['that nobody has looked at', {}, 'InProgress', '0 of 1 replicas available'],
  [
    'whose pod is not ready',
    { status: { observedGeneration: 1, readyReplicas: 0 } },
    'InProgress',
    '0 of 1 replicas available',
  ],
  [
    'whose pod is of an old revision',
    {
      status: {
        observedGeneration: 1,
        readyReplicas: 1,
        updatedReplicas: 0,
        currentRevision: 'a',
        updateRevision: 'b',
      },
    },
    'InProgress',
    '0 of 1 replicas updated',
  ],
  [
    'with all it wants',
    {
      status: {
        observedGeneration: 1,
        readyReplicas: 1,
        updatedReplicas: 1,
        currentRevision: 'b',
        updateRevision: 'b',
      },
    },
    'Ready',
    '',
  ],
]);

evaluated('Job', [
  ['that has not begun', {}, 'InProgress', 'running'],
  ['that runs', { status: {} }, 'InProgress', 'running'],
  ['that tries again', { status: { failed: 2 } }, 'InProgress', 'running, after 2 failed attempts'],
  ['that is complete', of(condition('Complete', 'True')), 'Ready', ''],
  [
    'that was complete after failures',
    { status: { failed: 1, conditions: [condition('Complete', 'True')] } },
    'Ready',
    '',
  ],
  [
    'that has failed',
    of(condition('Failed', 'True', 'BackoffLimitExceeded', 'too many attempts')),
    'Failed',
    'too many attempts',
  ],
  [
    'that is about to fail',
    of(condition('FailureTarget', 'True', 'DeadlineExceeded')),
    'Failed',
    'DeadlineExceeded',
  ],
  ['whose failure does not hold', of(condition('Failed', 'False')), 'InProgress', 'running'],
]);

evaluated('PersistentVolumeClaim', [
  ['that waits for its first pod', { status: { phase: 'Pending' } }, 'Ready', ''],
  ['that is bound', { status: { phase: 'Bound' } }, 'Ready', ''],
  ['whose volume is gone', { status: { phase: 'Lost' } }, 'Failed', 'its volume is lost'],
]);

evaluated('Certificate', [
  [
    'whose issuing has failed',
    of(
      condition('Ready', 'False', 'DoesNotExist', 'Issuing certificate as Secret does not exist'),
      condition(
        'Issuing',
        'False',
        'Failed',
        'The certificate request has failed: order is invalid',
      ),
    ),
    'InProgress',
    'The certificate request has failed: order is invalid',
  ],
  [
    'that is renewed in vain, and still good',
    of(condition('Ready', 'True'), condition('Issuing', 'False', 'Failed', 'rate limited')),
    'Ready',
    '',
  ],
]);

for (const kind of ['Database', 'DatabaseRole']) {
  evaluated(kind, [
    [
      'that CloudNativePG has applied',
      { status: { observedGeneration: 1, applied: true } },
      'Ready',
      '',
    ],
    [
      'that it cannot apply',
      { status: { applied: false, message: 'role "s" does not exist' } },
      'InProgress',
      'role "s" does not exist',
    ],
    [
      'whose change it cannot apply',
      { status: { observedGeneration: 0, applied: false, message: 'permission denied' } },
      'InProgress',
      'permission denied',
    ],
    [
      'whose change it has not seen',
      { status: { observedGeneration: 0, applied: true } },
      'InProgress',
      'the change has not been seen yet',
    ],
    [
      'of a replica cluster',
      { status: { observedGeneration: 1, message: 'waiting for the cluster to become primary' } },
      'InProgress',
      'waiting for the cluster to become primary',
    ],
  ]);
}

for (const kind of ['ScaledObject', 'Certificate', 'Database', 'User', 'Grant', 'DatabaseRole']) {
  evaluated(kind, [
    ['that its operator has not seen', {}, 'InProgress', 'its operator has not looked at it yet'],
    [
      'that is not ready',
      of(condition('Ready', 'False', 'Pending', 'waiting for the server')),
      'InProgress',
      'waiting for the server',
    ],
    ['that says no more', of(condition('Ready', 'Unknown')), 'InProgress', 'not ready'],
    ['that is ready', of(condition('Ready', 'True')), 'Ready', ''],
  ]);
}

for (const kind of [
  'Service',
  'Secret',
  'ConfigMap',
  'Ingress',
  'NetworkPolicy',
  'PodDisruptionBudget',
  'TriggerAuthentication',
]) {
  evaluated(kind, [['is there or not', {}, 'Ready', '']]);
}

evaluated('kind of anybody', [
  [
    'that has stalled',
    of(condition('Stalled', 'True', 'Broken', 'mend it'), condition('Ready', 'False')),
    'Failed',
    'mend it',
  ],
  ['that is no longer stalled', of(condition('Stalled', 'False')), 'Ready', ''],
]);

test('what is being deleted is not ready, whatever its status says', () => {
  const object = {
    kind: 'Job',
    metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' },
    ...of(condition('Complete', 'True')),
  };
  assert.deepEqual(healthOf(object), { state: 'Terminating', message: 'is being deleted' });
});
