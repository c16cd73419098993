import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { once } from 'node:events';
import { connect } from 'node:net';
import { PassThrough } from 'node:stream';

import { type HttpServer, serveHttp } from '../../runner/http/http-server.js';
import { createLogger } from '../../runner/telemetry/log.js';

const log = createLogger({ logLevel: 'error', logEncoder: 'json' }, new PassThrough());
const running: HttpServer[] = [];
afterEach(async () => {
  for (const server of running.splice(0)) await server.close(0);
});

/** The first line of the response to these bytes. */
async function answerTo(bytes: string): Promise<string> {
  const routes = { '/metrics': () => ({ status: 200, body: 'hello' }) };
  const server = await serveHttp({ host: '127.0.0.1', port: 0 }, routes, log);
  running.push(server);
  const socket = connect(server.port, '127.0.0.1').setEncoding('utf8');
  socket.on('error', () => undefined);
  let text = '';
  socket.on('data', (chunk: string) => (text += chunk));
  socket.end(bytes);
  await once(socket, 'close');
  return text.split('\r\n')[0] ?? '';
}

const HEAD = 'GET /metrics HTTP/1.1\r\nhost: a\r\nconnection: close\r\n';

describe('a request that two servers could read differently is refused', () => {
  const cases: readonly (readonly [what: string, bytes: string, status: number])[] = [
    ['none of these', `${HEAD}\r\n`, 200],
    [
      'a length and chunks',
      `${HEAD}content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
    ],
    ['two lengths', `${HEAD}content-length: 4\r\ncontent-length: 5\r\n\r\nabcd`, 400],
    ['a space before a colon', `${HEAD}content-length : 4\r\n\r\nabcd`, 400],
    ['line feeds alone', 'GET /metrics HTTP/1.1\nhost: a\nconnection: close\n\n', 400],
    ['60 KB of headers', `${HEAD}x: ${'a'.repeat(60_000)}\r\n\r\n`, 431],
  ];
  for (const [what, bytes, status] of cases) {
    test(what, async () => {
      assert.match(await answerTo(bytes), new RegExp(`^HTTP/1\\.1 ${status} `));
    });
  }
});
