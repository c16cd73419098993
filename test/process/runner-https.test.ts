import assert from 'node:assert/strict';
import { once } from 'node:events';
import { X509Certificate } from 'node:crypto';
import { mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { after, afterEach, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls, type SecureVersion, type TLSSocket } from 'node:tls';

import {
  type KeyPair,
  mountedSource,
  selfSigned,
  selfSignedSource,
} from '../../runner/http/certificate.js';
import { type HttpServer } from '../../runner/http/http-server.js';
import { serveHttps } from '../../runner/http/https-server.js';
import { createLogger } from '../../runner/telemetry/log.js';

const DAY_MS = 24 * 3_600_000;
const RELOAD_MS = 10;
let logged = '';
const output = new PassThrough().on('data', (chunk: Buffer) => (logged += chunk.toString()));
const log = createLogger({ logLevel: 'info', logEncoder: 'json' }, output);

const running: HttpServer[] = [];
let folder: string;
before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'https-'));
});
after(() => rm(folder, { recursive: true }));
afterEach(async () => {
  for (const server of running.splice(0)) await server.close(0);
});

async function serve(source: () => Promise<KeyPair>): Promise<number> {
  const routes = { '/': () => ({ status: 200, body: 'hello' }) };
  const address = { host: '127.0.0.1', port: 0 };
  const server = await serveHttps({ address, routes, source, log, reloadMs: RELOAD_MS });
  running.push(server);
  return server.port;
}

function pairFor(commonName: string): KeyPair {
  return selfSigned({ commonName, hosts: ['localhost', '127.0.0.1'], now: Date.now() });
}

interface HttpsResponse {
  readonly status: number | undefined;
  readonly subject: string;
  readonly localPort: number | undefined;
}

/** A real TLS request that verifies the server by `ca` where one is given. */
async function get(
  port: number,
  options: { ca?: string; agent?: Agent } = {},
): Promise<HttpsResponse> {
  const { ca, agent = new Agent({ maxCachedSessions: 0 }) } = options;
  const trustAppliedHash = ca === undefined ? { rejectUnauthorized: false } : { ca };
  const outgoing = request({ host: 'localhost', family: 4, port, agent, ...trustAppliedHash });
  outgoing.end();
  const [response] = (await once(outgoing, 'response')) as [import('node:http').IncomingMessage];
  const socket = response.socket as TLSSocket;
  const subject = socket.getPeerX509Certificate()?.subject ?? '';
  response.resume();
  await once(response, 'end');
  return { status: response.statusCode, subject, localPort: socket.localPort };
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 30_000;
  while (!(await condition())) {
    assert.ok(performance.now() < end, 'not within 30 s');
    await sleep(RELOAD_MS);
  }
}

describe('a self-signed certificate', () => {
  test('is one that TLS clients accept who trust it', async () => {
    const pair = pairFor('app-operator');
    const port = await serve(() => Promise.resolve(pair));
    const { status, subject } = await get(port, { ca: pair.cert });
    assert.deepEqual({ status, subject }, { status: 200, subject: 'CN=app-operator' });
    await assert.rejects(get(port, { ca: pairFor('app-operator').cert }));
  });

  test('states its purpose', () => {
    const certificate = new X509Certificate(pairFor('x').cert);
    assert.equal(certificate.ca, false);
    assert.equal(certificate.subjectAltName, 'DNS:localhost, IP Address:127.0.0.1');
    assert.deepEqual(certificate.keyUsage, ['1.3.6.1.5.5.7.3.1']);
    assert.ok(certificate.verify(certificate.publicKey));
  });

  test('can live past 2049, when the form of its times changes', () => {
    const now = Date.parse('2049-12-31T23:59:59Z');
    const { cert } = selfSigned({ commonName: 'x', hosts: [], now });
    const { validFromDate, validToDate } = new X509Certificate(cert);
    assert.equal(validFromDate.toISOString(), '2049-12-30T23:59:59.000Z');
    assert.equal(validToDate.toISOString(), '2050-12-31T23:59:59.000Z');
  });

  test('is replaced long before it expires', async () => {
    let now = Date.now();
    const source = selfSignedSource('x', ['localhost'], () => now);
    const first = await source();
    const { validFromDate, validToDate } = new X509Certificate(first.cert);
    assert.ok(validFromDate.getTime() <= now - DAY_MS / 2, 'clocks that are behind accept it');
    now += 200 * DAY_MS;
    assert.equal(await source(), first);
    now += 100 * DAY_MS;
    assert.ok(now < validToDate.getTime() - 30 * DAY_MS);
    assert.notEqual(await source(), first);
  });
});

