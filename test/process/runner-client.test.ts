import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { ConfigMap, Deployment, Secret } from '../../constructs/kit/object-kind.js';
import {
  ApiError,
  ConnectionError,
  isAdmissionDenied,
  isGone,
  isQuotaExceeded,
  ResponseTooLarge,
} from '../../runner/api/api-error.js';
import { type Client, createClient, type WatchEvent } from '../../runner/api/client.js';
import { type Credentials, fixed } from '../../runner/api/credentials.js';
import { isCollection, resourcePath, type Verb } from '../../runner/api/resource-path.js';
import { fenced, NotLeading } from '../../runner/leader/fence.js';
import { freePort } from '../../testbed/controlplane/ports.js';

type Answer = (request: IncomingMessage, response: ServerResponse, body: string) => void;

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Served {
  readonly client: Client;
  readonly requests: {
    method: string;
    url: string;
    body: string;
    headers: IncomingMessage['headers'];
  }[];
  /** Answers as `<verb> <code>`. */
  readonly seen: string[];
  readonly connections: () => number;
}

interface ServeOptions {
  readonly credentials?: Credentials;
  readonly connections?: number;
}

/** A server that gives these answers one after the other, the last one for ever, and a client for it. */
async function serve(
  answers: readonly Answer[],
  { credentials, connections: most = 32 }: ServeOptions = {},
): Promise<Served> {
  const requests: Served['requests'] = [];
  const seen: string[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      requests.push({ method, url, body, headers });
      answers[Math.min(requests.length, answers.length) - 1]?.(request, response, body);
    });
  });
  server.on('connection', () => connections++);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = createClient({
    credentials: credentials ?? fixed({ endpoint: { server: url, tls: {} }, headers: {} }),
    connections: most,
    onCall: (verb: Verb, code) => seen.push(`${verb} ${code}`),
    random: () => 0,
  });
  servers.set(client, url);
  cleanups.push(async () => {
    await client.close();
    server.closeAllConnections();
    server.close();
  });
  return { client, requests, seen, connections: () => connections };
}
const servers = new WeakMap<Client, string>();

const ok: Answer = (_, response) => response.end('{"kind":"Fine"}');
const status =
  (code: number, body: object = {}, headers: Record<string, string> = {}): Answer =>
  (_, response) => {
    response.writeHead(code, headers).end(JSON.stringify({ kind: 'Status', code, ...body }));
  };
const cut: Answer = (request) => request.socket.resetAndDestroy();
const noAnswer: Answer = () => undefined;
const never = new AbortController().signal;

describe('paths', () => {
  const cases: readonly (readonly [string, string, boolean])[] = [
    [resourcePath(ConfigMap), '/api/v1/configmaps', true],
    [resourcePath(ConfigMap, 'a'), '/api/v1/namespaces/a/configmaps', true],
    [resourcePath(ConfigMap, 'a', 'b'), '/api/v1/namespaces/a/configmaps/b', false],
    [
      resourcePath(Deployment, 'a', 'b', 'status'),
      '/apis/apps/v1/namespaces/a/deployments/b/status',
      false,
    ],
    [
      resourcePath({ apiVersion: 'v1', kind: 'Namespace', plural: 'namespaces' }),
      '/api/v1/namespaces',
      true,
    ],
    [
      resourcePath({ apiVersion: 'v1', kind: 'Namespace', plural: 'namespaces' }, undefined, 'x'),
      '/api/v1/namespaces/x',
      false,
    ],
    [resourcePath(ConfigMap, '../..', 'a/b'), '/api/v1/namespaces/..%2F../configmaps/a%2Fb', false],
  ];
  for (const [path, expected, collection] of cases) {
    test(`${expected} is ${collection ? 'a collection' : 'an object'}`, () => {
      assert.equal(path, expected);
      assert.equal(isCollection(path), collection);
    });
  }
});

