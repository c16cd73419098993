/** The image's realtime server, on the real socket.io: who may connect, and which events arrive. */
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { freePort } from '../../testbed/controlplane/ports.js';
import { type Daemon, type Env, eventually, get } from '../jobs/servers.js';
import { type Site, Stack, needsImage, type Web } from './fixture.js';

const possible = await needsImage('mariadbd', 'redis-server', 'python3');
const POLL = '/socket.io/?EIO=4&transport=polling';
/** Of Engine.IO: a poll may bring several packets. */
const [PING, PONG, SEPARATOR] = ['2', '3', '\x1e'];

describe('realtime of the framework image', possible, () => {
  let stack: Stack;
  let site: Site;
  let web: Web;
  let server: Daemon;
  let port: number;
  before(async () => {
    stack = await Stack.start('mariadb');
    site = stack.site();
    assert.equal((await site.init()).code, 0);
    web = await stack.bench.gunicorn({ SITE_NAME: site.name });
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
    Cookie: 'sid=Guest',
    ...more,
  });

  it('admits users of the site, and sends events of this site', async () => {
    const { answer, next } = await connect(from(`http://127.0.0.1:${String(web.port)}`));
    assert.match(answer, /^40\/site1\.example\.com,\{"sid":/);
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