describe('a client', () => {
  /** The version of TLS that a client and the server agree on. */
  async function agreed(version: SecureVersion): Promise<string | null> {
    const pair = pairFor('app-operator');
    const port = await serve(() => Promise.resolve(pair));
    const socket = connectTls({
      ...{ host: '127.0.0.1', port, rejectUnauthorized: false },
      ...{ minVersion: version, maxVersion: version },
      // Otherwise the client itself refuses the older versions.
      ciphers: 'DEFAULT@SECLEVEL=0',
    });
    await once(socket, 'secureConnect');
    const protocol = socket.getProtocol();
    socket.destroy();
    return protocol;
  }
  for (const version of ['TLSv1', 'TLSv1.1'] as const) {
    test(`of ${version} is refused`, async () => {
      await assert.rejects(agreed(version), /alert protocol version|unsupported protocol/);
    });
  }
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    test(`of ${version} is served`, async () => {
      assert.equal(await agreed(version), version);
    });
  }
});

describe('a mounted certificate', () => {
  /** Writes a pair as the kubelet does: a new folder, then one rename of a link. */
  async function mount(where: string, pair: KeyPair): Promise<void> {
    const version = await mkdtemp(path.join(where, '..version-'));
    await writeFile(path.join(version, 'tls.crt'), pair.cert);
    await writeFile(path.join(version, 'tls.key'), pair.key);
    await symlink(version, path.join(where, '..next'));
    await rename(path.join(where, '..next'), path.join(where, '..data'));
  }

  async function mounted(pair: KeyPair): Promise<string> {
    const where = await mkdtemp(path.join(folder, 'mount-'));
    await mount(where, pair);
    await symlink('..data/tls.crt', path.join(where, 'tls.crt'));
    await symlink('..data/tls.key', path.join(where, 'tls.key'));
    return where;
  }

  test('is reloaded when it changes, and open connections stay', async () => {
    const where = await mounted(pairFor('first'));
    const port = await serve(mountedSource(where));
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const kept = await get(port, { agent });
    assert.equal(kept.subject, 'CN=first');
    await mount(where, pairFor('second'));
    await until(async () => (await get(port)).subject === 'CN=second');
    const reconcileAgain = await get(port, { agent });
    assert.equal(reconcileAgain.localPort, kept.localPort, 'the same connection');
    assert.equal(reconcileAgain.status, 200);
    agent.destroy();
  });

  test('that does not fit its key is logged once, and the one before it stays', async () => {
    const pair = pairFor('good');
    const where = await mounted(pair);
    const source = mountedSource(where);
    let reads = 0;
    const port = await serve(() => {
      reads++;
      return source();
    });
    logged = '';
    const complaints = (): number => logged.match(/certificate not reloaded/g)?.length ?? 0;
    await mount(where, { cert: pairFor('other').cert, key: pair.key });
    await until(() => complaints() > 0);
    const before = reads;
    await until(() => reads > before + 5);
    assert.equal((await get(port)).subject, 'CN=good');
    assert.equal(complaints(), 1);
    await mount(where, pairFor('fixed'));
    await until(async () => (await get(port)).subject === 'CN=fixed');
  });

  test('is read again only after the last read has ended: a late result would replace a newer one', async () => {
    const pair = pairFor('slow');
    let reads = 0;
    let open = 0;
    let most = 0;
    await serve(async () => {
      reads++;
      most = Math.max(most, ++open);
      await sleep(5 * RELOAD_MS);
      open--;
      return pair;
    });
    await until(() => reads > 3);
    assert.equal(most, 1);
  });

  test('that is missing at the start is an error', async () => {
    await assert.rejects(serve(mountedSource(path.join(folder, 'nowhere'))), /ENOENT/);
  });
});