describe('a request', () => {
  test('sends JSON and resolves with JSON', async () => {
    const { client, requests } = await serve([ok]);
    const path = resourcePath(ConfigMap, 'a');
    const query = { dryRun: 'All', fieldManager: undefined };
    assert.deepEqual(await client.request('POST', path, { body: { a: 1 }, query }), {
      kind: 'Fine',
    });
    const [request] = requests;
    assert.equal(request?.url, '/api/v1/namespaces/a/configmaps?dryRun=All');
    assert.equal(request.body, '{"a":1}');
    assert.equal(request.headers['content-type'], 'application/json');
    assert.match(request.headers['user-agent'] ?? '', /^app-operator\/\d/);
  });

  test('shares connections with those before it', async () => {
    const { client, connections } = await serve([ok]);
    for (let call = 0; call < 20; call++) await client.request('GET', '/version');
    // A second one is opened while the first is still being freed.
    assert.ok(connections() <= 2, `${connections()} connections`);
  });

  test('ends at the bound of its body, and is not sent again', async () => {
    const long: Answer = (_, response) => response.end(Buffer.alloc(3_000_000, ' '));
    const { client, requests } = await serve([long, ok]);
    const path = '/api/v1/configmaps';
    await assert.rejects(client.request('GET', path, { maxBytes: 2_000_000 }), (error: Error) => {
      assert.ok(error instanceof ResponseTooLarge);
      assert.equal(error.message, `GET ${path}: response is longer than 2000000 bytes`);
      return true;
    });
    assert.equal(requests.length, 1);
    assert.deepEqual(await client.request('GET', path, { maxBytes: 2_000_000 }), { kind: 'Fine' });
  });

  test('of a list ends at 16 MiB', async () => {
    const { client } = await serve([
      (_, response) => response.end(Buffer.alloc(17 * 1024 * 1024, ' ')),
    ]);
    await assert.rejects(client.request('GET', '/api/v1/pods'), ResponseTooLarge);
  });

  test('applies by server-side apply, forced', async () => {
    const { client, requests } = await serve([ok]);
    await client.apply('/api/v1/namespaces/a/configmaps/b', { a: 1 }, 'me');
    assert.equal(requests[0]?.method, 'PATCH');
    assert.equal(requests[0].url, '/api/v1/namespaces/a/configmaps/b?fieldManager=me&force=true');
    assert.equal(requests[0].headers['content-type'], 'application/apply-patch+yaml');
  });

  test('applies any text: the API server reads the body as YAML, which refuses some characters', async () => {
    const { client, requests } = await serve([ok]);
    const text = 'a\u007f\u0080\u0085 \u2028\ufffe"\\\\ud800 \u{1f600} \n é';
    await client.apply('/x', { text, half: 'x\ud83d', [text]: 1 }, 'me');
    const body = requests[0]?.body ?? '';
    assert.doesNotMatch(body, /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]|[^\\]\\ud/);
    assert.deepEqual(JSON.parse(body), { text, half: 'x\ufffd', [text]: 1 });
    await client.request('PATCH', '/x', { body: { text } });
    assert.equal(requests[1]?.body, JSON.stringify({ text }));
  });

  test('is counted by verb', async () => {
    const { client, seen } = await serve([ok]);
    await client.request('GET', '/api/v1/namespaces/a/configmaps');
    await client.request('GET', '/api/v1/namespaces/a/configmaps/b');
    await client.request('PATCH', '/api/v1/namespaces/a/configmaps/b');
    await client.apply('/api/v1/namespaces/a/configmaps/b', {}, 'me');
    assert.deepEqual(seen, ['list 200', 'get 200', 'patch 200', 'apply 200']);
    assert.deepEqual(Object.fromEntries(client.calls), { list: 1, get: 1, patch: 1, apply: 1 });
  });

  test('without a body in the answer resolves with undefined', async () => {
    const { client } = await serve([(_, response) => response.end()]);
    assert.equal(await client.request('DELETE', '/x'), undefined);
  });

  test('that is refused rejects with the message of the server', async () => {
    const causes = [{ field: 'spec.x', message: 'no' }];
    const body = { reason: 'Invalid', message: 'x is wrong', details: { causes } };
    const { client } = await serve([status(422, body)]);
    await assert.rejects(client.request('PUT', '/apis/a/b'), (error) => {
      assert.ok(error instanceof ApiError);
      assert.equal(error.message, 'PUT /apis/a/b: 422 Invalid: x is wrong');
      assert.deepEqual(error.details.causes, causes);
      return true;
    });
  });

  // A login proxy redirects what it does not let through: nothing is deleted.
  test('that is redirected rejects', async () => {
    const { client } = await serve([status(302, {})]);
    await assert.rejects(client.request('DELETE', '/x'), (error) => {
      assert.ok(error instanceof ApiError);
      assert.equal(error.status, 302);
      return true;
    });
  });

  test('ends with its signal', async () => {
    const { client } = await serve([noAnswer]);
    const stop = new AbortController();
    const pending = client.request('GET', '/x', { signal: stop.signal });
    stop.abort(new Error('enough'));
    await assert.rejects(pending, /enough/);
  });

  test('ends after its time', async () => {
    const { client } = await serve([noAnswer]);
    await assert.rejects(client.request('GET', '/x', { timeoutMs: 50 }), /GET \/x: Timeout/);
  });
});

