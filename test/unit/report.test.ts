import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { ApiError, isInvalid } from '../../runner/api/api-error.js';
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

describe('the message of an API error', () => {
  const long = 'mysql-'.repeat(60_000);
  const MAX = 4 * 1024;
  const quoting = ApiError.ofStatus('PATCH /apis/x/status', {
    code: 500,
    message: `failed to create typed patch object: .status.assets.missing: duplicate entries for key [="${long}"]`,
    details: {
      causes: [
        { field: 'status.log', message: long },
        ...Array<object>(1_000).fill({ message: 'm' }),
      ],
    },
  });

  test('is cut, since it may quote a value of any length', () => {
    assert.ok(quoting.message.length < MAX + 40, `${quoting.message.length} characters`);
    assert.match(quoting.message, /^PATCH .*… \(\d+ more characters\)$/);
    assert.ok(String(quoting.stack).length < MAX + 4_096);
    const { causes = [] } = quoting.details;
    assert.equal(causes.length, 100);
    assert.ok(JSON.stringify(causes).length < 8_192);
    assert.equal(causes[0]?.field, 'status.log');
  });

  test('still says what kind of refusal it is', () => {
    assert.equal(isInvalid(quoting), true);
  });
});
