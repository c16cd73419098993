import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { describe, test } from 'node:test';
import { parseAllDocuments } from 'yaml';

import { outlineOf, Redaction } from '../../cli/commands/report/redaction.js';
import { createLogger } from '../../runner/telemetry/log.js';
import { redact, redactText } from '../../runner/telemetry/redact.js';
import { ROOT } from '../support/docs-tables.js';
import { scenarioNames } from '../golden/scenario.js';
import { HARMLESS, PLANTED } from '../support/planted-secrets.js';

const secret = (data: Readonly<Record<string, string>>) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 's', namespace: 'ns' },
  data: Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
  ),
});

describe('the redaction of a report', () => {
  // A log may be one long line, and Ctrl-C waits for its redaction.
  const LONG: readonly (readonly [string, string])[] = [
    ['hex', '0123456789abcdef'.repeat(62_500)],
    ['a secret word over and over', 'token'.repeat(200_000)],
    ['dashes', '-'.repeat(1_000_000)],
    ['addresses', 'a:a://a:a?key'.repeat(77_000)],
    ['schemes', '://'.repeat(333_000)],
    ['spaces after a secret word', `token${' '.repeat(1_000_000)}`],
    ['quotes that do not end', 'token=\\"'.repeat(120_000)],
  ];
  for (const [what, line] of LONG) {
    test(`is linear in a long line of ${what}`, () => {
      const started = performance.now();
      const clean = new Redaction().text(`${line} x password=hunter2`);
      assert.ok(clean.endsWith('password=[redacted]'), clean.slice(-80));
      assert.ok(performance.now() - started < 5_000);
    });
  }

  test('redacts the values of Secrets everywhere, in every encoding', () => {
    const value = 'p"q s/w+ord';
    const key = '-----BEGIN KEY-----\nMIIabcdefghij\nklmnopqrstuv\n-----END KEY-----\n';
    const redaction = new Redaction();
    redaction.learn([secret({ password: value, key, tiny: 'abc' })]);
    const base64 = Buffer.from(value).toString('base64');
    for (const form of [value, base64, JSON.stringify({ a: value }), encodeURIComponent(value)]) {
      const clean = redaction.text(`before ${form} after`);
      assert.match(clean, /before .*\[redacted\].* after/);
      assert.ok(!clean.includes(value) && !clean.includes(base64), clean);
    }
    assert.equal(redaction.text('line klmnopqrstuv of a key'), 'line [redacted] of a key');
    // Short values are ordinary words of logs.
    assert.equal(redaction.text('abc'), 'abc');
    assert.ok(redaction.count > 0);
  });

  test('redacts environment variables with secret names, and keeps references to Secrets', () => {
    const env = [
      { name: 'DB_PASSWORD', value: 'x1' },
      { name: 'HOST', value: 'db' },
      { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'db', key: 'password' } } },
    ];
    assert.deepEqual(new Redaction().object({ spec: { env } }), {
      spec: { env: [{ name: 'DB_PASSWORD', value: '[redacted]' }, env[1], env[2]] },
    });
  });

  test('redacts the values of secret keys, also in a list', () => {
    const settings = {
      secret_key: '',
      aws_secret_access_key: 'abc',
      smtp_pwd: 'abc',
      passwords: ['abc', ['def'], 7],
      'example.com/ci-token': 'abc',
    };
    const redaction = new Redaction();
    assert.deepEqual(redaction.object({ settings }), {
      settings: {
        secret_key: '',
        aws_secret_access_key: '[redacted]',
        smtp_pwd: '[redacted]',
        passwords: ['[redacted]', ['[redacted]'], 7],
        'example.com/ci-token': '[redacted]',
      },
    });
    assert.equal(redaction.count, 5);
  });

  test('keeps references to secrets, and flags', () => {
    const object = {
      tls: [{ secretName: 'shop-tls' }],
      imagePullSecrets: [{ name: 'registry' }],
      passwordSecretRef: { name: 'login', key: 'password' },
      secretNames: ['a', 'b'],
      secretNamespace: 'ns',
      metadata: { name: 'REDIS_PASSWORD', passwordFromEnv: 'REDIS_PASSWORD' },
      bearerTokenFile: '/var/run/secrets/token',
      passwordVersion: '17',
      automountServiceAccountToken: false,
      passwordless: 'true',
    };
    assert.deepEqual(new Redaction().object(object), object);
  });

  test('omits the manifest that kubectl keeps in an annotation', () => {
    const env = [{ name: 'DB_PASSWORD', value: 'x' }];
    const annotations = {
      'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify({ spec: { env } }),
      note: 'kept',
    };
    assert.deepEqual(new Redaction().object({ metadata: { name: 'a', annotations } }), {
      metadata: { name: 'a', annotations: { note: 'kept' } },
    });
  });

  test('keeps deeply nested objects', () => {
    const env = [
      { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'db', key: 'password' } } },
      { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
    ];
    const containers = [{ name: 'backup', image: 'bench:1', env }];
    const template = { spec: { containers } };
    const cronJob = {
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata: { name: 'backup', namespace: 'ns' },
      spec: { schedule: '0 3 * * *', jobTemplate: { spec: { template } } },
    };
    assert.deepEqual(new Redaction().object(cronJob), cronJob);
  });

  test('keeps the keys of a Secret, and the sizes of their values', () => {
    const outline = outlineOf(secret({ password: 'hunter2' }));
    assert.ok(!JSON.stringify(outline).includes('hunter2'));
    assert.deepEqual((outline as { bytes: unknown }).bytes, { password: 7 });
  });
});

describe('a planted secret is found in neither a report nor a log', () => {
  for (const { what, secret, text } of PLANTED) {
    test(what, () => {
      assert.ok(text.includes(secret), 'it is planted');
      const inObject = { metadata: { annotations: { note: text } }, list: [`x ${text}`, { text }] };
      const forms = [
        new Redaction().text(`before ${text} after`),
        new Redaction().text(JSON.stringify({ msg: text })),
        JSON.stringify(new Redaction().object(inObject)),
        JSON.stringify(redact(inObject)),
        logged(text),
      ];
      for (const form of forms) assert.ok(!form.includes(secret), form);
    });
  }
});

describe('stays readable in a report and in a log', () => {
  for (const text of HARMLESS) {
    test(text, () => {
      assert.equal(new Redaction().text(text), text);
      assert.equal(redactText(text), text);
      assert.equal(JSON.stringify(redact({ text: [text] })), JSON.stringify({ text: [text] }));
    });
  }

  test('each object and each status of the golden scenarios, except programs', () => {
    for (const [name, object] of scenarioNames().flatMap(documentsOf)) {
      assert.deepEqual(new Redaction().object(object), object, name);
    }
  });
});

/** The objects and the status of a scenario, without programs and without sources of passwords. */
function documentsOf(name: string): (readonly [string, unknown])[] {
  return ['objects', 'status']
    .map((file) => readFileSync(`${ROOT}test/golden/scenarios/${name}/${file}.yaml`, 'utf8'))
    .flatMap((text) => parseAllDocuments(text))
    .map((document) => [name, document.toJS()] as const)
    .filter(
      ([, object]) =>
        !/"(ConfigMap|DocumentRequest)"|app-operator.io\/generate|encryptionKey/.test(
          JSON.stringify(object),
        ),
    );
}

/** A line of the operator's log with this text as message of an error and as field. */
function logged(text: string): string {
  const stream = new PassThrough();
  const log = createLogger({ logLevel: 'info', logEncoder: 'json' }, stream);
  log.info('Failed', { detail: text, error: new Error(text) });
  return String(stream.read());
}
