import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { describe, test } from 'node:test';
import { parseAllDocuments } from 'yaml';

import { outlineOf, Redaction } from '../../cli/commands/report/redaction.js';
import { createLogger } from '../../runner/telemetry/log.js';
import { redact, redactText } from '../../runner/telemetry/redact.js';
import { ROOT } from '../golden/docs.js';
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
  const LINES: readonly (readonly [string, string])[] = [
    ['password=hunter2', 'password=[redacted]'],
    ['db_password: hunter2, host: db', 'db_password: [redacted], host: db'],
    ['{"api_key": "abc def", "n": 1}', '{"api_key": [redacted], "n": 1}'],
    ['{\\"token\\":\\"abc\\"}', '{\\"token\\":\\[redacted]}'],
    ['{"password":"ab\\"cdefg","n":"1"}', '{"password":[redacted],"n":"1"}'],
    ['{"password":"ab\\"mysql://u:hunter2@h"}', '{"password":[redacted]}'],
    ['password="[redacted]" x', 'password="[redacted]" x'],
    ["{'password': 'ab\\'cd', 'n': 1}", "{'password': [redacted], 'n': 1}"],
    ["password: 'it''s'", 'password: [redacted]'],
    ['"{\\"token\\":\\"ab\\\\\\"cd\\",\\"n\\":1}"', '"{\\"token\\":\\[redacted],\\"n\\":1}"'],
    ['"{\\"token\\":\\"ab\\\\\\\\\\",\\"n\\":1}"', '"{\\"token\\":\\[redacted],\\"n\\":1}"'],
    ['the password "": none', 'the password "": none'],
    ['cut off: {"password":"ab cd', 'cut off: {"password":[redacted]'],
    ['the "password:"', 'the "password:"'],
    ['bench new-site --admin-password abc x', 'bench new-site --admin-password [redacted] x'],
    ['MYSQL_PWD=x PGPASSWORD=abc psql', 'MYSQL_PWD=[redacted] PGPASSWORD=[redacted] psql'],
    ['REDISCLI_AUTH=abc redis-cli', 'REDISCLI_AUTH=[redacted] redis-cli'],
    ['{"args":["--admin-password","abc"]}', '{"args":["--admin-password",[redacted]]}'],
    ['- --admin-password\n- abc', '- --admin-password\n- [redacted]'],
    ['PWD=/home/frappe', 'PWD=/home/frappe'],
    ['Authorization: Bearer abcdefgh', 'Authorization: [redacted] [redacted]'],
    ['mysql://root:hunter2@db:3306', 'mysql://root:[redacted]@db:3306'],
    ['mysql -phunter2 shop', 'mysql -p[redacted] shop'],
    ['mysqldump -phunter2 shop', 'mysqldump -p[redacted] shop'],
    ['shop-mysql-0: mysql -h db -phunter2', 'shop-mysql-0: mysql -h db -p[redacted]'],
    ['my-mariadb-client  -u root -phunter2', 'my-mariadb-client  -u root -p[redacted]'],
    ['x-sk-abcdefghijklmnopqrst0', 'x-[redacted]'],
    ['x-eyJhbGciOi.eyJzdWIiOi.abc', 'x-[redacted]'],
    ['the password is wrong', 'the password is wrong'],
    ['passwordless: true', 'passwordless: true'],
  ];
  for (const [line, clean] of LINES) {
    test(`of ${line}`, () => {
      assert.equal(new Redaction().text(line), clean);
    });
  }

  // A log may be one long line, and Ctrl-C waits for its redaction.
  const LONG: readonly (readonly [string, string, string])[] = [
    ['hex', '0123456789abcdef'.repeat(62_500), '0123456789abcdef'],
    ['a secret word over and over', 'token'.repeat(200_000), 'tokentoken'],
    ['dashes', '-'.repeat(1_000_000), '-----'],
    ['a flag and empty lines', `--token${'\n'.repeat(1_000_000)}`, '--token'],
    ['quotes that do not end', 'token=\\"'.repeat(120_000), 'token=\\[redacted]'],
    ['quotes that do not end in quotes', `token="${'a token=\\"'.repeat(90_000)}"`, 'token=[red'],
    ['begins of keys', '-----BEGIN PRIVATE KEY-----!'.repeat(36_000), '[redacted]!'],
    ['commands', `${'mysql redis-cli curl set-config '.repeat(31_000)};`, 'mysql '],
    ['flags of a command', `set-config${' --set-config'.repeat(80_000)};`, 'set-config --'],
    ['addresses', 'a:a://a:a?key'.repeat(77_000), 'a:a://a:a?key'],
    ['base64', 'eyJhbGciOi/+A1b2'.repeat(62_500), 'eyJhbGciOi'],
    ['prose', 'password for x is token pin '.repeat(36_000), 'password for'],
    ['names of a database client', 'mysql-'.repeat(166_000), 'mysql-mysql-'],
    ['words that are names of a database client', 'mysql '.repeat(166_000), 'mysql mysql'],
    ['database clients and dashes', 'mariadb -'.repeat(111_000), 'mariadb -mariadb'],
    ['database clients and tabs', 'mysql\t'.repeat(166_000), 'mysql\tmysql'],
    ['a database client and spaces', `mysql${' '.repeat(1_000_000)}`, 'mysql  '],
    ['begins of JSON Web Tokens', 'eyJ-'.repeat(250_000), 'eyJ-eyJ-'],
    ['begins of keys in a word', 'sk-'.repeat(333_000), 'sk-sk-'],
    ['marks after a password', `password ${'!'.repeat(1_000_000)}a`, 'password !!'],
    ['spaces after a secret word', `token${' '.repeat(1_000_000)}`, 'token  '],
  ];
  for (const [what, line, begins] of LONG) {
    test(`is linear in a long line of ${what}`, () => {
      const clean = new Redaction().text(`${line} x password=hunter2`);
      assert.ok(clean.startsWith(begins), clean.slice(0, 80));
      assert.ok(clean.endsWith('password=[redacted]'), clean.slice(-80));
    });
  }

  test('is linear in a long argument', () => {
    const args = ['--' + 'token'.repeat(200_000) + '!', 'abc'];
    assert.deepEqual(new Redaction().object({ args }), { args });
  });

  test('redacts the value after a name of any length', () => {
    const name = `${'a'.repeat(100)}_token_${'b'.repeat(100)}`;
    const redaction = new Redaction();
    assert.equal(redaction.text(`a.${name}=abc`), `a.${name}=[redacted]`);
    assert.equal(redaction.text(`x --${name} abc`), `x --${name} [redacted]`);
  });

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

  test('redacts the environment variables of database clients', () => {
    const env = ['MYSQL_PWD', 'PGPASSWORD', 'REDISCLI_AUTH'].map((name) => ({ name, value: 'x' }));
    assert.deepEqual(new Redaction().object({ env }), {
      env: env.map(({ name }) => ({ name, value: '[redacted]' })),
    });
  });

  test('redacts the values of secret keys, also in a list', () => {
    const settings = {
      secret_key: 'abc',
      aws_secret_access_key: 'abc',
      smtp_pwd: 'abc',
      token2: 'abc',
      passwords: ['abc', ['def'], 7],
      'example.com/token-of-ci': 'abc',
    };
    const redaction = new Redaction();
    assert.deepEqual(redaction.object({ settings }), {
      settings: {
        secret_key: '[redacted]',
        aws_secret_access_key: '[redacted]',
        smtp_pwd: '[redacted]',
        token2: '[redacted]',
        passwords: ['[redacted]', ['[redacted]'], 7],
        'example.com/token-of-ci': '[redacted]',
      },
    });
    assert.ok(redaction.count >= 4);
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
      tokenHint: '',
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

  test('redacts the argument after a secret flag', () => {
    const redaction = new Redaction();
    const args = ['new-site', '--admin-password', 'abc', '--db-host', 'db', '--no-token'];
    assert.deepEqual(redaction.object({ args }), {
      args: ['new-site', '--admin-password', '[redacted]', '--db-host', 'db', '--no-token'],
    });
    assert.equal(redaction.count, 1);
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

  test('24 of them', () => assert.equal(PLANTED.length, 24));

  test('also as separate arguments', () => {
    const args = ['bench', '--site', 's', 'set-config', '-g', 'mail_login', 'planted', 'more'];
    const clean = [...args.slice(0, 6), '[redacted]', 'more'];
    assert.deepEqual(new Redaction().object({ args }), { args: clean });
    assert.deepEqual(redact({ args }), { args: clean });
    const kept = ['bench', 'set-config', 'maintenance_mode', '1', 'set-config'];
    assert.deepEqual(redact({ kept }), { kept });
  });

  test('also as a number, or cut off', () => {
    assert.deepEqual(redact({ pin: 4711, port: 4711, tokenExpirationSeconds: 3600 }), {
      pin: '[redacted]',
      port: 4711,
      tokenExpirationSeconds: 3600,
    });
    const [{ text: key } = { text: '' }] = PLANTED;
    for (const half of [key.slice(0, 90), key.slice(40)])
      assert.match(redactText(half), /^\[redacted\]$/, half);
  });
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
