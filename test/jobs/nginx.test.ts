/** The rendered configuration with the real nginx and backends on loopback. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { SOCKETIO_ORIGIN_PORT } from '../../constructs/kit/constants.generated.js';
import {
  type Backend,
  type Nginx,
  aBackend,
  HASHED_ASSET,
  nameServer,
  sitesVolume,
  startNginx,
} from './nginx-fixture.js';
import { eventually, get, needs } from './servers.js';

const one = 'one.example.com';
const two = 'two.example.com';
/** Its folder has the prefix of the assets' folder. */
const three = 'assets.example.com';

describe('nginx', needs('nginx'), () => {
  let nginx: Nginx;
  let bench: Backend;
  let own: Backend;
  let socketio: Backend;
  before(async () => {
    bench = await aBackend('bench', (request, response) => {
      if (request.url === '/private/files/secret.txt') {
        response.setHeader('X-Accel-Redirect', '/protected/private/files/secret.txt');
      }
      response.end('bench');
    });
    own = await aBackend('own');
    socketio = await aBackend('socketio', undefined, (server) => {
      server.on('upgrade', (request, socket) => {
        const { host, origin } = request.headers;
        const site = String(request.headers['x-frappe-site-name']);
        socket.write(
          'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n',
        );
        socket.write(`${String(host)} ${String(origin)} ${site}`);
        socket.on('data', (data: Buffer) => socket.write(`echo:${data.toString()}`));
      });
    });
    nginx = await startNginx(
      {
        benchBackend: bench.address,
        socketio: socketio.address,
        sitesDirectory: sitesVolume(one, two, three),
        realIpFrom: ['127.0.0.1'],
        sites: [
          { siteName: one, domains: ['shop.example.org'] },
          { siteName: two, domains: [], backend: own.address },
          { siteName: three, domains: ['three.example.org'], protocol: 'https' },
          {
            siteName: 'missing.example.com',
            domains: [],
            backend: 'gone.ns.svc.cluster.local:8000',
          },
          { siteName: 'default', domains: ['hostnames', 'include', 'volatile'] },
        ],
      },
      { RESOLVER: await nameServer(new Set()) },
    );
  });
  after(async () => {
    await nginx.stop();
  });

  const on = (host: string, path = '/api/method/ping', headers = {}): ReturnType<typeof get> =>
    get(nginx.port, path, { Host: host, ...headers });
  const lastOf = (backend: Backend): Record<string, unknown> => ({
    ...backend.requests.at(-1)?.headers,
  });

  it('sends requests of a site with its own gunicorn there, others to the bench’s', async () => {
    assert.equal((await on(one)).body, 'bench');
    assert.equal((await on(two)).body, 'own');
    assert.equal((await on(`${two.toUpperCase()}:8080`)).body, 'own');
  });

  it('maps an alias to its site and keeps the public name', async () => {
    assert.equal((await on('shop.example.org')).body, 'bench');
    const seen = lastOf(bench);
    assert.equal(seen['host'], 'shop.example.org');
    assert.equal(seen['x-frappe-site-name'], one);
    assert.equal(seen['x-use-x-accel-redirect'], 'True');
  });

  it('answers an unknown Host with 404', async () => {
    const before = bench.requests.length + own.requests.length;
    for (const path of [
      '/',
      '/api/method/ping',
      '/files/a.txt',
      '/assets/app.css',
      '/socket.io/',
      '/files/page.html',
    ]) {
      assert.equal((await on('unknown.example.com', path)).status, 404, path);
    }
    assert.equal(bench.requests.length + own.requests.length, before);
  });

  it('allows no client to choose the site by a header', async () => {
    await on(two, '/x', { 'X-Frappe-Site-Name': one });
    assert.equal(lastOf(own)['x-frappe-site-name'], two);
  });

  it('serves hosts that are named like keywords of nginx', async () => {
    for (const host of ['default', 'hostnames', 'include', 'volatile']) {
      await on(host);
      assert.equal(lastOf(bench)['x-frappe-site-name'], 'default', host);
    }
  });

  it('answers with 502 only for the site whose Service does not exist', async () => {
    assert.equal((await on('missing.example.com')).status, 502);
    assert.equal((await on(one)).status, 200);
  });

  it('answers probes whatever their Host', async () => {
    assert.equal((await on('10.0.0.1:8080', '/assets/assets.json')).body, '{}');
    assert.equal((await on('10.0.0.1:8080', '/healthz')).body, 'ok\n');
  });

  it('serves assets and public files, each site its own', async () => {
    assert.equal((await on(one, '/assets/app.css')).headers['content-type'], 'text/css');
    assert.equal((await on(one, '/files/a.txt')).body, `public of ${one}`);
    assert.equal((await on(two, '/files/a.txt')).body, `public of ${two}`);
  });

  it('lets browsers keep an asset only where its name has a hash', async () => {
    const cacheOf = async (path: string): Promise<unknown> => {
      const { headers } = await on(one, path);
      assert.equal(headers['x-content-type-options'], 'nosniff', path);
      return headers['cache-control'];
    };
    assert.equal(await cacheOf(`/${HASHED_ASSET}`), 'public, max-age=31536000, immutable');
    assert.equal(await cacheOf(`/${HASHED_ASSET}?v=1`), 'public, max-age=31536000, immutable');
    for (const path of ['/assets/app.css', '/assets/assets.json', '/files/a.txt', '/app'])
      assert.equal(await cacheOf(path), undefined, path);
    const missing = await on('unknown.example.com', `/${HASHED_ASSET}`);
    assert.deepEqual([missing.status, missing.headers['cache-control']], [404, undefined]);
  });

  it('passes requests for unknown assets to the site’s own processes, which may have another image', async () => {
    await on(two, '/assets/none.css');
    assert.equal(lastOf(own)['x-frappe-site-name'], two);
    await on(one, '/assets/none.css');
    assert.equal(lastOf(bench)['x-frappe-site-name'], one);
  });

  it('serves no file of a site whose name has the prefix of the assets’ folder', async () => {
    for (const host of [one, three]) {
      for (const path of ['site_config.json', 'private/files/secret.txt', 'public/files/a.txt']) {
        assert.equal((await on(host, `/${three}/${path}`)).body, 'bench', path);
      }
    }
    assert.equal((await on(three, '/files/a.txt')).body, `public of ${three}`);
  });

  for (const name of ['page.html', 'page.svgz', 'page.rss']) {
    it(`serves uploads that a browser would run as downloads: ${name}`, async () => {
      const page = await on(one, `/files/${name}`);
      assert.equal(page.body, '<script>1</script>');
      assert.equal(page.headers['content-disposition'], 'attachment');
      assert.equal(page.headers['x-content-type-options'], 'nosniff');
    });
  }

  it('serves private files only by X-Accel-Redirect, and never configuration', async () => {
    assert.equal((await on(one, '/private/files/secret.txt')).body, `private of ${one}`);
    assert.equal((await on(one, '/protected/private/files/secret.txt')).status, 404);
    for (const path of [
      '/site_config.json',
      `/${two}/site_config.json`,
      '/../site_config.json',
      '/files/..%2f..%2fsite_config.json',
    ]) {
      assert.ok(!(await on(one, path)).body.includes('db_password'), path);
    }
  });

  it('strips .html and slashes by a redirect that stays on the site', async () => {
    assert.equal((await on(one, '/about/')).headers['location'], '/about');
    assert.equal((await on(one, '/about.html')).headers['location'], '/about');
    assert.equal((await on(one, '/docs/index.html')).headers['location'], '/docs');
    for (const start of ['//', '/%5C', '/%5c%5c', '/%09/', '/%5C/', '///%5C']) {
      for (const end of ['/', '.html', '/index.html']) {
        const answer = await on(one, `${start}evil.example${end}`);
        const location = String(answer.headers['location'] ?? '/');
        const { origin } = new URL(location, `https://${one}`);
        assert.equal(origin, `https://${one}`, `${start}evil.example${end} leads to ${location}`);
      }
    }
    const split = await on(one, '/a%0d%0aSet-Cookie:%20x=1/');
    assert.equal(split.headers['set-cookie'], undefined);
  });

  it('upgrades websockets, with the public name in Host and Origin, whatever the browser sends', async () => {
    for (const [proto, host] of [
      ['https', 'shop.example.org'],
      ['evil', one],
    ] as const) {
      const socket = connect(nginx.port, '127.0.0.1');
      let text = '';
      socket.on('data', (data: Buffer) => (text += data.toString()));
      socket.write(
        `GET /socket.io/?transport=websocket HTTP/1.1\r\nHost: ${host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
          `Origin: https://evil.example\r\nX-Forwarded-Proto: ${proto}\r\n\r\n`,
      );
      const origin = `http://${host}:${String(SOCKETIO_ORIGIN_PORT)}`;
      await eventually('the upgrade', () => text.includes(`${host} ${origin} ${one}`));
      socket.write('hello');
      await eventually('the echo', () => text.includes('echo:hello'));
      socket.destroy();
    }
  });

  it('uses client and scheme from a trusted proxy', async () => {
    await on(one, '/x', { 'X-Forwarded-For': '203.0.113.9', 'X-Forwarded-Proto': 'https' });
    assert.equal(lastOf(bench)['x-forwarded-for'], '203.0.113.9');
    assert.equal(lastOf(bench)['x-forwarded-proto'], 'https');
  });

  it('uses the scheme of a public address, whatever the proxy in front says', async () => {
    for (const host of [three, 'three.example.org']) {
      for (const headers of [{}, { 'X-Forwarded-Proto': 'http' }]) {
        await on(host, '/x', headers);
        assert.equal(lastOf(bench)['x-forwarded-proto'], 'https');
      }
    }
    await on(one, '/x', { 'X-Forwarded-Proto': 'http' });
    assert.equal(lastOf(bench)['x-forwarded-proto'], 'http');
  });

  it('rejects a body over the limit', async () => {
    const send = (size: number): ReturnType<typeof get> =>
      get(nginx.port, '/x', { Host: one }, { method: 'POST', body: 'x'.repeat(size) });
    assert.equal((await send(900_000)).status, 200);
    assert.equal((await send(1_200_000).catch(() => ({ status: 413 }))).status, 413);
  });

  it('logs every request but /healthz, whatever its headers say, and no id of a session', async () => {
    await get(nginx.port, '/healthz', { Host: one });
    await on(one, '/seen-by-an-imitated-probe', { 'User-Agent': 'kube-probe/1.34' });
    await on(`${one}:${String(SOCKETIO_ORIGIN_PORT)}`, '/seen-by-socketio?a=1&sid=secret&b=2', {});
    await on(one, '/seen-by-a-visitor?sid=secret', { 'User-Agent': 'Mozilla' });
    await eventually('the line', () => nginx.log().includes('/seen-by-a-visitor'));
    assert.match(nginx.log(), /"GET \/seen-by-an-imitated-probe HTTP/);
    assert.match(nginx.log(), /"GET \/seen-by-socketio[?]a=1&sid=[.]{3}&b=2 HTTP/);
    assert.match(nginx.log(), /"GET \/seen-by-a-visitor[?]sid=[.]{3} HTTP/);
    assert.doesNotMatch(nginx.log(), /sid=secret|healthz/);
  });
});