describe('a retry', () => {
  const busy = status(429, {}, { 'retry-after': '0' });

  test('follows a Retry-After of the server', async () => {
    const { client, seen } = await serve([busy, status(503, {}, { 'retry-after': '0' }), ok]);
    assert.deepEqual(await client.request('POST', '/x'), { kind: 'Fine' });
    assert.deepEqual(seen, ['create 429', 'create 503', 'create 200']);
  });

  test('is not endless', async () => {
    const { client, requests } = await serve([busy]);
    await assert.rejects(client.request('GET', '/x'), ApiError);
    assert.equal(requests.length, 4);
  });

  const once: readonly (readonly [string, Answer])[] = [
    ['without Retry-After', status(503)],
    ['of another error', status(500, {}, { 'retry-after': '0' })],
    ['after a wait that is too long for the caller', status(429, {}, { 'retry-after': '60' })],
  ];
  for (const [what, answer] of once) {
    test(`does not follow ${what}`, async () => {
      const { client, requests } = await serve([answer]);
      await assert.rejects(client.request('GET', '/x'), ApiError);
      assert.equal(requests.length, 1);
    });
  }

  test('follows a broken connection where doing it twice does no harm', async () => {
    const { client, seen } = await serve([cut, ok]);
    await client.apply('/x', {}, 'me');
    assert.deepEqual(seen, ['apply error', 'apply 200']);
  });

  test('does not follow a broken connection of a create', async () => {
    const { client, requests } = await serve([cut, ok]);
    await assert.rejects(client.request('POST', '/x'), ConnectionError);
    assert.equal(requests.length, 1);
  });

  test('follows a refused connection, whatever the call', async () => {
    const server = `http://127.0.0.1:${await freePort()}`;
    const seen: string[] = [];
    const late = createClient({
      credentials: fixed({ endpoint: { server, tls: {} }, headers: {} }),
      onCall: (verb, code) => seen.push(`${verb} ${code}`),
      random: () => 0,
    });
    cleanups.push(() => late.close());
    await assert.rejects(late.request('POST', '/x'), /POST \/x: ECONNREFUSED/);
    assert.equal(seen.length, 4);
  });
});

