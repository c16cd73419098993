/** app_operator_wsgi.py under the real gunicorn, with the flags of the pods; the framework's application is a stand-in. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { freePort } from '../../testbed/controlplane/ports.js';
import { SOURCES } from '../../testbed/stand-in/sources.js';
import {
  type Answer,
  SCRIPTS,
  type Daemon,
  type Env,
  daemon,
  eventually,
  get,
  program,
  temporaryDirectory,
} from './servers.js';
import { needsStandIn, packages } from './site-fixture.js';

/** Where the stand-in and its packages are imported from. */
const STAND_IN = [join(SOURCES, 'apps/frappe'), packages.path].join(',');
const PING = '/api/method/ping';
const kubelet = { 'User-Agent': 'kube-probe/1.34', Host: '10.0.0.9:8000' };
const PONG = '{"message":"pong"}';

async function startGunicorn(
  env: Env,
  sites?: string,
): Promise<Daemon & { readonly port: number }> {
  const port = await freePort();
  const command = [
    program('gunicorn') ?? 'gunicorn',
    `--chdir=${sites ?? temporaryDirectory()}`,
    `--pythonpath=${SCRIPTS},${STAND_IN}`,
    `--bind=127.0.0.1:${String(port)}`,
    '--threads=4',
    '--workers=2',
    '--worker-class=gunicorn_worker.Worker',
    '--worker-tmp-dir=/dev/shm',
    '--preload',
    'app_operator_wsgi:application',
  ];
  const started = daemon(command, { ...env, STANDIN_STATES: '1', PYTHONDONTWRITEBYTECODE: '1' });
  await eventually(
    `gunicorn: ${started.log()}`,
    async () => (await get(port, PING, kubelet)).status === 200,
  );
  return { ...started, port };
}

describe('app_operator_wsgi.py on a bench', needsStandIn('gunicorn'), () => {
  let gunicorn: Awaited<ReturnType<typeof startGunicorn>>;
  before(async () => {
    gunicorn = await startGunicorn({});
  });
  after(() => gunicorn.stop());
  const ask = (headers: Env, path = PING): Promise<Answer> => get(gunicorn.port, path, headers);

  it('answers a kubelet without a site: the process runs', async () => {
    const answer = await ask(kubelet);
    assert.deepEqual([answer.status, answer.body], [200, PONG]);
    assert.equal(answer.headers['content-type'], 'application/json');
  });

  it('passes a kubelet’s ping with a site to the framework', async () => {
    const status = async (site: string): Promise<number> =>
      (await ask({ ...kubelet, 'X-Frappe-Site-Name': site })).status;
    assert.equal(await status('up.example.com'), 200);
    assert.equal(await status('down.example.com'), 500);
    assert.equal(await status('none.example.com'), 404);
  });

  it('counts maintenance as ready, and no other 503', async () => {
    const paused = await ask({ ...kubelet, 'X-Frappe-Site-Name': 'paused.example.com' });
    assert.deepEqual([paused.status, paused.body], [200, PONG]);
    assert.equal((await ask({ ...kubelet, 'X-Frappe-Site-Name': 'busy.example.com' })).status, 503);
  });

  it('passes all other requests unchanged', async () => {
    assert.equal((await ask({ Host: '10.0.0.9' })).status, 404, 'a visitor’s ping of no site');
    assert.equal(
      (await ask({ Host: 'paused.example.com' })).status,
      503,
      'a visitor sees maintenance',
    );
    assert.equal(
      (await ask({ ...kubelet, Host: 'up.example.com' }, '/api/method/other')).body,
      'framework GET /api/method/other ',
    );
    const post = await get(
      gunicorn.port,
      PING,
      { ...kubelet, Host: 'up.example.com' },
      { method: 'POST', body: 'data' },
    );
    assert.equal(post.body, `framework POST ${PING} data`);
    assert.deepEqual(post.headers['set-cookie'], ['sid=1']);
  });

  it('selects the site as the framework does, without SITE_NAME', async () => {
    assert.equal((await ask({ Host: 'up.example.com' })).headers['x-site'], 'up.example.com');
    assert.equal(
      (await ask({ Host: 'x', 'X-Frappe-Site-Name': 'up.example.com' })).headers['x-site'],
      'up.example.com',
    );
  });
});

