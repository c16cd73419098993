import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { describe, test } from 'node:test';

import {
  areUsable,
  keysFor,
  rotated,
  type WebhookKeys,
} from '../../runner/admission/certificate-rotation.js';
import { keysOf, secretOf } from '../../runner/admission/webhook-objects.js';

const DAY_MS = 24 * 3_600_000;
const START = Date.UTC(2030, 0, 1);
const HOSTS = ['app-operator-webhook-service.ops.svc', '127.0.0.1'];

const authorities = ({ bundle }: WebhookKeys): readonly X509Certificate[] =>
  bundle
    .split(/(?<=-----END CERTIFICATE-----\n)/)
    .map((certificate) => new X509Certificate(certificate));
const server = ({ cert }: WebhookKeys): X509Certificate => new X509Certificate(cert);
const isTrusted = (keys: WebhookKeys, bundle: WebhookKeys): boolean =>
  authorities(bundle).some((each) => server(keys).verify(each.publicKey));
const at = (keys: WebhookKeys | undefined, days: number, settled = true): WebhookKeys =>
  keysFor(keys, { hosts: HOSTS, now: START + days * DAY_MS, settled });

describe('new keys', () => {
  const keys = at(undefined, 0, false);

  test('fit together, and are for the Service and for this machine', () => {
    assert.ok(areUsable(keys, START));
    assert.equal(
      server(keys).subjectAltName,
      `DNS:${HOSTS[0] ?? ''}, IP Address:${HOSTS[1] ?? ''}`,
    );
    const [authority] = authorities(keys);
    assert.equal(authority?.ca, true);
    assert.equal(server(keys).ca, false);
  });

  test('stay as they are, settled or not', () => {
    assert.equal(at(keys, 1, true), keys);
    assert.equal(at(keys, 1, false), keys);
  });

  test('are the same after they were stored', () => {
    const secret = secretOf(keys, 'ops', undefined);
    assert.deepEqual(keysOf(secret, START), keys);
    assert.equal(secret.type, 'kubernetes.io/tls');
  });

  test('are no keys where something is missing, spoilt or over', () => {
    const secret = secretOf(keys, 'ops', undefined);
    for (const key of Object.keys(secret.data ?? {})) {
      for (const value of [undefined, '', btoa('nonsense')]) {
        const data = { ...secret.data, [key]: value } as Record<string, string>;
        assert.equal(keysOf({ ...secret, data }, START), undefined, `${key}: ${value}`);
      }
    }
    const other = at(undefined, 0);
    for (const field of ['bundle', 'authorityKey', 'cert', 'key'] as const) {
      assert.ok(!areUsable({ ...keys, [field]: other[field] }, START), field);
    }
    assert.ok(!areUsable(keys, START + 100 * DAY_MS));
  });
});

describe('over two years, with one check a day', () => {
  test('every certificate is trusted by callers whose bundle is a day older or newer', () => {
    let keys = at(undefined, 0);
    const seen = { authorities: new Set<string>(), certificates: new Set<string>() };
    for (let day = 1; day <= 730; day++) {
      const next = at(keys, day);
      assert.ok(areUsable(next, START + day * DAY_MS), `day ${day}`);
      assert.ok(isTrusted(next, keys), `day ${day}: the new certificate by the old bundle`);
      assert.ok(isTrusted(keys, next), `day ${day}: the old certificate by the new bundle`);
      assert.ok(authorities(next).length <= 3);
      keys = next;
      seen.authorities.add(authorities(keys)[0]?.fingerprint256 ?? '');
      seen.certificates.add(server(keys).fingerprint256);
    }
    assert.deepEqual([seen.authorities.size, seen.certificates.size], [3, 12]);
  });
});

describe('a new authority', () => {
  const old = at(undefined, 0);
  const keys = rotated(old, { now: START + DAY_MS });

  test('is announced first: the server continues with its certificate', () => {
    assert.equal(keys.cert, old.cert);
    assert.ok(keys.bundle.endsWith(old.bundle));
    assert.ok(areUsable(keys, START + DAY_MS));
    assert.equal(at(keys, 1, false), keys);
  });

  test('signs when callers trust it', () => {
    const next = at(keys, 1, true);
    assert.notEqual(next.cert, keys.cert);
    assert.equal(next.bundle, keys.bundle);
    assert.ok(server(next).verify(authorities(next)[0]?.publicKey ?? assert.fail()));
  });

  test('signs at the last moment, trusted or not', () => {
    assert.equal(at(keys, 88, false).cert, keys.cert);
    assert.notEqual(at(keys, 89.5, false).cert, keys.cert);
  });

  test('again and again does not lose the one whose certificate is served', () => {
    let many = old;
    for (let i = 0; i < 10; i++) many = rotated(many, { now: START + i });
    assert.ok(authorities(many).length <= 5);
    assert.ok(areUsable(many, START + DAY_MS));
  });
});

test('other names take another certificate', () => {
  const keys = at(undefined, 0);
  const hosts = ['app-operator-webhook-service.other.svc'];
  const next = keysFor(keys, { hosts, now: START, settled: false });
  assert.notEqual(next.cert, keys.cert);
  assert.equal(next.bundle, keys.bundle);
});