describe('credentials', () => {
  test('that are refused are read again, once', async () => {
    let token = 'old';
    const credentials: Credentials = {
      access: () => Promise.resolve({ endpoint, headers: { authorization: `Bearer ${token}` } }),
      invalidate: () => (token = 'new'),
    };
    const check: Answer = (request, response, body) => {
      (request.headers.authorization === 'Bearer new' ? ok : status(401))(request, response, body);
    };
    const probe = await serve([check]);
    const endpoint = { server: servers.get(probe.client) ?? '', tls: {} };
    const client = createClient({ credentials });
    cleanups.push(() => client.close());
    assert.deepEqual(await client.request('GET', '/x'), { kind: 'Fine' });
    token = 'old';
    credentials.invalidate = () => undefined;
    await assert.rejects(client.request('GET', '/x'), /401/);
    assert.equal(probe.requests.length, 4);
  });

  test('of a server behind a path keep the path', async () => {
    const probe = await serve([ok]);
    const server = `${servers.get(probe.client) ?? ''}/k8s/clusters/c-1/`;
    const client = createClient({
      credentials: fixed({ endpoint: { server, tls: {} }, headers: {} }),
    });
    cleanups.push(() => client.close());
    await client.request('GET', '/version');
    assert.equal(probe.requests[0]?.url, '/k8s/clusters/c-1/version');
  });
});

describe('errors never quote', () => {
  const secret = 'hunter2x';
  const path = resourcePath(Secret, 'a', 'b');
  const quoting = {
    reason: 'Invalid',
    message: `data: Invalid value: "${secret}"`,
    details: { causes: [{ field: 'data', message: `got "${secret}"` }] },
  };
  const cases: readonly (readonly [string, Answer])[] = [
    ['a secret that was sent', status(422, quoting)],
    ['a secret that could not be decoded', status(400, quoting)],
    ['an answer that is no JSON', (_, response) => response.end(`{"data": ${secret}`)],
  ];
  for (const [what, answer] of cases) {
    test(what, async () => {
      const { client } = await serve([answer]);
      await assert.rejects(client.apply(path, { stringData: { a: secret } }, 'me'), (error) => {
        const all = JSON.stringify([
          error,
          (error as Error).message,
          String((error as Error).cause),
        ]);
        assert.doesNotMatch(all, /hunter2x/);
        return true;
      });
    });
  }

  const denials: readonly (readonly [string, number, string, RegExp])[] = [
    [
      'a webhook',
      400,
      `admission webhook "deny.example.com" denied the request: bad value ${secret}`,
      /400.*: admission webhook "deny.example.com" denied the request: .*withheld/,
    ],
    [
      'a webhook that answers 403',
      403,
      `admission webhook "deny.example.com" denied the request: secrets is forbidden: User "${secret}"`,
      /403.*: admission webhook "deny.example.com" denied the request: .*withheld/,
    ],
    [
      'a policy',
      422,
      `secrets "b" is forbidden: ValidatingAdmissionPolicy 'no-secrets' with binding 'all' denied request: got ${secret}`,
      /422.*: ValidatingAdmissionPolicy 'no-secrets' with binding 'all' denied request: .*withheld/,
    ],
    [
      'a webhook that fails',
      500,
      `Internal error occurred: failed calling webhook "deny.example.com": ${secret}`,
      /500.*: failed calling webhook "deny.example.com": .*withheld/,
    ],
  ];
  for (const [what, code, message, shown] of denials) {
    test(`a secret that ${what} refuses, and name it`, async () => {
      const { client } = await serve([status(code, { message })]);
      await assert.rejects(client.apply(path, { stringData: { a: secret } }, 'me'), (error) => {
        assert.doesNotMatch(JSON.stringify([error, String(error)]), /hunter2x/);
        assert.match(String(error), shown);
        assert.equal(isAdmissionDenied(error), code < 500);
        return true;
      });
    });
  }

  test('a value of a Secret that is created; the rest of a denial is shown', async () => {
    const value = 'aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1eF';
    const encoded = Buffer.from(value).toString('base64');
    const denial = 'admission webhook "deny.example.com" denied the request';
    const texts = [`"${value}"`, encoded, `${value.slice(0, 9)}…`, `x${value}${encoded}x`];
    for (const text of texts) {
      const message = `${denial}: label team is missing, got ${text}; see the wiki`;
      const { client } = await serve([status(400, { message })]);
      const created = client.request('POST', resourcePath(Secret, 'a'), {
        body: { data: { password: encoded } },
      });
      await assert.rejects(created, (error) => {
        assert.match(String(error), /label team is missing, got .*\[withheld\].*; see the wiki$/);
        for (let at = 0; at + 6 <= value.length; at++)
          assert.ok(!String(error).includes(value.slice(at, at + 6)), String(error));
        assert.ok(!String(error).includes(encoded.slice(6)), String(error));
        return isAdmissionDenied(error);
      });
    }
  });

  test('a value too short to be found: the whole message is withheld', async () => {
    const message = 'admission webhook "deny.example.com" denied the request: got pw';
    const { client } = await serve([status(400, { message })]);
    const body = { stringData: { password: 'pw' } };
    await assert.rejects(client.request('POST', resourcePath(Secret, 'a'), { body }), /withheld, /);
  });

  test('but show a quota, which quotes no value', async () => {
    const message = 'secrets "b" is forbidden: exceeded quota: q, requested: secrets=1';
    const { client } = await serve([status(403, { reason: 'Forbidden', message })]);
    await assert.rejects(client.apply(path, {}, 'me'), (error) => {
      assert.match(String(error), /exceeded quota: q/);
      return isQuotaExceeded(error);
    });
  });

  test('but say who may not', async () => {
    const { client } = await serve([
      status(403, { reason: 'Forbidden', message: 'u cannot patch' }),
    ]);
    await assert.rejects(client.apply(path, {}, 'me'), /403 Forbidden: u cannot patch/);
  });
});