describe('app_operator_wsgi.py of a site', needsStandIn('gunicorn'), () => {
  it('handles every request for the site, whatever its Host or header', async () => {
    const gunicorn = await startGunicorn({ SITE_NAME: 'up.example.com' });
    for (const headers of [
      { Host: 'paused.example.com' },
      { Host: '10.0.0.9' },
      { Host: 'x', 'X-Frappe-Site-Name': 'down.example.com' },
    ]) {
      assert.equal((await get(gunicorn.port, PING, headers)).headers['x-site'], 'up.example.com');
    }
    await gunicorn.stop();
  });

  it('is ready in maintenance and not without its database', async () => {
    const paused = await startGunicorn({ SITE_NAME: 'paused.example.com' });
    assert.equal(
      (await get(paused.port, PING, { ...kubelet, 'X-Frappe-Site-Name': 'paused.example.com' }))
        .status,
      200,
    );
    await paused.stop();
    const down = await startGunicorn({ SITE_NAME: 'down.example.com' });
    assert.equal(
      (await get(down.port, PING, { ...kubelet, 'X-Frappe-Site-Name': 'down.example.com' })).status,
      500,
    );
    assert.equal((await get(down.port, PING, kubelet)).status, 200, 'alive all the same');
    await down.stop();
  });
});

describe('app_operator_wsgi.py and upgrades', needsStandIn('gunicorn'), () => {
  let gunicorn: Awaited<ReturnType<typeof startGunicorn>>;
  let sites: string;
  before(async () => {
    sites = temporaryDirectory();
    mkdirSync(join(sites, 'up.example.com'));
    mkdirSync(join(sites, 'assets/frappe/dist'), { recursive: true });
    writeFileSync(join(sites, 'assets/frappe/dist/desk.bundle.ABC.js'), 'desk()');
    writeFileSync(
      join(sites, 'assets/assets.json'),
      '{"desk.bundle.js":"/assets/frappe/dist/desk.bundle.ABC.js"}',
    );
    writeFileSync(join(sites, 'secret.txt'), 'secret');
    gunicorn = await startGunicorn({ IMAGE: 'new' }, sites);
  });
  after(() => gunicorn.stop());
  const marker = (content: unknown): void => {
    writeFileSync(join(sites, 'up.example.com/.app-operator.json'), JSON.stringify(content));
  };
  const ask = (path = '/app', headers: Env = {}): Promise<Answer> =>
    get(gunicorn.port, path, { Host: 'up.example.com', ...headers });

  it('serves a site whose data is of its image', async () => {
    marker({ code: { image: 'new', frappe: '15' } });
    assert.equal((await ask()).status, 200);
    marker({ code: { frappe: '15' } });
    assert.equal((await ask()).status, 200, 'of an unknown image');
  });

  it('shows a page while the site is closed or has data of another image; a change has effect at the next request', async () => {
    for (const state of [
      { code: { image: 'old' } },
      { code: { image: 'new' }, upgrade: { to: 'new' } },
    ]) {
      marker(state);
      const page = await ask();
      assert.deepEqual([page.status, page.headers['retry-after']], [503, '15']);
      assert.match(page.body, /being updated/);
      const api = await ask('/api/method/ping');
      assert.equal(api.status, 503);
      assert.equal((JSON.parse(api.body) as { exc_type: string }).exc_type, 'SessionStopped');
      assert.equal(
        (await get(gunicorn.port, '/app', { 'X-Frappe-Site-Name': 'up.example.com' })).status,
        503,
      );
      const ready = await ask(PING, { ...kubelet, 'X-Frappe-Site-Name': 'up.example.com' });
      assert.deepEqual([ready.status, ready.body], [200, PONG], 'the pod is fine');
      marker({ code: { image: 'new' } });
      assert.equal((await ask()).status, 200);
    }
  });

  it('serves the bundles of its image, and no other file of the volume', async () => {
    const bundle = await ask('/assets/frappe/dist/desk.bundle.ABC.js');
    assert.deepEqual([bundle.status, bundle.body], [200, 'desk()']);
    assert.match(String(bundle.headers['content-type']), /javascript/);
    for (const path of [
      '/assets/../secret.txt',
      '/assets/%2e%2e/secret.txt',
      '/assets//../secret.txt',
      '/assets/frappe',
    ]) {
      assert.doesNotMatch((await ask(path)).body, /secret$/, path);
    }
  });

  it('gives the framework the bundles of its image, whatever the cache has', async () => {
    assert.match((await ask('/bundles')).body, /desk.bundle.ABC.js/);
  });
});
