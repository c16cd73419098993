import { Certificate } from '../../constructs/integrations/cert-manager/kinds.js';
import {
  PostgresDatabase,
  PostgresRole,
} from '../../constructs/integrations/cloudnative-pg/kinds.js';
import { ScaledObject, TriggerAuthentication } from '../../constructs/integrations/keda/kinds.js';
import {
  MariaDbDatabase,
  MariaDbGrant,
  MariaDbUser,
} from '../../constructs/integrations/mariadb-operator/kinds.js';
import { Route } from '../../constructs/integrations/openshift/kinds.js';
import { condition, healthCases, withConditions } from './health-cases.js';

healthCases(Certificate, [
  [
    'whose issuing has failed',
    withConditions(
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
    'whose renewal failed, and that is still valid',
    withConditions(
      condition('Ready', 'True'),
      condition('Issuing', 'False', 'Failed', 'rate limited'),
    ),
    'Ready',
    '',
  ],
]);

for (const kind of [PostgresDatabase, PostgresRole]) {
  healthCases(kind, [
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
      'whose change it has not observed',
      { status: { observedGeneration: 0, applied: true } },
      'InProgress',
      'the latest change is not observed yet',
    ],
    [
      'of a replica cluster',
      { status: { observedGeneration: 1, message: 'waiting for the cluster to become primary' } },
      'InProgress',
      'waiting for the cluster to become primary',
    ],
  ]);
}

for (const kind of [
  ScaledObject,
  Certificate,
  MariaDbDatabase,
  MariaDbUser,
  MariaDbGrant,
  PostgresDatabase,
  PostgresRole,
]) {
  healthCases(kind, [
    [
      'that its operator has not observed',
      {},
      'InProgress',
      'its operator has not observed it yet',
    ],
    [
      'that is not ready',
      withConditions(condition('Ready', 'False', 'Pending', 'waiting for the server')),
      'InProgress',
      'waiting for the server',
    ],
    [
      'with a condition without a message',
      withConditions(condition('Ready', 'Unknown')),
      'InProgress',
      'not ready',
    ],
    ['that is ready', withConditions(condition('Ready', 'True')), 'Ready', ''],
  ]);
}

healthCases(TriggerAuthentication, [['without a status', {}, 'Ready', '']]);

healthCases(ScaledObject, [
  [
    'that is paused',
    withConditions(condition('Ready', 'True'), condition('Paused', 'True')),
    'InProgress',
    'is paused by an annotation',
  ],
  [
    'whose queue KEDA cannot read',
    withConditions(condition('Ready', 'True'), condition('Fallback', 'True')),
    'InProgress',
    'KEDA cannot read the queue and applies the fallback',
  ],
]);

healthCases(Route, [
  ['that no router has admitted yet', {}, 'Ready', ''],
  [
    'that a router refuses',
    {
      status: { ingress: [{ conditions: [condition('Admitted', 'False', 'HostAlreadyClaimed')] }] },
    },
    'Failed',
    'HostAlreadyClaimed',
  ],
]);
