import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { describe, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpProbe } from '../../constructs/kit/kind.js';
import { probe } from '../../runner/health/http-probe.js';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const never = new AbortController().signal;

describe('the check of a site', () => {
  test('passes when its host answers pong, and names the host in the request', async (t) => {
    let host: string | undefined;
    const result = await ask(t, (request, response) => {
      host = request.headers.host;
      response.end('{"message":"pong"}');
    });
    assert.deepEqual(result, { ok: true, message: '' });
    assert.equal(host, 'a.example.com');
  });

  const failures: readonly [string, Handler, RegExp][] = [
    [
      'another status',
      (_, response) => response.writeHead(404).end(),
      /expected status 200, got 404$/,
    ],
    [
      'a redirect, which is not followed',
      ({ url }, response) => {
        if (url === '/pong') response.end('{"message":"pong"}');
        else response.writeHead(302, { location: '/pong' }).end();
      },
      /expected status 200, got 302$/,
    ],
    [
      'another body',
      (_, response) => response.end('{"message":"ping"}'),
      /unexpected body with status 200$/,
    ],
    [
      'a body that is not JSON',
      (_, response) => response.end('pong'),
      /unexpected body with status 200$/,
    ],
    [
      'a body that is nested deeply',
      (_, response) => response.end('['.repeat(30_000) + ']'.repeat(30_000)),
      /unexpected body with status 200$/,
    ],
    [
      'a broken connection',
      (request) => request.socket.destroy(),
      /no response from .*: ECONNRESET$/,
    ],
    [
      'a connection that breaks in the middle of the body',
      (_, response) => {
        response.writeHead(200, { 'content-length': '100' }).write('{');
        setTimeout(() => response.destroy(), 20);
      },
      /no response from .*: ECONNRESET$/,
    ],
  ];
  for (const [what, handler, message] of failures) {
    test(`fails for ${what}, with a message without times`, async (t) => {
      const result = await ask(t, handler);
      assert.equal(result.ok, false);
      assert.match(result.message, message);
      assert.match(result.message, /^GET \/api\/method\/ping for a\.example\.com: /);
    });
  }

  test('fails if the port is closed', async () => {
    const result = await probe(probeOf(1), never);
    assert.match(result.message, /no response from 127\.0\.0\.1:1: ECONNREFUSED$/);
  });

  test('ends at once when it is aborted', async (t) => {
    const { port } = await serveRaw(t, () => undefined);
    const abort = new AbortController();
    const result = probe(probeOf(port), abort.signal);
    await sleep(20);
    abort.abort();
    assert.equal((await result).ok, false);
  });
});

describe('a hostile server', { concurrency: true }, () => {
  const HEAD = 'HTTP/1.1 200 OK\r\n';
  const kilobyte = 'x'.repeat(1_024);

  for (const [what, first] of [
    ['a body without an end', `${HEAD}\r\n`],
    ['a chunked body without an end', `${HEAD}transfer-encoding: chunked\r\n\r\nffffffff\r\n`],
    ['a body that is longer than promised', `${HEAD}content-length: 999999999\r\n\r\n`],
    ['headers without an end', `${HEAD}x: `],
  ] as const) {
    test(`that sends ${what} is cut off`, async (t) => {
      const { port, seen } = await serveRaw(t, (socket) => flood(socket, first, kilobyte));
      const { ok, message } = await probe(probeOf(port), never);
      assert.equal(ok, false);
      assert.match(
        message,
        /response is longer than 65536 bytes$|no response from .*: HPE_HEADER_OVERFLOW$/,
      );
      await seen.closed;
      // What the system's buffers took; the check read 64 KiB and perhaps one more piece.
      assert.ok(seen.sent() < 16 * 1_024 * 1_024, `${seen.sent()} bytes`);
    });
  }

  for (const [what, piece] of [
    ['interim answers', 'HTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\n'],
    ['chunk extensions', ';x=y'],
  ] as const) {
    test(`that sends ${what} without an end is cut off`, async (t) => {
      const first = what === 'interim answers' ? '' : `${HEAD}transfer-encoding: chunked\r\n\r\n1`;
      const { port, seen } = await serveRaw(t, (socket) =>
        flood(socket, first, piece.repeat(Math.ceil(1_024 / piece.length))),
      );
      const { ok, message } = await probe(probeOf(port), never);
      assert.equal(ok, false);
      assert.match(message, /response is longer than 65536 bytes$|no response from .*: HPE_/);
      await seen.closed;
    });
  }

  test('that accepts and never answers is left in time', async (t) => {
    const { port, seen } = await serveRaw(t, () => undefined);
    const { ok, message } = await probe(probeOf(port), never);
    assert.equal(ok, false);
    assert.match(message, /no response from 127\.0\.0\.1:\d+: TimeoutError$/);
    await seen.closed;
  });

  for (const [what, first] of [
    ['headers', `${HEAD}x: `],
    ['body', `${HEAD}content-length: 1000\r\n\r\n`],
  ] as const) {
    test(`that sends its ${what} byte by byte is left in time: it is never idle`, async (t) => {
      const { port, seen } = await serveRaw(t, (socket) => {
        socket.write(first);
        const timer = setInterval(() => socket.write('x'), 50);
        socket.once('close', () => clearInterval(timer));
      });
      const { message } = await probe(probeOf(port), never);
      assert.match(message, /: TimeoutError$/);
      await seen.closed;
    });
  }

  test('that answers and keeps the connection open is left', async (t) => {
    const { port, seen } = await serveRaw(t, (socket) => {
      const body = '{"message":"pong"}';
      socket.write(
        `${HEAD}keep-alive: timeout=600\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
    });
    assert.equal((await probe(probeOf(port), never)).ok, true);
    await seen.closed;
  });
});

function probeOf(port: number): HttpProbe {
  return {
    url: `http://127.0.0.1:${port}/api/method/ping`,
    host: 'a.example.com',
    expectStatus: 200,
    expectBody: { message: 'pong' },
  };
}

async function ask(t: TestContext, handler: Handler) {
  const server = createServer(handler);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return probe(probeOf((server.address() as AddressInfo).port), never);
}

/** Sends without an end, as fast as the other side reads. */
function flood(socket: Socket, first: string, piece: string): void {
  socket.write(first);
  const more = (): void => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on('drain', more);
  more();
}

/** A TCP server with one connection; `answer` is called once the request has arrived. */
async function serveRaw(t: TestContext, answer: (socket: Socket) => void) {
  const closed = Promise.withResolvers<undefined>();
  let last: Socket | undefined;
  const server = createTcpServer((socket) => {
    last = socket;
    socket.on('error', () => undefined);
    socket.once('data', () => answer(socket));
    socket.once('close', () => closed.resolve(undefined));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => {
    last?.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { port, seen: { closed: closed.promise, sent: () => last?.bytesWritten ?? 0 } };
}
