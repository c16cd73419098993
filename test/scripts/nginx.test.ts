/** The rendered configuration and nginx.sh with the real nginx and backends on loopback. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Backend,
  type Nginx,
  aBackend,
  nameServer,
  sitesVolume,
  startNginx,
} from './nginx-fixture.js';
import { BENCH_SCRIPTS, eventually, get, needs, runScript, temporaryDirectory } from './servers.js';

const one = 'one.example.com';
const two = 'two.example.com';

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
        sitesDirectory: sitesVolume(one, two),
        realIpFrom: ['127.0.0.1'],
        sites: [
          { siteName: one, domains: ['shop.example.org'] },
          { siteName: two, domains: [], backend: own.address },
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

  it('sends a site with a gunicorn of its own there, any other to the bench’s', async () => {
    assert.equal((await on(one)).body, 'bench');
    assert.equal((await on(two)).body, 'own');
    assert.equal((await on(`${two.toUpperCase()}:8080`)).body, 'own');
  });

  it('leads an alias to its site and keeps the public name', async () => {
    assert.equal((await on('shop.example.org')).body, 'bench');
    const seen = lastOf(bench);
    assert.equal(seen['host'], 'shop.example.org');
    assert.equal(seen['x-frappe-site-name'], one);
    assert.equal(seen['x-use-x-accel-redirect'], 'True');
  });

  it('answers an unknown Host by itself, with 404', async () => {
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

  it('lets no client choose the site by a header', async () => {
    await on(two, '/x', { 'X-Frappe-Site-Name': one });
    assert.equal(lastOf(own)['x-frappe-site-name'], two);
  });

  it('serves hosts named like words of nginx’s own', async () => {
    for (const host of ['default', 'hostnames', 'include', 'volatile']) {
      await on(host);
      assert.equal(lastOf(bench)['x-frappe-site-name'], 'default', host);
    }
  });

  it('costs only its own site a 502 when a Service does not exist', async () => {
    assert.equal((await on('missing.example.com')).status, 502);
    assert.equal((await on(one)).status, 200);
  });

  it('answers probes whatever their Host', async () => {
    assert.equal((await on('10.0.0.1:8080', '/assets/assets.json')).body, '{}');
    assert.equal((await on('10.0.0.1:8080', '/healthz')).body, 'ok\n');
  });

  it('serves assets and public files, each site its own', async () => {
    assert.equal((await on(one, '/assets/app.css')).headers['content-type'], 'text/css');
    assert.equal((await on(one, '/assets/none.css')).status, 404);
    assert.equal((await on(one, '/files/a.txt')).body, `public of ${one}`);
    assert.equal((await on(two, '/files/a.txt')).body, `public of ${two}`);
  });

  it('has uploads that a browser would run downloaded instead', async () => {
    const page = await on(one, '/files/page.html');
    assert.equal(page.headers['content-disposition'], 'attachment');
    assert.equal(page.headers['x-content-type-options'], 'nosniff');
  });

  it('serves private files only where the framework leads, and never configuration', async () => {
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
    assert.equal((await on(one, '//evil.example/')).headers['location'], '/evil.example');
    const split = await on(one, '/a%0d%0aSet-Cookie:%20x=1/');
    assert.equal(split.headers['set-cookie'], undefined);
  });

  it('upgrades websockets, with the public name as Host and Origin', async () => {
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
      const scheme = proto === 'https' ? 'https' : 'http';
      await eventually('the upgrade', () => text.includes(`${host} ${scheme}://${host} ${one}`));
      socket.write('hello');
      await eventually('the echo', () => text.includes('echo:hello'));
      socket.destroy();
    }
  });

  it('believes a trusted proxy about client and scheme', async () => {
    await on(one, '/x', { 'X-Forwarded-For': '203.0.113.9', 'X-Forwarded-Proto': 'https' });
    assert.equal(lastOf(bench)['x-forwarded-for'], '203.0.113.9');
    assert.equal(lastOf(bench)['x-forwarded-proto'], 'https');
  });

  it('refuses a body over the limit', async () => {
    const send = (size: number): ReturnType<typeof get> =>
      get(nginx.port, '/x', { Host: one }, 'POST', 'x'.repeat(size));
    assert.equal((await send(900_000)).status, 200);
    assert.equal((await send(1_200_000).catch(() => ({ status: 413 }))).status, 413);
  });

  it('logs visitors, not probes', async () => {
    await on(one, '/seen-by-a-visitor', { 'User-Agent': 'Mozilla' });
    await on(one, '/seen-by-a-probe', { 'User-Agent': 'kube-probe/1.34' });
    await eventually('the line', () => nginx.log().includes('/seen-by-a-visitor'));
    assert.ok(!nginx.log().includes('/seen-by-a-probe'));
  });
});

describe('nginx.sh', needs('nginx'), () => {
  it('takes a new configuration without losing a request under load', async () => {
    const backend = await aBackend('bench', (_, response) =>
      setTimeout(() => response.end('bench'), 20),
    );
    const nginx = await startNginx({
      benchBackend: backend.address,
      sites: [{ siteName: one, domains: [] }],
    });
    const answers = new Map<number, number>();
    let running = true;
    const client = async (): Promise<void> => {
      while (running) {
        const { status } = await get(nginx.port, '/x', { Host: one });
        answers.set(status, (answers.get(status) ?? 0) + 1);
      }
    };
    const clients = Array.from({ length: 16 }, client);
    for (let round = 1; round <= 3; round += 1) {
      const host = `new${String(round)}.example.com`;
      nginx.configure({ sites: [{ siteName: one, domains: [host] }] });
      await eventually(
        'the new host',
        async () => (await get(nginx.port, '/x', { Host: host })).status === 200,
      );
    }
    running = false;
    await Promise.all(clients);
    assert.deepEqual([...answers.keys()], [200], JSON.stringify([...answers]));
    assert.ok((answers.get(200) ?? 0) > 300);
    await nginx.stop();
  });

  it('keeps the last good configuration when a broken one is mounted, and takes the next good one', async () => {
    const backend = await aBackend('bench');
    const nginx = await startNginx({
      benchBackend: backend.address,
      sites: [{ siteName: one, domains: [] }],
    });
    nginx.volume.write({ 'nginx.conf': 'nonsense {', 'sites.conf': '' });
    await eventually('the complaint', () => nginx.log().includes('InvalidConfiguration'));
    assert.equal((await get(nginx.port, '/x', { Host: one })).status, 200);
    nginx.configure({ sites: [{ siteName: two, domains: [] }] });
    await eventually(
      'the good one',
      async () => (await get(nginx.port, '/x', { Host: two })).status === 200,
    );
    await nginx.stop();
  });

  it('starts with the last good configuration when the container restarts on a broken one', async () => {
    const backend = await aBackend('bench');
    const nginx = await startNginx({
      benchBackend: backend.address,
      sites: [{ siteName: one, domains: [] }],
    });
    await nginx.stop();
    const broken = temporaryDirectory();
    writeFileSync(join(broken, 'nginx.conf'), 'nonsense {');
    const again = await startNginx(
      { port: nginx.port },
      { RUN_DIR: nginx.runDirectory, CONF_DIR: broken },
    );
    assert.equal((await get(nginx.port, '/x', { Host: one })).status, 200);
    assert.match(again.log(), /InvalidConfiguration: .* the last good one is used/);
    await again.stop();
  });

  it('refuses a broken first configuration with its reason', async () => {
    const broken = temporaryDirectory();
    writeFileSync(join(broken, 'nginx.conf'), 'nonsense {');
    const result = await runScript(['sh', join(BENCH_SCRIPTS, 'nginx.sh')], {
      CONF_DIR: broken,
      RUN_DIR: temporaryDirectory(),
    });
    assert.equal(result.code, 1);
    assert.match(result.lastLine, /^app-operator: InvalidConfiguration: /);
  });

  it('ends in well under a second on SIGTERM when idle, and lets a request in flight finish', async () => {
    const idle = await startNginx({});
    const stopped = await idle.stop();
    assert.equal(stopped.code, 0);
    assert.ok(stopped.ms < 1000, `${String(stopped.ms)} ms`);

    const slow = await aBackend('slow', (_, response) =>
      setTimeout(() => response.end('slow'), 700),
    );
    const busy = await startNginx({
      benchBackend: slow.address,
      sites: [{ siteName: one, domains: [] }],
    });
    const answer = get(busy.port, '/x', { Host: one });
    await sleep(200);
    const { ms } = await busy.stop();
    assert.equal((await answer).body, 'slow');
    assert.ok(ms < 2000, `${String(ms)} ms`);
  });

  it('does not wait longer than STOP_SECONDS for an open websocket', async () => {
    const forever = await aBackend('forever', () => undefined);
    const nginx = await startNginx({
      benchBackend: forever.address,
      sites: [{ siteName: one, domains: [] }],
    });
    const hanging = get(nginx.port, '/x', { Host: one }).catch(() => 'cut');
    await sleep(200);
    const { ms } = await nginx.stop();
    await hanging;
    assert.ok(ms > 1500 && ms < 4000, `${String(ms)} ms`);
  });

  it('loads five thousand sites, names of 253 characters among them, and finds each', async () => {
    const backend = await aBackend('bench');
    const label = 'x'.repeat(60);
    const long = (n: number): string =>
      `${String(n).padStart(9, '0')}.${label}.${label}.${label}.${label}`
        .slice(0, 253)
        .replace(/\.$/, '');
    const sites = Array.from({ length: 5000 }, (_, n) => ({
      siteName: `s${String(n)}.example.com`,
      domains: [long(n)],
      backend: backend.address,
    }));
    const nginx = await startNginx({ sites });
    for (const host of ['s0.example.com', 's4999.example.com', long(0), long(4999)]) {
      assert.equal((await get(nginx.port, '/x', { Host: host })).status, 200, host.slice(0, 20));
    }
    assert.equal((await get(nginx.port, '/x', { Host: 's5000.example.com' })).status, 404);
    assert.doesNotMatch(nginx.log(), /could not build optimal/);
    await nginx.stop();
  });

  it('takes its resolver from resolv.conf, IPv6 in brackets', async () => {
    const resolv = join(temporaryDirectory(), 'resolv.conf');
    writeFileSync(
      resolv,
      'search a.b\nnameserver 10.96.0.10\nnameserver fd00::a\nnameserver fe80::1%eth0\noptions ndots:5\n',
    );
    const nginx = await startNginx({}, { RESOLV_CONF: resolv });
    const written = readFileSync(join(nginx.runDirectory, 'conf/resolver.conf'), 'utf8');
    assert.equal(written, 'resolver  10.96.0.10 [fd00::a] valid=10s;\n');
    await nginx.stop();
  });

  it('finds a Service that is created later, without a reload', async () => {
    const backend = await aBackend('late');
    const names = new Set<string>();
    const port = backend.address.split(':')[1] ?? '';
    const nginx = await startNginx(
      { sites: [{ siteName: one, domains: [], backend: `late.ns.svc.cluster.local:${port}` }] },
      { RESOLVER: await nameServer(names) },
    );
    assert.equal((await get(nginx.port, '/x', { Host: one })).status, 502);
    names.add('late.ns.svc.cluster.local');
    await eventually(
      'the Service',
      async () => (await get(nginx.port, '/x', { Host: one })).body === 'late',
    );
    await nginx.stop();
  });
});