describe('a watch', () => {
  const options = { signal: never, idleTimeoutMs: 60_000 };
  const read = async (events: AsyncIterable<WatchEvent>): Promise<string[]> => {
    const names: string[] = [];
    for await (const { type, object } of events) names.push(`${type} ${object.metadata.name}`);
    return names;
  };
  const line = (type: string, object: object): string => `${JSON.stringify({ type, object })}\n`;

  test('gives events until the server ends it', async () => {
    const { client, requests, seen } = await serve([
      (_, response) => {
        response.write(line('ADDED', { metadata: { name: 'a' } }));
        response.end(line('DELETED', { metadata: { name: 'a' } }));
      },
    ]);
    const events = client.watch('/api/v1/configmaps', { resourceVersion: '7' }, options);
    assert.deepEqual(await read(events), ['ADDED a', 'DELETED a']);
    assert.equal(requests[0]?.url, '/api/v1/configmaps?resourceVersion=7&watch=true');
    assert.deepEqual(seen, ['watch 200']);
  });

  test('throws an ERROR line', async () => {
    const expired = line('ERROR', { code: 410, reason: 'Expired', message: 'too old' });
    const { client } = await serve([(_, response) => response.end(expired)]);
    await assert.rejects(read(client.watch('/x', {}, options)), (error) => {
      assert.ok(isGone(error));
      assert.match((error as Error).message, /WATCH \/x: 410 Expired: too old/);
      return true;
    });
  });

  test('throws what refuses it', async () => {
    const { client } = await serve([status(403, { reason: 'Forbidden' })]);
    await assert.rejects(read(client.watch('/x', {}, options)), /403 Forbidden/);
  });

  test('throws when the server does not answer in time', async () => {
    const { client } = await serve([(_, response) => response.writeHead(200).flushHeaders()]);
    const short = { signal: never, idleTimeoutMs: 100 };
    await assert.rejects(read(client.watch('/x', {}, short)), (error) => {
      assert.ok(error instanceof ConnectionError);
      assert.equal(error.code, 'UND_ERR_BODY_TIMEOUT');
      return true;
    });
  });

  test('throws when the connection breaks', async () => {
    const half: Answer = (request, response) => {
      response.write('{"type":"ADDED"');
      setTimeout(() => request.socket.resetAndDestroy(), 20);
    };
    const { client } = await serve([half]);
    await assert.rejects(read(client.watch('/x', {}, options)), ConnectionError);
  });

  test('ends with its signal', async () => {
    const { client } = await serve([(_, response) => response.writeHead(200).flushHeaders()]);
    const stop = new AbortController();
    const pending = read(client.watch('/x', {}, { ...options, signal: stop.signal }));
    setTimeout(() => {
      stop.abort(new Error('enough'));
    }, 20);
    await assert.rejects(pending, /enough/);
  });

  test('keeps no connection that requests need', async () => {
    const { client } = await serve([
      (request, response, body) => {
        if (request.url?.includes('watch')) response.writeHead(200).flushHeaders();
        else ok(request, response, body);
      },
    ]);
    const stop = new AbortController();
    const watches = Array.from({ length: 40 }, () =>
      read(client.watch('/x', {}, { ...options, signal: stop.signal })).catch(() => undefined),
    );
    assert.deepEqual(await client.request('GET', '/x', { timeoutMs: 30_000 }), { kind: 'Fine' });
    stop.abort();
    await Promise.all(watches);
  });
});

