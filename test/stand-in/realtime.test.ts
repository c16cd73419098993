/**
 * The image's realtime server, on the real socket.io: who may connect, and which events arrive.
 * Facts: docs/contributing/frappe-16.md, Realtime.
 */
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { SOCKETIO_ORIGIN_PORT } from '../../constructs/kit/constants.generated.js';
import { freePort } from '../../testbed/controlplane/ports.js';
import { type Daemon, type Env, eventually, get } from '../jobs/servers.js';
import { WebSocketClient } from '../../runner/health/websocket.js';
import { probeRealtime } from '../../runner/health/realtime-probe.js';
import { type Nginx, nameServer, startNginx } from '../jobs/nginx-fixture.js';
import { SCRIPTS } from '../jobs/servers.js';
import { joinByPolling, joinByWebSocket } from '../support/realtime.js';
import { type Site, Stack, needsImage, type Web } from './fixture.js';
import { startTlsEdge } from './tls-edge.js';

const possible = await needsImage('mariadbd', 'redis-server', 'python3', 'nginx');
const POLL = '/socket.io/?EIO=4&transport=polling';
/** Of Engine.IO: a poll may bring several packets. */
const [PING, PONG, SEPARATOR] = ['2', '3', '\x1e'];

/** Logs in as the administrator; returns the cookie. */
async function login(site: Site, port: number): Promise<string> {
  const body = JSON.stringify({ usr: 'Administrator', pwd: site.env['ADMIN_PASSWORD'] });
  const headers = { Host: site.name, 'Content-Type': 'application/json' };
  const answer = await get(port, '/api/method/login', headers, { method: 'POST', body });
  assert.equal(answer.status, 200, answer.body);
  return (answer.headers['set-cookie'] as string[])[0]?.split(';')[0] ?? '';
}

