import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, test } from 'node:test';

import type { LogEncoder, LogLevel } from '../../runner/config/operator-flags.js';
import { createLogger, type Logger } from '../../runner/telemetry/log.js';

/** What a logger wrote, line by line. */
function written(use: (log: Logger) => void, logEncoder: LogEncoder, logLevel: LogLevel): string[] {
  const stream = new PassThrough();
  use(createLogger({ logLevel, logEncoder }, stream));
  return String(stream.read() ?? '')
    .split('\n')
    .filter(Boolean);
}

function json(use: (log: Logger) => void, logLevel: LogLevel = 'info'): Record<string, unknown>[] {
  return written(use, 'json', logLevel).map((line) => JSON.parse(line) as Record<string, unknown>);
}

function only(use: (log: Logger) => void, logLevel?: LogLevel): Record<string, unknown> {
  const [line, ...more] = json(use, logLevel);
  assert.ok(line && more.length === 0);
  return line;
}

describe('a JSON line', () => {
  test('has the keys of zap and the fields of all loggers above', () => {
    const line = only((log) => {
      const child = log.child({ logger: 'reconciler', controller: 'AppSite' });
      child.child({ namespace: 'shop', name: 'web' }).info('Reconciled', { applied: 3 });
    });
    assert.match(String(line['ts']), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.deepEqual(line, {
      level: 'info',
      ts: line['ts'],
      logger: 'reconciler',
      msg: 'Reconciled',
      controller: 'AppSite',
      namespace: 'shop',
      name: 'web',
      applied: 3,
    });
  });

  test('cannot be forged by fields or line breaks', () => {
    const line = only((log) => {
      log.info('Real', { level: 'error', msg: 'Forged', ts: 'never', name: 'a\n{"msg":"Forged"}' });
    });
    assert.equal(line['level'], 'info');
    assert.equal(line['msg'], 'Real');
    assert.notEqual(line['ts'], 'never');
  });

  test('survives what JSON cannot hold', () => {
    const loop: Record<string, unknown> = { big: 10n, when: new Date(0) };
    loop['self'] = loop;
    const line = only((log) => {
      log.info('Odd', { loop });
    });
    assert.equal((line['loop'] as { big: string }).big, '10');
  });
});

describe('levels', () => {
  const all = (log: Logger): void => {
    log.debug('d');
    log.info('i');
    log.warn('w');
    log.error('e');
  };
  const cases = { debug: 'diwe', info: 'iwe', warn: 'we', error: 'e' } as const;
  for (const [level, messages] of Object.entries(cases)) {
    test(`${level} lets ${messages.length} of 4 through`, () => {
      const lines = json(all, level as LogLevel);
      assert.equal(lines.map((line) => line['msg']).join(''), messages);
    });
  }
});

describe('errors', () => {
  const error = new Error('apply failed', { cause: new TypeError('socket closed') });

  test('are logged with their causes and their stack', () => {
    const line = only((log) => {
      log.error('Failed', { error });
    });
    assert.equal(line['error'], 'apply failed: socket closed');
    assert.match(String(line['stacktrace']), /^Error: apply failed\n {4}at /);
  });

  test('have no stack as a warning', () => {
    const line = only((log) => {
      log.warn('Failed', { error });
    });
    assert.equal(line['error'], 'apply failed: socket closed');
    assert.equal('stacktrace' in line, false);
  });

  test('may be anything that was thrown', () => {
    const line = only((log) => {
      log.error('Failed', { error: 'just text' });
    });
    assert.equal(line['error'], 'just text');
  });
});

describe('a long text is cut before it is searched for secrets', () => {
  const long = 'mysql-'.repeat(175_000);
  const MAX = 8 * 1024;
  const cut = (text: unknown): void => {
    assert.match(String(text), /… \(\d+ more characters\)$/);
    assert.ok(String(text).length < MAX + 40, `${String(text).length} characters`);
  };

  test('the message of an error, its stack and a field', () => {
    const error = new Error(long, { cause: new Error(long) });
    const line = only((log) => {
      log.error('Failed', { error, detail: long, nested: [{ [long]: new Error(long) }] });
    });
    for (const text of [line['error'], line['stacktrace'], line['detail']]) cut(text);
    const [nested = {}] = line['nested'] as readonly Readonly<Record<string, unknown>>[];
    for (const text of Object.entries(nested).flat()) cut(text);
  });

  test('what was thrown and is no error', () => {
    const line = only((log) => {
      log.error('Failed', { error: `${long}password=hunter2x` });
    });
    cut(line['error']);
    assert.equal(String(line['error']).slice(MAX), `… (${6 * 175_000 + 17 - MAX} more characters)`);
  });
});

describe('secrets never show', () => {
  const cases: readonly (readonly [string, unknown])[] = [
    ['under a telling key', { password: 'hunter2x' }],
    ['under a telling key in camel case', { dbRootPassword: 'hunter2x' }],
    ['under a key of a store', { secret_key: 'hunter2x', awsSecretAccessKey: 'hunter2x' }],
    ['under a key as of MySQL', { smtp_pwd: 'hunter2x' }],
    ['nested', { user: { options: [{ apiKey: 'hunter2x' }] } }],
    ['as bytes', { token: Buffer.from('hunter2x') }],
    ['in the data of a Secret', { object: { kind: 'Secret', data: { a: 'hunter2x' } } }],
    [
      'in the stringData of a Secret',
      { object: { kind: 'Secret', stringData: { a: 'hunter2x' } } },
    ],
    ['as a header in text', { detail: 'sent Authorization: Bearer hunter2x' }],
    ['in a URL', { url: 'http://admin:hunter2x@db:3306/' }],
    ['in the message of an error', { error: new Error('got Bearer hunter2x back') }],
    ['in a cause', { error: new Error('a', { cause: new Error('https://u:hunter2x@h') }) }],
  ];
  for (const [where, fields] of cases) {
    for (const encoder of ['json', 'console'] as const) {
      test(`${where} (${encoder})`, () => {
        const use = (log: Logger): void => {
          log.error('Failed', fields as Record<string, unknown>);
        };
        const lines = written(use, encoder, 'debug').join('\n');
        assert.match(lines, /redacted/);
        assert.doesNotMatch(lines, /hunter2x/);
      });
    }
  }

  test('but the names of secrets do', () => {
    const line = only((log) => {
      log.info('Referenced', { secretName: 'db', adminPasswordSecretRef: { name: 'admin' } });
    });
    assert.equal(line['secretName'], 'db');
    assert.deepEqual(line['adminPasswordSecretRef'], { name: 'admin' });
  });
});

test('the console shows time, level, logger, message and fields, apart by tabs', () => {
  const use = (log: Logger): void => {
    log.child({ logger: 'main' }).info('Started', { port: 8080 });
  };
  const [line = ''] = written(use, 'console', 'info');
  assert.match(line, /^\S+Z\tINFO\tmain\tStarted\t{"port":8080}$/);
});
