/** The check of a site's websocket, against servers of tenants that answer as they like. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { suite, test, type TestContext } from 'node:test';
import { ProbeManager } from '../../runner/health/probe-manager.js';
import { probeRealtime } from '../../runner/health/realtime-probe.js';

const OPEN = '0{"sid":"a"}';
const JOINED = '40/a.example,{"sid":"b"}';
const ANSWER = '42/a.example,["pong"]';

/** An unmasked frame, as servers send it. */
function frame(text: string, first = 0x81): Buffer {
  const data = Buffer.from(text);
  const head =
    data.length < 126 ? [first, data.length] : [first, 126, data.length >> 8, data.length & 255];
  return Buffer.concat([Buffer.from(head), data]);
}

/** The answer that accepts a websocket. */
function upgrade({ headers }: IncomingMessage): string {
  const accept = createHash('sha1')
    .update(`${headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest('base64');
  return `HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`;
}

/** Starts a server that upgrades, and then sends one of the answers for each frame of the client. */
async function aServer(
  t: TestContext,
  answers: readonly (string | Buffer)[],
  prepare: (server: Server) => void = () => undefined,
): Promise<{ readonly url: string; readonly joins: () => number }> {
  const open = new Set<Duplex>();
  let joins = 0;
  const server = createServer((_, response) => response.end('pong'));
  prepare(server);
  if (answers.length > 0) {
    server.on('upgrade', (request: IncomingMessage, socket: Duplex) => {
      assert.deepEqual([request.headers.host, request.url], ['a.example', '/socket.io/?a=1']);
      joins += 1;
      const left = answers.map((one) => (typeof one === 'string' ? frame(one) : one));
      const send = (): void => {
        const next = left.shift();
        if (next) socket.write(next);
      };
      socket.write(upgrade(request));
      socket.on('data', send).on('error', () => undefined);
      send();
    });
  }
  server.on('connection', (socket) => open.add(socket));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/socket.io/?a=1`;
  return { url, joins: () => joins };
}

const probeOf = (url: string) => ({ url, host: 'a.example', namespace: 'a.example' });
const check = async (url: string) => probeRealtime(probeOf(url), new AbortController().signal);

suite('the check of a websocket', () => {
  test('passes with the event, also after a ping of Engine.IO and one of the protocol', async (t) => {
    const { url } = await aServer(t, [
      Buffer.concat([frame('x', 0x89), frame(OPEN)]),
      '2',
      JOINED,
      Buffer.concat([frame('2'), frame(ANSWER)]),
    ]);
    assert.deepEqual(await check(url), { ok: true, message: '', advisory: true });
  });

  test('reads a frame that arrives in parts', async (t) => {
    const { url } = await aServer(t, [], (server) => {
      server.on('upgrade', (request: IncomingMessage, socket: Duplex) => {
        socket.write(upgrade(request));
        const bytes = Buffer.concat([frame(OPEN), frame(JOINED + ' '.repeat(200)), frame(ANSWER)]);
        const send = (at: number): void => {
          if (at < bytes.length) {
            socket.write(bytes.subarray(at, at + 1));
            setImmediate(send, at + 1);
          }
        };
        send(0);
      });
    });
    assert.equal((await check(url)).ok, true);
  });

  const NONE = 'not answered by a websocket';
  for (const [what, answers, message] of [
    ['no websocket', [], NONE],
    ['another protocol', ['hello'], 'the server does not speak Engine.IO'],
    [
      'a site that does not answer',
      [OPEN, '44/a.example,{"message":"Unauthorized: Error: getaddrinfo ENOTFOUND <b>"}'],
      'the session check failed: Unauthorized',
    ],
    [
      'another Origin',
      [OPEN, '44/a.example,{"message":"Invalid origin"}'],
      'the session check failed: Invalid origin',
    ],
    [
      'words of its own',
      [OPEN, '44/a.example,{"message":"<script>"}'],
      'the session check failed: unknown answer',
    ],
    ['another namespace', [OPEN, '40/b.example,{}'], 'the namespace was not joined'],
    ['another event', [OPEN, JOINED, '42/a.example,["x"]'], 'another event came'],
    ['a binary frame', [frame('x', 0x82)], 'not answered by text'],
    ['a frame of 4 GiB', [Buffer.from([0x81, 127, 0, 0, 0, 1, 0, 0, 0, 0])], NONE],
    ['a masked frame', [Buffer.from([0x81, 0x81])], NONE],
    ['too much', [Buffer.alloc(70_000, frame('2'))], 'the answer is too long'],
  ] as const) {
    test(`fails for ${what}, in stable words`, async (t) => {
      const { url } = await aServer(t, answers);
      const expected = {
        ok: false,
        message: `websocket for a.example: ${message}`,
        advisory: true,
      };
      assert.deepEqual(await check(url), expected);
    });
  }

  test('fails for a server that cannot be reached', async () => {
    const { message } = await check('http://127.0.0.1:1/socket.io/');
    assert.match(message, /: no event from 127\.0\.0\.1:1: ECONNREFUSED$/);
  });

  test('fails for a connection that is closed', async (t) => {
    const { url } = await aServer(t, [OPEN], (server) => {
      server.on('upgrade', (_, socket: Duplex) => {
        socket.once('data', () => socket.end(frame('', 0x88)));
      });
    });
    const { ok, message } = await check(url);
    assert.deepEqual([ok, /: no event from 127\.0\.0\.1:\d+: EPIPE$/.test(message)], [false, true]);
  });

  test('fails for a server that never answers, and for one that only sends pings', async (t) => {
    for (const answers of [[OPEN], [OPEN, '2']]) {
      t.mock.timers.enable({ apis: ['setTimeout'] });
      const { url, joins } = await aServer(t, answers);
      const result = check(url);
      while (joins() === 0) await new Promise(setImmediate);
      for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
      t.mock.timers.tick(5_000);
      assert.match((await result).message, /: no event from .*: TimeoutError$/);
      t.mock.timers.reset();
    }
  });
});

/** Checks of a site, with a ping and a websocket, whose time the test passes. */
function checks(t: TestContext, url: string) {
  const clock = { now: 0 };
  const enqueued: string[] = [];
  const manager = new ProbeManager({
    enqueue: (owner) => enqueued.push(owner),
    monotonic: () => clock.now,
    random: () => 0.999,
  });
  t.after(async () => manager.stop());
  const target = {
    ...{ owner: 'AppSite/n/a', namespace: 'n', uid: 'u', planKey: 'p', wasReady: false },
    probes: [{ url, host: 'a.example', expectStatus: 200, expectBody: {} }, probeOf(url)],
  };
  const pass = async (ms: number): Promise<void> => {
    clock.now += ms;
    t.mock.timers.tick(ms);
    for (let turn = 0; turn < 200; turn++) await new Promise(setImmediate);
  };
  return { manager, target, enqueued, pass };
}

test('a websocket is tried after the ping, every ten minutes, and at once after a change', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const ping = { status: 503 };
  const { url, joins } = await aServer(t, [OPEN, JOINED, ANSWER], (server) => {
    server.removeAllListeners('request');
    server.on('request', (_, response) => response.writeHead(ping.status).end('{}'));
  });
  const { manager, target, pass } = checks(t, url);
  manager.results(target);
  await pass(0);
  assert.deepEqual([joins(), manager.results(target).length], [0, 1]);
  ping.status = 200;
  await pass(1_000);
  assert.deepEqual(
    [joins(), manager.results(target).map(({ ok, advisory }) => [ok, advisory])],
    [
      1,
      [
        [true, undefined],
        [true, true],
      ],
    ],
  );
  for (let minute = 1; minute <= 9; minute++) await pass(60_000);
  assert.equal(joins(), 1);
  for (let minute = 10; minute <= 11; minute++) await pass(60_000);
  assert.equal(joins(), 2);
  manager.results({ ...target, planKey: 'changed' });
  await pass(0);
  assert.equal(joins(), 3);
});

