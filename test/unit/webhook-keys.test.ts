import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { describe, test } from 'node:test';

import { keysOf, newKeys, secretOf } from '../../runner/admission/webhook-objects.js';
import { issue, newAuthority } from '../../testbed/controlplane/certificate.js';

const DAY_MS = 24 * 3_600_000;
const NOW = Date.UTC(2030, 0, 1);
const HOSTS = ['app-operator-webhook-service.ops.svc', '127.0.0.1'];

const keys = newKeys(HOSTS, NOW);
const secret = secretOf(keys, 'ops', undefined);

test('new keys are for the Service and for this machine, and trusted by themselves', () => {
  const certificate = new X509Certificate(keys.cert);
  assert.equal(certificate.subjectAltName, `DNS:${HOSTS[0] ?? ''}, IP Address:${HOSTS[1] ?? ''}`);
  assert.equal(keys.bundle, keys.cert);
});

describe('stored keys', () => {
  test('are used as they are, until a third of their life is left', () => {
    assert.equal(secret.type, 'kubernetes.io/tls');
    assert.deepEqual(keysOf(secret, HOSTS, NOW), keys);
    assert.deepEqual(keysOf(secret, HOSTS, NOW + 240 * DAY_MS), keys);
    assert.equal(keysOf(secret, HOSTS, NOW + 250 * DAY_MS), undefined);
  });

  test('are not used where something is missing, corrupted or of other keys', () => {
    const other = secretOf(newKeys(HOSTS, NOW), 'ops', undefined).data ?? {};
    for (const key of Object.keys(secret.data ?? {})) {
      for (const value of [undefined, '', btoa('nonsense'), other[key]]) {
        const data = { ...secret.data, [key]: value } as Record<string, string>;
        assert.equal(keysOf({ ...secret, data }, HOSTS, NOW), undefined, `${key}: ${value}`);
      }
    }
    assert.equal(keysOf(undefined, HOSTS, NOW), undefined);
  });

  test('are not used for other hosts', () => {
    assert.equal(keysOf(secret, ['app-operator-webhook-service.other.svc'], NOW), undefined);
  });

  test('of an authority, as release 0.2.0 wrote them, are used: replicas of both releases agree', () => {
    const authority = newAuthority('ca');
    const validity = { notBefore: new Date(NOW), notAfter: new Date(NOW + 90 * DAY_MS) };
    const signed = issue(authority, { commonName: 'x', hosts: HOSTS, validity });
    const old = {
      cert: signed.certificatePem,
      key: signed.keyPem,
      bundle: authority.certificatePem,
    };
    assert.deepEqual(keysOf(secretOf(old, 'ops', undefined), HOSTS, NOW), old);
  });
});