describe('a fenced client', () => {
  const path = resourcePath(ConfigMap, 'a', 'b');
  for (const [what, write] of [
    ['a patch', (client: Client) => client.request('PATCH', path, { body: {} })],
    ['an apply', (client: Client) => client.apply(path, {}, 'm')],
  ] as const) {
    test(`does not send ${what} again that was turned away, once it may not write`, async () => {
      let leads = true;
      const away: Answer = (...call) => {
        leads = false;
        status(429, {}, { 'retry-after': '0' })(...call);
      };
      const { client, requests } = await serve([away, ok]);
      await assert.rejects(write(fenced(client, { mayWrite: () => leads })), NotLeading);
      assert.equal(requests.length, 1);
    });

    test(`sends ${what} only while it may`, async () => {
      let leads = false;
      const { client, requests, seen } = await serve([ok]);
      const guarded = fenced(client, { mayWrite: () => leads });
      await assert.rejects(write(guarded), NotLeading);
      assert.deepEqual([requests.length, seen], [0, []]);
      assert.deepEqual(await guarded.request('GET', path), { kind: 'Fine' });
      leads = true;
      assert.deepEqual(await write(guarded), { kind: 'Fine' });
    });
  }

  /** A server that hangs, a client with two connections, and more writes than these. */
  async function hanging(end: 'mayWrite' | 'signal'): Promise<void> {
    const held: (() => void)[] = [];
    const hangs: Answer = (...call) => {
      held.push(() => ok(...call));
    };
    const { client, requests } = await serve([hangs], { connections: 2 });
    let leads = true;
    const term = new AbortController();
    const guarded = fenced(client, { mayWrite: () => leads, signal: () => term.signal });
    const writes = Array.from({ length: 20 }, () =>
      guarded.apply(path, {}, 'm').then(
        () => 'sent',
        (error: unknown) => (error as Error).name,
      ),
    );
    while (requests.length < 2) await sleep(5);
    if (end === 'signal') term.abort();
    else leads = false;
    while (held.length > 0) {
      for (const answer of held.splice(0)) answer();
      await sleep(20);
    }
    const results = await Promise.all(writes);
    assert.equal(requests.length, 2, 'no queued write is sent');
    const expected = end === 'signal' ? ['AbortError'] : ['NotLeading', 'sent'];
    assert.deepEqual([...new Set(results)].sort(), expected);
  }

  test('sends none of the writes that wait for a connection, once it may not write', () =>
    hanging('mayWrite'));

  test('aborts writes that wait for a connection or a response, at the end of the term', () =>
    hanging('signal'));
});
