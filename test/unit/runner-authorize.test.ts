import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { describe, test } from 'node:test';

import { ApiError, ConnectionError } from '../../runner/api/api-error.js';
import { authorized } from '../../runner/http/authorize.js';
import type { Client, RequestOptions } from '../../runner/api/client.js';
import { createLogger } from '../../runner/telemetry/log.js';

const log = createLogger({ logLevel: 'error', logEncoder: 'json' }, new PassThrough());

/** An API server that knows one user by the token `good`. */
class Reviews implements Pick<Client, 'request'> {
  readonly calls: string[] = [];
  allowed = true;
  failure: Error | undefined;
  wait: Promise<void> = Promise.resolve();

  async request<T>(_: string, path: string, options?: RequestOptions): Promise<T> {
    this.calls.push(path.split('/').at(-1) ?? '');
    await this.wait;
    if (this.failure) throw this.failure;
    const { spec } = options?.body as { spec: { token?: string; user?: string } };
    const authenticated = spec.token === 'good';
    const status = path.endsWith('tokenreviews')
      ? { authenticated, ...(authenticated && { user: { username: 'scraper', groups: ['g'] } }) }
      : { allowed: this.allowed && spec.user === 'scraper' };
    return { status } as T;
  }
}

function setUp() {
  const reviews = new Reviews();
  const time = { now: 0 };
  const route = authorized('/metrics', () => ({ status: 200, body: 'numbers' }), {
    client: reviews,
    log,
    now: () => time.now,
  });
  const get = async (authorization?: string): Promise<number> => {
    const { status } = await route({ headers: { authorization } } as IncomingMessage);
    return status;
  };
  return { reviews, time, get };
}

describe('a caller', () => {
  const cases: readonly (readonly [string | undefined, number])[] = [
    ['Bearer good', 200],
    ['bearer good', 200],
    [undefined, 401],
    ['', 401],
    ['Bearer', 401],
    ['Bearer ', 401],
    ['Bearer bad', 401],
    ['Bearer good extra', 401],
    ['Basic good', 401],
  ];
  for (const [header, status] of cases) {
    test(`with ${header === undefined ? 'no header' : `"${header}"`} gets ${status}`, async () => {
      const { get } = setUp();
      assert.equal(await get(header), status);
    });
  }

  test('without the right gets 403', async () => {
    const { reviews, get } = setUp();
    reviews.allowed = false;
    assert.equal(await get('Bearer good'), 403);
  });

  test('without a token costs the API server nothing', async () => {
    const { reviews, get } = setUp();
    await get();
    assert.deepEqual(reviews.calls, []);
  });
});

describe('a decision', () => {
  test('is kept for ten seconds and no longer', async () => {
    const { reviews, time, get } = setUp();
    await get('Bearer good');
    time.now = 9_999;
    reviews.allowed = false;
    assert.equal(await get('Bearer good'), 200);
    assert.equal(reviews.calls.length, 2);
    time.now = 10_000;
    assert.equal(await get('Bearer good'), 403);
  });

  test('is requested once by simultaneous callers', async () => {
    const { reviews, get } = setUp();
    const statuses = await Promise.all([
      get('Bearer good'),
      get('Bearer good'),
      get('Bearer good'),
    ]);
    assert.deepEqual(statuses, [200, 200, 200]);
    assert.deepEqual(reviews.calls, ['tokenreviews', 'subjectaccessreviews']);
  });

  const failures: readonly (readonly [string, Error, number])[] = [
    ['the API server does not answer', new ConnectionError('POST /x', 'ECONNREFUSED'), 503],
    ['the API server is overloaded', new ApiError(429, '', {}, 'POST /x: 429'), 503],
    ['the API server fails', new ApiError(500, '', {}, 'POST /x: 500'), 503],
    ['the operator may not ask', new ApiError(403, 'Forbidden', {}, 'POST /x: 403'), 500],
    ['an unexpected error', new TypeError('x is not a function'), 503],
  ];
  for (const [why, failure, status] of failures) {
    test(`is ${status} and not kept when ${why}`, async () => {
      const { reviews, get } = setUp();
      reviews.failure = failure;
      assert.equal(await get('Bearer good'), status);
      reviews.failure = undefined;
      assert.equal(await get('Bearer good'), 200);
    });
  }

  test('is not requested by a flood of invalid tokens', async () => {
    const { reviews, get } = setUp();
    let answer = (): void => undefined;
    reviews.wait = new Promise((resolve) => (answer = resolve));
    const flood = Array.from({ length: 100 }, (_, index) => get(`Bearer made-up-${index}`));
    await new Promise(setImmediate);
    answer();
    const statuses = await Promise.all(flood);
    assert.equal(statuses.filter((status) => status === 503).length, 84);
    assert.equal(reviews.calls.length, 16);
  });
});
