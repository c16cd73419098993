/**
 * What a site of the image answers through the real gunicorn, behind the operator's wrapper and the
 * operator's nginx.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, type Env, eventually, get, redisCli, startRedis } from '../jobs/servers.js';
import { type Site, Stack, needsImage, type Web } from './fixture.js';

const PING = '/api/method/ping';
const JSON_BODY = { 'Content-Type': 'application/json' };
const possible = await needsImage('mariadbd', 'redis-server', 'python3');

describe('requests to the framework image', possible, () => {
  let stack: Stack;
  let site: Site;
  let web: Web;
  before(async () => {
    stack = await Stack.start('mariadb');
    site = stack.site();
    const created = await site.init();
    assert.equal(created.code, 0, created.output);
    web = await stack.bench.gunicorn();
  });
  after(async () => {
    await web.server.stop();
    await stack.stop();
  });

  const request = (path: string, headers: Env = {}, method = 'GET', body = ''): Promise<Answer> =>
    get(web.port, path, { Host: site.name, ...headers }, { method, body });
  const post = (path: string, value: unknown, headers: Env = {}): Promise<Answer> =>
    request(path, { ...JSON_BODY, ...headers }, 'POST', JSON.stringify(value));
  const logIn = (pwd = site.env['ADMIN_PASSWORD']): Promise<Answer> =>
    post('/api/method/login', { usr: 'Administrator', pwd });
  const cookie = async (): Promise<Env> => {
    const answer = await logIn();
    assert.equal(answer.status, 200, answer.body);
    const sent = answer.headers['set-cookie'] as string[];
    return { Cookie: sent.map((text) => text.split(';')[0]).join('; ') };
  };

  it('finds the site by Host, or by X-Frappe-Site-Name in spite of it', async () => {
    const host = (name: string, headers: Env = {}) =>
      get(web.port, PING, { Host: name, ...headers });
    assert.deepEqual(
      [(await request(PING)).status, (await request(PING)).body],
      [200, '{"message":"pong"}'],
    );
    assert.equal((await host(`${site.name}:8000`)).status, 200);
    assert.equal((await host('10.1.2.3:8000')).status, 404);
    assert.equal((await host('else.example', { 'X-Frappe-Site-Name': site.name })).status, 200);
    assert.equal((await host(site.name, { 'X-Frappe-Site-Name': 'else.example' })).status, 404);
  });

  it('logs in with the password of the day', async () => {
    const who = '/api/method/frappe.auth.get_logged_user';
    assert.equal((await request(who)).status, 403);
    assert.equal((await logIn('wrong')).status, 401);
    const session = await cookie();
    assert.equal((await request(who, session)).body, '{"message":"Administrator"}');
    // The session outlives the cache.
    redisCli(stack.cache.port, stack.cache.password, 'FLUSHALL');
    assert.equal((await request(who, session)).status, 200);

    assert.equal(site.bench('set-admin-password', 'next', '--logout-all-sessions').code, 0);
    assert.equal((await logIn()).status, 401);
    assert.equal((await logIn('next')).status, 200);
    assert.equal((await request(who, session)).status, 403);
    assert.equal((await site.init()).code, 0); // the Secret's password comes back
    assert.equal((await logIn()).status, 200);
  });

  it('stores documents, by session and by token', async () => {
    const session = await cookie();
    assert.equal((await post('/api/resource/Note', { title: 'n' })).status, 403);
    const made = await post('/api/resource/Note', { title: 'n', content: 'first' }, session);
    assert.equal(made.status, 200, made.body);
    assert.equal((await post('/api/resource/Note', { title: 'n' }, session)).status, 409);
    const url = '/api/resource/Note/n';
    const changed = await request(url, { ...session, ...JSON_BODY }, 'PUT', '{"content":"second"}');
    assert.match(changed.body, /"content":"second"/);
    const keys = await post(
      '/api/method/frappe.core.doctype.user.user.generate_keys',
      { user: 'Administrator' },
      session,
    );
    const { message } = JSON.parse(keys.body) as { message: { api_secret: string } };
    const key = site.sql("SELECT api_key FROM tabUser WHERE name = 'Administrator'");
    const token = (secret: string): Env => ({ Authorization: `token ${key}:${secret}` });
    assert.equal((await request(url, token(message.api_secret))).status, 200);
    assert.equal((await request(url, token('wrong'))).status, 401);
    assert.equal((await request(url, session, 'DELETE')).status, 202);
    assert.equal((await request(url, session)).status, 404);
  });

  it('hands private files to nginx for logged-in users only', async () => {
    const session = await cookie();
    const upload = (name: string, isPrivate: string): Promise<Answer> => {
      const part = (head: string, text: string) =>
        `--b\r\nContent-Disposition: form-data; ${head}\r\n\r\n${text}\r\n`;
      const body = `${part('name="is_private"', isPrivate)}${part(`name="file"; filename="${name}"`, 'text')}--b--\r\n`;
      const type = { 'Content-Type': 'multipart/form-data; boundary=b' };
      return request('/api/method/upload_file', { ...session, ...type }, 'POST', body);
    };
    assert.match((await upload('open.txt', '0')).body, /"file_url":"\/files\/open\.txt"/);
    assert.ok(stack.bench.exists(site.name, 'public/files/open.txt'));
    assert.equal((await upload('own.txt', '1')).status, 200);
    const url = '/private/files/own.txt';
    assert.equal((await request(url)).status, 403);
    assert.equal((await request(url, session)).body, 'text');
    const proxied = await request(url, { ...session, 'X-Use-X-Accel-Redirect': 'True' });
    assert.equal(proxied.headers['x-accel-redirect'], '/protected/private/files/own.txt');
    assert.equal(proxied.body, '');
    assert.equal(
      (await request('/private/files/%2e%2e/%2e%2e/site_config.json', session)).status,
      403,
    );
  });

  it('refuses a body above the limit', async () => {
    assert.equal(site.bench('set-config', 'max_file_size', '1000').code, 0);
    const big = await post('/api/method/ping', { text: 'x'.repeat(2000) });
    assert.equal(big.status, 413);
    assert.equal(site.bench('set-config', 'max_file_size', 'None').code, 0);
  });

  it('links hashed assets, of the image that filled the cache', async () => {
    const page = await request('/login');
    const link = /src="(\/assets\/frappe\/dist\/js\/frappe-web\.bundle\.[0-9A-F]{8}\.js)"/.exec(
      page.body,
    )?.[1];
    assert.ok(link !== undefined && stack.bench.exists(link.slice(1)), page.body);
  });

  it('answers 503 in maintenance except to the kubelet, and serves reads if allowed', async () => {
    assert.equal(site.bench('set-maintenance-mode', 'on').code, 0);
    const closed = await request(PING);
    assert.equal(closed.status, 503);
    assert.match(closed.body, /SessionStopped/);
    assert.match((await request('/')).body, /Updating/);
    assert.equal(
      (await request(PING, { 'User-Agent': 'kube-probe/1.34', 'X-Frappe-Site-Name': site.name }))
        .status,
      200,
    );
    assert.equal(site.bench('set-config', '-p', 'allow_reads_during_maintenance', '1').code, 0);
    assert.equal((await request(PING)).status, 200);
    assert.equal((await logIn()).status, 503);
    assert.equal(site.bench('set-config', 'allow_reads_during_maintenance', 'None').code, 0);
    assert.equal(site.bench('set-maintenance-mode', 'off').code, 0);
    assert.equal((await request(PING)).status, 200);
  });

  it('waits for redis_cache, and continues when it answers again', async () => {
    const { port, password } = stack.cache;
    await stack.cache.stop();
    let status = 0;
    const hanging = request(PING).then((answer) => (status = answer.status));
    await sleep(3000);
    assert.equal(status, 0);
    const again = await startRedis('cache', {
      LISTEN_PORT: String(port),
      REDIS_PASSWORD: password,
    });
    await hanging;
    assert.equal(status, 200);
    await again.stop();
  });
});

describe('a database that is away', possible, () => {
  it('is a 500 that ends with its return', async () => {
    const stack = await Stack.start('mariadb');
    const site = stack.site();
    assert.equal((await site.init()).code, 0);
    const web = await stack.bench.gunicorn();
    const status = async () => (await get(web.port, PING, { Host: site.name })).status;
    assert.equal(await status(), 200);
    const { sql } = stack.database;
    sql(`RENAME USER '${site.env['DB_USER'] ?? ''}'@'%' TO renamed@'%'`);
    assert.equal(await status(), 500);
    sql(`RENAME USER renamed@'%' TO '${site.env['DB_USER'] ?? ''}'@'%'`);
    assert.equal(await status(), 200);
    await stack.database.stop();
    assert.equal(await status(), 500);
    await eventually('gunicorn lives', () => web.server.process.exitCode === null);
    await web.server.stop();
    await stack.stop();
  });
});