describe('realtime of the framework image', possible, () => {
  let stack: Stack;
  let site: Site;
  let web: Web;
  let server: Daemon;
  let port: number;
  let session: string;
  before(async () => {
    stack = await Stack.start('mariadb');
    site = stack.site();
    assert.equal((await site.init()).code, 0);
    web = await stack.bench.gunicorn({ SITE_NAME: site.name });
    session = await login(site, web.port);
    port = await freePort();
    server = startServer(port);
    await eventually('it listens', () => server.log().includes('Realtime service listening'));
  });
  after(async () => {
    await server.stop();
    await web.server.stop();
    await stack.stop();
  });

  const startServer = (at: number, env: Env = {}): Daemon =>
    stack.bench.daemon(['node', `${stack.bench.path}/apps/frappe/socketio.js`], {
      FRAPPE_SOCKETIO_PORT: String(at),
      ...env,
    });

  /**
   * Connects to the site's namespace by long polling; returns the server's answer and a way to go
   * on polling.
   */
  async function connect(headers: Env): Promise<{ answer: string; next: () => Promise<string> }> {
    const opened = await get(port, POLL, headers);
    const { sid } = JSON.parse(opened.body.slice(1)) as { sid: string };
    const url = `${POLL}&sid=${sid}`;
    const body = `40/${site.name},`;
    assert.equal((await get(port, url, headers, { method: 'POST', body })).body, 'ok');
    const next = async (): Promise<string> => {
      const packets = (await get(port, url, headers)).body.split(SEPARATOR);
      const events = packets.filter((packet) => packet !== PING);
      // After 25 s the server sends a ping.
      if (events.length < packets.length)
        await get(port, url, headers, { method: 'POST', body: PONG });
      return events.length > 0 ? events.join(SEPARATOR) : next();
    };
    return { answer: await next(), next };
  }

  const from = (origin: string, more: Env = {}): Env => ({
    Origin: origin,
    'X-Frappe-Site-Name': site.name,
    Cookie: session,
    ...more,
  });

  it('admits users of the site, and sends events of this site', async () => {
    const { answer, next } = await connect(from(`http://127.0.0.1:${String(web.port)}`));
    assert.match(answer, /^40\/site1\.example\.com,\{"sid":/);
    const guest = await connect(
      from(`http://127.0.0.1:${String(web.port)}`, { Cookie: 'sid=Guest' }),
    );
    assert.match(guest.answer, /^40\//);
    const event = `--kwargs={"event": "news", "message": {"text": "hello"}}`;
    assert.equal(site.bench('execute', 'frappe.publish_realtime', event).code, 0);
    assert.equal(await next(), `42/${site.name},["news",{"text":"hello"}]`);
  });

  it('refuses another origin, no cookie, another site, and a site that does not answer', async () => {
    const own = `http://127.0.0.1:${String(web.port)}`;
    const refused = async (headers: Env) => (await connect(headers)).answer;
    assert.match(await refused(from('http://evil.example')), /Invalid origin/);
    assert.match(await refused(from(own, { Cookie: '' })), /No cookie transmitted/);
    assert.match(
      await refused(from(own, { 'X-Frappe-Site-Name': 'other.example' })),
      /Invalid namespace/,
    );
    assert.match(await refused(from('http://127.0.0.1:9')), /^44\//);
  });

  it('speaks websocket', async () => {
    const status = await new Promise<number>((resolve, reject) => {
      const call = request({
        host: '127.0.0.1',
        port,
        path: '/socket.io/?EIO=4&transport=websocket',
        headers: {
          Connection: 'Upgrade',
          Upgrade: 'websocket',
          'Sec-WebSocket-Version': '13',
          'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
        },
      });
      call.on('upgrade', (response, socket) => {
        socket.destroy();
        resolve(response.statusCode ?? 0);
      });
      call.on('response', ({ statusCode }) => {
        resolve(statusCode ?? 0);
      });
      call.on('error', reject);
      call.end();
    });
    assert.equal(status, 101);
  });

  it('ends when it cannot reach Redis', async () => {
    const lost = startServer(await freePort(), { FRAPPE_REDIS_QUEUE: 'redis://127.0.0.1:9' });
    await eventually('it ended', () => lost.process.exitCode !== null);
    assert.notEqual(lost.process.exitCode, 0);
  });
});

/** The Origin's scheme is the browser's, and no name of the site resolves here. */
for (const version of ['15.44.2', '16.10.4']) {
  describe(`realtime behind nginx without public DNS, version ${version}`, possible, () => {
    const ALIAS = 'shop.example.invalid';
    let stack: Stack;
    let site: Site;
    let web: Web;
    let server: Daemon;
    let nginx: Nginx;
    let session: string;
    before(async () => {
      stack = await Stack.start('mariadb', version);
      site = stack.site();
      assert.equal((await site.init()).code, 0);
      web = await stack.bench.gunicorn();
      const [proxyPort, port] = [await freePort(), await freePort()];
      server = stack.bench.daemon(realtimeCommand(stack), {
        FRAPPE_SOCKETIO_PORT: String(port),
        NGINX_HOST: 'localhost',
        NGINX_PORT: String(proxyPort),
        SOCKETIO_ORIGIN_PORT: String(SOCKETIO_ORIGIN_PORT),
      });
      await eventually('it listens', () => server.log().includes('Realtime service listening'));
      nginx = await startNginx(
        {
          port: proxyPort,
          benchBackend: `127.0.0.1:${String(web.port)}`,
          socketio: `127.0.0.1:${String(port)}`,
          sitesDirectory: stack.bench.sites,
          sites: [{ siteName: site.name, domains: [ALIAS] }],
        },
        { RESOLVER: await nameServer(new Set()) },
      );
      session = await login(site, nginx.port);
    });
    after(async () => {
      await Promise.all([nginx.stop(), web.server.stop(), server.stop()]);
      await stack.stop();
    });

    /** Joins the site's namespace by a websocket; returns the answer and the socket. */
    async function join(headers: Env) {
      const url = `http://127.0.0.1:${String(nginx.port)}/socket.io/?EIO=4&transport=websocket`;
      const client = await WebSocketClient.open(url, headers, AbortSignal.timeout(30_000));
      assert.match(await client.receive(), /^0\{/);
      client.send(`40/${site.name},`);
      return { answer: await client.receive(), client };
    }

    for (const [what, headers] of [
      ['the site', { Host: 'site1.example.com' }],
      ['an alias with TLS at the edge', { Host: ALIAS, 'X-Forwarded-Proto': 'https' }],
      ['another Origin', { Host: ALIAS, Origin: 'https://evil.example' }],
    ] as const) {
      it(`a websocket of ${what} joins, and receives an event`, async () => {
        const { answer, client } = await join({ ...headers, Cookie: session });
        assert.match(answer, new RegExp(`^40/${site.name},\\{"sid":`));
        const event = `--kwargs={"event": "news", "message": {"text": "hello"}}`;
        assert.equal(site.bench('execute', 'frappe.publish_realtime', event).code, 0);
        assert.equal(await client.receive(), `42/${site.name},["news",{"text":"hello"}]`);
        client.close();
      });
    }

    for (const transport of ['websocket', 'polling'] as const) {
      for (const suffix of ['', ':8443']) {
        it(`by ${transport} through TLS of a private CA, from https://host${suffix}`, async () => {
          const edge = await startTlsEdge([site.name, ALIAS], nginx.port);
          try {
            const Host = `${ALIAS}${suffix}`;
            const loggedIn = await edge.exchange(ALIAS, '/api/method/login', {
              method: 'POST',
              headers: { Host, 'Content-Type': 'application/json' },
              body: JSON.stringify({ usr: 'Administrator', pwd: site.env['ADMIN_PASSWORD'] }),
            });
            const [cookie = ''] = loggedIn.headers['set-cookie'] as string[];
            assert.match(cookie, /^sid=[^;]+;.*; secure/i);
            const Cookie = cookie.split(';')[0] ?? '';
            const headers = { Host, Origin: `https://${Host}`, Cookie };
            const client =
              transport === 'polling'
                ? await joinByPolling(
                    (path, options) => edge.exchange(ALIAS, path, { ...options, headers }),
                    site.name,
                  )
                : await joinByWebSocket(
                    `http://127.0.0.1:${await edge.encrypted(ALIAS)}`,
                    headers,
                    site.name,
                  );
            assert.match(client.answer, new RegExp(`^40/${site.name},\\{"sid":`));
            const event = `--kwargs={"event": "news", "message": {"text": "hello"}}`;
            assert.equal(site.bench('execute', 'frappe.publish_realtime', event).code, 0);
            assert.equal(await client.next(), `42/${site.name},["news",{"text":"hello"}]`);
            client.close();
          } finally {
            await edge.stop();
          }
        });
      }
    }

    it('asks the site again for permissions', async () => {
      const { client } = await join({ Host: ALIAS, Cookie: session });
      client.send(`42/${site.name},["doctype_subscribe","User"]`);
      client.send(`42/${site.name},["ping"]`);
      assert.equal(await client.receive(), `42/${site.name},["pong"]`);
      await eventually('the room is joined', async () => {
        const event = `--kwargs={"event": "list_update", "message": {}, "room": "doctype:User"}`;
        assert.equal(site.bench('execute', 'frappe.publish_realtime', event).code, 0);
        const got = await Promise.race([
          client.receive(),
          new Promise<string>((resolve) => setTimeout(() => resolve(''), 1000)),
        ]);
        return got === `42/${site.name},["list_update",{}]`;
      });
      client.close();
    });

    it('reaches no other host: an unknown one gets 404 of nginx, before socketio', async () => {
      const headers = { Host: 'evil.example', Cookie: session };
      await assert.rejects(join(headers), /not answered by a websocket/);
      const polled = await get(nginx.port, '/socket.io/?EIO=4&transport=polling', headers);
      assert.equal(polled.status, 404);
    });

    it('does not write the id of a session to the log of nginx', () => {
      assert.doesNotMatch(nginx.log(), new RegExp(session.replace('sid=', '')));
    });

    it('passes the check of the operator, which fails where the site does not answer', async () => {
      const probe = () =>
        probeRealtime(
          {
            url: `http://127.0.0.1:${String(nginx.port)}/socket.io/?EIO=4&transport=websocket`,
            host: site.name,
            namespace: site.name,
          },
          AbortSignal.timeout(30_000),
        );
      assert.deepEqual(await probe(), { ok: true, message: '', advisory: true });
      await web.server.stop();
      const { message } = await probe();
      assert.equal(
        message,
        'websocket for site1.example.com: the session check failed: Unauthorized',
      );
    });
  });
}

/** As the operator starts it. */
function realtimeCommand({ bench }: Stack): readonly string[] {
  const preload = `${SCRIPTS}/socketio_sites.cjs`;
  return ['node', '--require', preload, `${bench.path}/apps/frappe/socketio.js`];
}
