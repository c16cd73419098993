import assert from 'node:assert/strict';
import { test } from 'node:test';
import { healthOf, refusedPod } from '../../constructs/kit/health.js';
import { condition, healthCases, withConditions } from './health-cases.js';

healthCases({ kind: 'HorizontalPodAutoscaler' }, [
  ['that no controller has observed', {}, 'InProgress', 'its controller has not observed it yet'],
  [
    'that scales',
    withConditions(condition('AbleToScale', 'True'), condition('ScalingActive', 'True')),
    'Ready',
    '',
  ],
  [
    'without metrics',
    withConditions(
      condition('AbleToScale', 'True'),
      condition('ScalingActive', 'False', 'FailedGetContainerResourceMetric', 'no metrics'),
    ),
    'InProgress',
    'FailedGetContainerResourceMetric: no metrics',
  ],
  [
    'whose Deployment cannot be scaled',
    withConditions(condition('AbleToScale', 'False', 'FailedGetScale', 'not found')),
    'InProgress',
    'FailedGetScale: not found',
  ],
]);

healthCases({ kind: 'Deployment' }, [
  ['that no controller has observed', {}, 'InProgress', '0 of 1 replicas available'],
  [
    'with 0 replicas that no controller has observed',
    { spec: { replicas: 0 } },
    'InProgress',
    '0 of 0 replicas available',
  ],
  ['with 0 replicas', { spec: { replicas: 0 }, status: { observedGeneration: 1 } }, 'Ready', ''],
  [
    'of an old generation',
    { status: { observedGeneration: 0, updatedReplicas: 1, availableReplicas: 1 } },
    'InProgress',
    'the latest change is not observed yet',
  ],
  [
    'that starts its new pods',
    { spec: { replicas: 3 }, status: { observedGeneration: 1, updatedReplicas: 1 } },
    'InProgress',
    '1 of 3 replicas updated',
  ],
  [
    'whose pods are refused',
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
    'with all replicas, and an old refusal',
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
    'whose old pods still run',
    {
      spec: { replicas: 1 },
      status: { observedGeneration: 1, replicas: 2, updatedReplicas: 1, availableReplicas: 2 },
    },
    'InProgress',
    'old replicas are terminating',
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
    'with all replicas',
    {
      spec: { replicas: 2 },
      status: { observedGeneration: 1, replicas: 2, updatedReplicas: 2, availableReplicas: 2 },
    },
    'Ready',
    '',
  ],
  [
    'without a number of replicas, with one',
    { status: { observedGeneration: 1, replicas: 1, updatedReplicas: 1, availableReplicas: 1 } },
    'Ready',
    '',
  ],
  [
    'that makes no progress',
    withConditions(condition('Progressing', 'False', 'ProgressDeadlineExceeded')),
    'Failed',
    'the rollout makes no progress',
  ],
]);

healthCases({ kind: 'StatefulSet' }, [
  ['that no controller has observed', {}, 'InProgress', '0 of 1 replicas available'],
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
    'with all replicas',
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

healthCases({ kind: 'Job' }, [
  ['without a status', {}, 'InProgress', 'running'],
  ['that runs', { status: {} }, 'InProgress', 'running'],
  ['that tries again', { status: { failed: 2 } }, 'InProgress', 'running, after 2 failed attempts'],
  [
    'that tries again once',
    { status: { failed: 1 } },
    'InProgress',
    'running, after 1 failed attempt',
  ],
  ['that is complete', withConditions(condition('Complete', 'True')), 'Ready', ''],
  [
    'that was complete after failures',
    { status: { failed: 1, conditions: [condition('Complete', 'True')] } },
    'Ready',
    '',
  ],
  [
    'that has failed',
    withConditions(condition('Failed', 'True', 'BackoffLimitExceeded', 'too many attempts')),
    'Failed',
    'too many attempts',
  ],
  [
    'that is about to fail',
    withConditions(condition('FailureTarget', 'True', 'DeadlineExceeded')),
    'Failed',
    'took longer than its limit of time',
  ],
  [
    'that took too long, with the field that gives it more time',
    {
      ...withConditions(condition('Failed', 'True', 'DeadlineExceeded', 'was active longer')),
      metadata: { annotations: { 'example.com/timeout-field': 'spec.timeout' } },
      spec: { activeDeadlineSeconds: 60 },
    },
    'Failed',
    'took longer than its limit of 60 seconds; spec.timeout sets it',
  ],
  [
    'whose failure does not hold',
    withConditions(condition('Failed', 'False')),
    'InProgress',
    'running',
  ],
]);

healthCases({ kind: 'PersistentVolumeClaim' }, [
  ['that waits for its first pod', { status: { phase: 'Pending' } }, 'Ready', ''],
  ['that is bound', { status: { phase: 'Bound' } }, 'Ready', ''],
  ['whose volume is lost', { status: { phase: 'Lost' } }, 'Failed', 'its volume is lost'],
]);

for (const kind of [
  'Service',
  'Secret',
  'ConfigMap',
  'Ingress',
  'NetworkPolicy',
  'PodDisruptionBudget',
]) {
  healthCases({ kind }, [['without a status', {}, 'Ready', '']]);
}

healthCases({ kind: 'kind without a rule' }, [
  [
    'that has stalled',
    withConditions(
      condition('Stalled', 'True', 'Broken', 'repair it'),
      condition('Ready', 'False'),
    ),
    'Failed',
    'repair it',
  ],
  ['that is no longer stalled', withConditions(condition('Stalled', 'False')), 'Ready', ''],
]);

test('an object that is being deleted is not ready, with any status', () => {
  const object = {
    kind: 'Job',
    metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' },
    ...withConditions(condition('Complete', 'True')),
  };
  assert.deepEqual(healthOf(object), { state: 'Terminating', message: 'is being deleted' });
});

for (const create of ['create', 'Create']) {
  test(`a refused pod of a StatefulSet has no name: "${create}", as controllers of two releases say`, () => {
    const message = `${create} Pod db-0 in StatefulSet db failed error: pods "db-0" is forbidden: exceeded quota: small`;
    assert.equal(
      refusedPod(message, 'demo'),
      'its pod is refused: forbidden: exceeded quota: small',
    );
  });
}
