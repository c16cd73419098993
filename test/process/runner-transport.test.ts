import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttp } from 'node:http';
import { createServer as createHttps } from 'node:https';
import {
  type AddressInfo,
  connect,
  createServer as createTcp,
  type Server,
  type Socket,
} from 'node:net';
import { after, before, describe, test } from 'node:test';

import { type KeyPair, selfSigned } from '../../runner/http/certificate.js';
import { type Client, createClient } from '../../runner/api/client.js';
import type { Endpoint } from '../../runner/api/endpoint.js';
import { type Credentials, fixed } from '../../runner/api/credentials.js';

const pairFor = (commonName: string, host: string): KeyPair =>
  selfSigned({ commonName, hosts: [host], now: Date.now() });

const server = pairFor('server', '127.0.0.1');
const named = pairFor('named', 'kubernetes.default.svc');
const ca = Buffer.from(server.cert);

/** Answers with the name of the client's certificate. */
const whoami = createHttps(
  { ...server, requestCert: true, rejectUnauthorized: false },
  (request, response) => {
    const { subject } = (request.socket as import('node:tls').TLSSocket).getPeerCertificate();
    // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- empty without a certificate
    response.end(JSON.stringify({ client: subject?.CN ?? 'anonymous' }));
  },
);
const misnamed = createHttps(named, (_, response) => response.end('{}'));
const plain = createHttp((_, response) => response.end('{"client":"plain"}'));
let tunnels = 0;
const join = (a: Socket, b: Socket): void => {
  tunnels++;
  a.pipe(b).pipe(a);
  for (const socket of [a, b]) socket.on('error', () => undefined);
};
const httpProxy = createHttp();
httpProxy.on('connect', (request, socket: Socket) => {
  const [host = '', port] = (request.url ?? '').split(':');
  const onwards = connect(Number(port), host, () => {
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    join(socket, onwards);
  });
});
/** SOCKS 5 without authentication, for IPv4 addresses. */
const socksProxy = createTcp((socket) => {
  socket.once('data', () => {
    socket.write(Uint8Array.of(5, 0));
    socket.once('data', (request) => {
      const host = request.subarray(4, 8).join('.');
      const onwards = connect(request.readUInt16BE(8), host, () => {
        socket.write(Uint8Array.of(5, 0, 0, 1, 127, 0, 0, 1, 0, 0));
        join(socket, onwards);
      });
    });
  });
});

const servers: readonly Server[] = [whoami, misnamed, plain, httpProxy, socksProxy];
before(async () => {
  for (const each of servers) {
    each.listen(0, '127.0.0.1');
    await once(each, 'listening');
  }
});
after(() => {
  for (const each of servers) each.close();
});
const addressOf = (which: Server): string => `127.0.0.1:${(which.address() as AddressInfo).port}`;

async function ask(credentials: Credentials, times = 1): Promise<unknown> {
  const client: Client = createClient({ credentials });
  try {
    let answer: unknown;
    for (let time = 0; time < times; time++) answer = await client.request('GET', '/');
    return answer;
  } finally {
    await client.close();
  }
}

const of = (endpoint: Endpoint): Credentials => fixed({ endpoint, headers: {} });

describe('a connection', () => {
  test('verifies the server', async () => {
    const url = `https://${addressOf(whoami)}`;
    assert.deepEqual(await ask(of({ server: url, tls: { ca } })), { client: 'anonymous' });
    await assert.rejects(ask(of({ server: url, tls: {} })), /DEPTH_ZERO_SELF_SIGNED_CERT/);
    const other = Buffer.from(pairFor('server', '127.0.0.1').cert);
    await assert.rejects(ask(of({ server: url, tls: { ca: other } })));
  });

  test('does not verify it if the kubeconfig switches that off', async () => {
    const url = `https://${addressOf(whoami)}`;
    await ask(of({ server: url, tls: { rejectUnauthorized: false } }));
  });

  test('verifies it by another name if the kubeconfig has one', async () => {
    const url = `https://${addressOf(misnamed)}`;
    const tls = { ca: Buffer.from(named.cert) };
    await assert.rejects(ask(of({ server: url, tls })), /ERR_TLS_CERT_ALTNAME_INVALID/);
    await ask(of({ server: url, tls: { ...tls, servername: 'kubernetes.default.svc' } }));
  });

  test('shows the client certificate, and a new one after it changed', async () => {
    const url = `https://${addressOf(whoami)}`;
    const as = (name: string): Endpoint => {
      const pair = pairFor(name, 'x');
      return { server: url, tls: { ca, cert: Buffer.from(pair.cert), key: Buffer.from(pair.key) } };
    };
    let endpoint = as('first');
    const client = createClient({
      credentials: {
        access: () => Promise.resolve({ endpoint, headers: {} }),
        invalidate: () => undefined,
      },
    });
    assert.deepEqual(await client.request('GET', '/'), { client: 'first' });
    endpoint = as('second');
    assert.deepEqual(await client.request('GET', '/'), { client: 'second' });
    await client.close();
  });

  test('needs no TLS, as with kubectl proxy', async () => {
    const url = `http://${addressOf(plain)}`;
    assert.deepEqual(await ask(of({ server: url, tls: {} })), { client: 'plain' });
  });

  for (const [scheme, proxy] of [
    ['http', httpProxy],
    ['socks5', socksProxy],
  ] as const) {
    test(`goes through a proxy (${scheme}), is kept, and verifies the server behind it`, async () => {
      const url = `https://${addressOf(whoami)}`;
      const proxyUrl = `${scheme}://${addressOf(proxy)}`;
      tunnels = 0;
      const endpoint = { server: url, tls: { ca }, proxyUrl };
      assert.deepEqual(await ask(of(endpoint), 10), { client: 'anonymous' });
      assert.ok(tunnels >= 1 && tunnels <= 2, `${tunnels} tunnels`);
      await assert.rejects(ask(of({ ...endpoint, tls: {} })));
    });
  }
});
