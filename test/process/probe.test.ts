import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import type { HttpProbe } from '../../constructs/kit/kind.js';
import { Prober } from '../../runner/health/http-probe.js';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

describe('the check of a site', () => {
  test('passes when its host answers pong, and names the host in the request', async () => {
    let host: string | undefined;
    const result = await ask((request, response) => {
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
      'another body',
      (_, response) => response.end('{"message":"ping"}'),
      /unexpected body with status 200$/,
    ],
    [
      'a body that is not JSON',
      (_, response) => response.end('pong'),
      /unexpected body with status 200$/,
    ],
    ['a broken connection', (request) => request.socket.destroy(), /no response from/],
  ];
  for (const [what, handler, message] of failures) {
    test(`fails for ${what}, with a message without times`, async () => {
      const result = await ask(handler);
      assert.equal(result.ok, false);
      assert.match(result.message, message);
      assert.match(result.message, /^GET \/api\/method\/ping for a\.example\.com: /);
    });
  }

  test('fails if no answer arrives in time', async () => {
    const { ok, message } = await ask(() => undefined);
    assert.equal(ok, false);
    assert.match(message, /no response from 127\.0\.0\.1:\d+: TimeoutError$/);
  });

  test('fails if the port is closed', async () => {
    const prober = new Prober();
    const result = await prober.probe(probeOf(1));
    await prober.close();
    assert.match(result.message, /no response from 127\.0\.0\.1:1: ECONNREFUSED$/);
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

async function ask(handler: Handler) {
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const prober = new Prober();
  try {
    return await prober.probe(probeOf((server.address() as AddressInfo).port));
  } finally {
    await prober.close();
    server.close();
  }
}
