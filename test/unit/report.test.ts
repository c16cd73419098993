import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { ApiError } from '../../runner/api/api-error.js';
import { reportOf } from '../../runner/reconcile/report.js';

describe('a refusal has the reason that its advice fits', () => {
  const CASES: readonly (readonly [string, number, string])[] = [
    [
      'Forbidden',
      403,
      'deployments.apps "b" is forbidden: User "operator" cannot patch resource "deployments"',
    ],
    ['QuotaExceeded', 403, 'jobs.batch "b-init" is forbidden: exceeded quota: few, used: jobs=1'],
    ['AdmissionDenied', 403, 'admission webhook "deny.example.com" denied the request: no'],
    ['AdmissionDenied', 400, 'admission webhook "deny.example.com" denied the request: no'],
    [
      'AdmissionDenied',
      403,
      'persistentvolumeclaims "b" is forbidden: maximum storage usage is 1Gi, but limit is 10Gi',
    ],
  ];
  for (const [reason, code, message] of CASES) {
    test(`${reason}: ${code} ${message}`, () => {
      const error = ApiError.ofStatus('PATCH /api/v1/x', { code, reason: 'Forbidden', message });
      const report = reportOf(error, 'Ready', 0);
      assert.equal(report?.statusResult.ready.reason, reason);
      assert.ok(report.statusResult.ready.message.includes(message), 'it shows who refuses');
    });
  }
});
