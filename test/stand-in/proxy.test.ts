/** The image's processes behind the operator's nginx and configuration. */
import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { freePort } from '../../testbed/controlplane/ports.js';
import { type Nginx, nameServer, startNginx } from '../jobs/nginx-fixture.js';
import { type Answer, type Daemon, type Env, eventually, get } from '../jobs/servers.js';
import { type Site, Stack, needsImage, type Web } from './fixture.js';

const possible = await needsImage('mariadbd', 'redis-server', 'nginx', 'python3');
const ALIAS = 'shop.example.org';

describe('the framework image behind nginx', possible, () => {
  let stack: Stack;
  let site: Site;
  let web: Web;
  let realtime: Daemon;
  let nginx: Nginx;
  let session: Env;

  before(async () => {
    stack = await Stack.start('mariadb');
    site = stack.site();
    assert.equal((await site.init()).code, 0);
    web = await stack.bench.gunicorn();
    const port = await freePort();
    realtime = stack.bench.daemon(['node', `${stack.bench.path}/apps/frappe/socketio.js`], {
      FRAPPE_SOCKETIO_PORT: String(port),
    });
    await eventually('it listens', () => realtime.log().includes('Realtime service listening'));
    nginx = await startNginx(
      {
        benchBackend: `127.0.0.1:${String(web.port)}`,
        socketio: `127.0.0.1:${String(port)}`,
        sitesDirectory: stack.bench.sites,
        sites: [{ siteName: site.name, domains: [ALIAS] }],
      },
      { RESOLVER: await nameServer(new Set()) },
    );
    const login = JSON.stringify({ usr: 'Administrator', pwd: site.env['ADMIN_PASSWORD'] });
    const json = { 'Content-Type': 'application/json' };
    const answer = await request('/api/method/login', json, 'POST', login);
    assert.equal(answer.status, 200, answer.body);
    session = { Cookie: (answer.headers['set-cookie'] as string[])[0]?.split(';')[0] ?? '' };
  });
  after(async () => {
    await Promise.all([nginx.stop(), web.server.stop(), realtime.stop()]);
    await stack.stop();
  });

  const request = (path: string, headers: Env = {}, method = 'GET', body = ''): Promise<Answer> =>
    get(nginx.port, path, { Host: site.name, ...headers }, { method, body });

  const upload = (name: string, isPrivate: string, text: string): Promise<Answer> => {
    const part = (head: string, value: string): string =>
      `--b\r\nContent-Disposition: form-data; ${head}\r\n\r\n${value}\r\n`;
    const parts = [
      part('name="is_private"', isPrivate),
      part(`name="file"; filename="${name}"`, text),
    ];
    const type = { 'Content-Type': 'multipart/form-data; boundary=b' };
    return request(
      '/api/method/upload_file',
      { ...session, ...type },
      'POST',
      `${parts.join('')}--b--\r\n`,
    );
  };

  it('answers for the site and its alias only', async () => {
    const pong = '{"message":"pong"}';
    for (const host of [site.name, ALIAS]) {
      assert.equal((await request('/api/method/ping', { Host: host })).body, pong, host);
    }
    assert.equal((await request('/api/method/ping', { Host: 'other.example' })).status, 404);
    const header = { Host: 'other.example', 'X-Frappe-Site-Name': site.name };
    assert.equal((await request('/api/method/ping', header)).status, 404);
  });

  it('sends the assets that pages link', async () => {
    const page = await request('/login');
    const links = [...page.body.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(
      ([, link]) => link,
    );
    assert.equal(links.length, 2, page.body);
    for (const link of links) assert.equal((await request(link ?? '')).status, 200, link);
    assert.equal((await request('/assets/assets.json')).status, 200);
  });

  it('serves public files to everyone, and private files as the framework decides', async () => {
    assert.equal((await upload('open.txt', '0', 'open')).status, 200);
    assert.equal((await upload('own.txt', '1', 'own')).status, 200);
    assert.equal((await request('/files/open.txt')).body, 'open');
    assert.equal((await request('/private/files/own.txt')).status, 403);
    assert.equal((await request('/private/files/own.txt', session)).body, 'own');
    assert.equal((await request('/protected/private/files/own.txt', session)).status, 404);
    assert.equal((await request('/files/own.txt', session)).status, 404);
  });

  it('refuses a body above the limit', async () => {
    assert.equal((await upload('big.txt', '0', 'x'.repeat(2_000_000))).status, 413);
  });

  it('upgrades to a websocket', async () => {
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const call = httpRequest({
        host: '127.0.0.1',
        port: nginx.port,
        path: '/socket.io/?EIO=4&transport=websocket',
        headers: {
          Host: ALIAS,
          Connection: 'Upgrade',
          Upgrade: 'websocket',
          'Sec-WebSocket-Version': '13',
          'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
        },
      });
      call.on('upgrade', ({ statusCode }, socket) => {
        socket.destroy();
        resolve(statusCode);
      });
      call.on('response', ({ statusCode }) => {
        resolve(statusCode);
      });
      call.on('error', reject);
      call.end();
    });
    assert.equal(status, 101);
  });

  it('shows the page of maintenance', async () => {
    assert.equal(site.bench('set-maintenance-mode', 'on').code, 0);
    const page = await request('/');
    assert.deepEqual([page.status, page.body.includes('Updating')], [503, true]);
    assert.equal(site.bench('set-maintenance-mode', 'off').code, 0);
    assert.equal((await request('/')).status, 200);
  });
});