test('a websocket that fails is tried ever less often, and at once after a change', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const ping = { status: 200, requests: 0 };
  const refused = '44/a.example,{"message":"Unauthorized"}';
  const { url, joins } = await aServer(t, [OPEN, refused], (server) => {
    server.removeAllListeners('request');
    server.on('request', (_, response) => {
      ping.requests += 1;
      response.writeHead(ping.status).end('{}');
    });
  });
  const { manager, target, enqueued, pass } = checks(t, url);
  /** How often a websocket was tried within this time. */
  const triesWithin = async (seconds: number): Promise<number> => {
    const before = joins();
    await pass(0);
    for (let passed = 5; passed <= seconds; passed += 5) await pass(5_000);
    return joins() - before;
  };
  manager.results(target);
  assert.equal(await triesWithin(0), 1);
  assert.deepEqual(
    manager.results(target).map(({ ok, advisory }) => [ok, advisory]),
    [
      [true, undefined],
      [false, true],
    ],
  );
  assert.ok((await triesWithin(60)) >= 3, 'soon at first');
  await triesWithin(600);
  ping.requests = 0;
  assert.equal(await triesWithin(900), 3, 'then every five minutes');
  assert.ok(ping.requests <= 19, `the ping each minute: ${ping.requests}`);
  assert.deepEqual(enqueued, ['AppSite/n/a'], 'the result is the same');
  manager.results({ ...target, planKey: 'socketio of the bench is not ready' });
  assert.equal(await triesWithin(0), 1, 'at once after a change');
  assert.ok((await triesWithin(60)) >= 3, 'and soon again');
  await triesWithin(600);
  ping.status = 502;
  assert.equal(await triesWithin(60), 0, 'not while the site does not answer');
  ping.status = 200;
  assert.ok((await triesWithin(15)) >= 1, 'at once when it does');
});
