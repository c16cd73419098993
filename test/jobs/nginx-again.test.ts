/** Which requests nginx repeats: with the real nginx, and servers that lose connections and DNS queries. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { freePort } from '../../testbed/controlplane/ports.js';
import { aBackend, nameServer, type Nginx, startNginx } from './nginx-fixture.js';
import { daemon, eventually, get, needs, required, ROOT } from './servers.js';

const one = 'one.example.com';
const sites = [{ siteName: one, domains: [] }];
const service = 'bench.ns.svc.cluster.local';

/** nginx in front of one backend, stopped after the test. */
async function behindNginx(
  t: { after: (work: () => Promise<unknown>) => void },
  backend: string,
  proxyReadTimeout = 5,
  env: Readonly<Record<string, string>> = {},
): Promise<Nginx> {
  const input = { benchBackend: backend, socketio: backend, proxyReadTimeout, sites };
  const nginx = await startNginx(input, env);
  t.after(() => nginx.stop());
  return nginx;
}

describe('nginx repeats a request', needs('nginx', 'python3'), () => {
  for (const [method, path] of [
    ['GET', '/api/method/ping'],
    ['POST', '/api/method/ping'],
    ['GET', '/assets/none.css'],
    ['GET', '/socket.io/?transport=polling'],
  ] as const) {
    it(`if a connection is not accepted: ${method} ${path}`, async (t) => {
      const port = String(await freePort());
      const server = join(ROOT, 'test/jobs/deaf/server.py');
      const deaf = daemon([required('python3'), server, port], {});
      t.after(() => deaf.stop());
      await eventually('the backend listens', () => deaf.log().includes('listens'));
      const nginx = await behindNginx(t, `127.0.0.1:${port}`);
      const body = method === 'POST' ? 'x'.repeat(300_000) : '';
      const answer = await get(nginx.port, path, { Host: one }, { method, body });
      assert.match(deaf.log(), /ignores \d/);
      assert.equal(answer.status, 200);
      assert.ok(answer.body === `${method} ${body}`, 'the whole request came');
    });
  }

  for (const [method, lost] of [
    ['GET', `A ${service}`],
    ['POST', `AAAA ${service}`],
  ] as const) {
    it(`if a DNS query is lost: ${method}, ${lost}`, async (t) => {
      const backend = await aBackend('bench');
      const queries: string[] = [];
      const answers = (question: string): boolean => {
        const isLost = question === lost && !queries.includes(lost);
        queries.push(question);
        return !isLost;
      };
      const RESOLVER = await nameServer(new Set([service]), answers);
      const port = backend.address.split(':')[1] ?? '';
      const nginx = await behindNginx(t, `${service}:${port}`, 5, { RESOLVER });
      const { status } = await get(nginx.port, '/x', { Host: one }, { method });
      assert.equal(status, 200, queries.join());
      assert.ok(queries.indexOf(lost) < queries.lastIndexOf(lost), queries.join());
      assert.equal(backend.requests.length, 1);
    });
  }

  it('but resolves a name that does not exist once', async (t) => {
    const nginx = await behindNginx(t, `${service}:8000`, 5, {
      RESOLVER: await nameServer(new Set()),
    });
    for (const method of ['GET', 'POST']) {
      assert.equal((await get(nginx.port, '/x', { Host: one }, { method })).status, 502);
    }
    assert.equal(nginx.log().match(/could not be resolved/g)?.length, 2, nginx.log());
    assert.equal(nginx.log().match(/\(3: Host not found\)/g)?.length, 2, nginx.log());
  });

  it('once, if the connection of a GET is closed without a response', async (t) => {
    const backend = await aBackend('bench', (request, response) => {
      if (backend.requests.length === 1 || request.url === '/always') request.socket.destroy();
      else response.end('second');
    });
    const nginx = await behindNginx(t, backend.address);
    assert.equal((await get(nginx.port, '/x?y=1', { Host: one })).body, 'second');
    assert.deepEqual(
      backend.requests.map(({ url }) => url),
      ['/x?y=1', '/x?y=1'],
    );
    assert.equal((await get(nginx.port, '/always', { Host: one })).status, 502);
    assert.equal(backend.requests.length, 4);
  });

  it('never, if the backend may be processing it', async (t) => {
    const backend = await aBackend('bench', (request, response) => {
      if (request.url === '/half') response.write('half', () => request.socket.destroy());
      else if (request.method === 'POST') request.socket.destroy();
    });
    const nginx = await behindNginx(t, backend.address);
    const hasty = await behindNginx(t, backend.address, 1);
    const post = await get(nginx.port, '/x', { Host: one }, { method: 'POST', body: 'once' });
    assert.equal(post.status, 502);
    assert.equal((await get(hasty.port, '/slow', { Host: one })).status, 504);
    await assert.rejects(get(nginx.port, '/half', { Host: one }));
    assert.deepEqual(
      backend.requests.map(({ url }) => url),
      ['/x', '/slow', '/half'],
    );
  });

  it('and reports a backend that does not exist', async (t) => {
    const nginx = await behindNginx(t, `127.0.0.1:${String(await freePort())}`);
    assert.equal(
      (await get(nginx.port, '/x', { Host: one }, { method: 'POST', body: 'x' })).status,
      502,
    );
    await eventually('both tries', () =>
      /upstream=127\S+, 127\S+|upstream=127\S+ : 127/.test(nginx.log()),
    );
  });
});
