import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { PassThrough } from 'node:stream';

import { type Check, health } from '../../runner/http/health-endpoint.js';
import {
  type HttpServer,
  type Reply,
  type Routes,
  serveHttp,
} from '../../runner/http/http-server.js';
import { createLogger } from '../../runner/telemetry/log.js';

const output = new PassThrough();
const log = createLogger({ logLevel: 'debug', logEncoder: 'json' }, output);
const running: HttpServer[] = [];
afterEach(async () => {
  for (const server of running.splice(0)) await server.close(0);
});

async function serve(routes: Routes): Promise<{ url: string; server: HttpServer }> {
  const server = await serveHttp({ host: '127.0.0.1', port: 0 }, routes, log);
  running.push(server);
  return { url: `http://127.0.0.1:${server.port}`, server };
}

const hello = (): Reply => ({ status: 200, body: 'hello' });

describe('a server', () => {
  const cases: readonly (readonly [string, string, number])[] = [
    ['GET', '/metrics', 200],
    ['GET', '/metrics?name=a', 200],
    ['HEAD', '/metrics', 405],
    ['POST', '/metrics', 405],
    ['DELETE', '/metrics', 405],
    ['GET', '/', 404],
    ['GET', '/metrics/', 404],
    ['GET', '/toString', 404],
    ['POST', '/nothing', 404],
  ];
  for (const [method, path, status] of cases) {
    test(`answers ${method} ${path} with ${status}`, async () => {
      const { url } = await serve({ '/metrics': hello });
      const response = await fetch(url + path, { method });
      assert.equal(response.status, status);
      assert.equal(response.headers.get('allow'), status === 405 ? 'GET' : null);
    });
  }

  test('writes the error to the log only', async () => {
    const fail = (): Reply => {
      throw new Error('inner detail');
    };
    const { url } = await serve({ '/metrics': fail });
    const response = await fetch(`${url}/metrics`);
    assert.equal(response.status, 500);
    assert.equal(await response.text(), 'internal error\n');
    assert.match(String(output.read()), /inner detail/);
  });

  test('finishes what it began when it closes', async () => {
    let started = (): void => undefined;
    const begun = new Promise<void>((resolve) => (started = resolve));
    const slow = async (): Promise<Reply> => {
      started();
      await new Promise((resolve) => setTimeout(resolve, 100));
      return hello();
    };
    const { url, server } = await serve({ '/metrics': slow });
    const response = fetch(`${url}/metrics`);
    await begun;
    await server.close();
    assert.equal(await (await response).text(), 'hello');
    await assert.rejects(fetch(`${url}/metrics`));
  });

  test('closes within a limited time', async () => {
    let started = (): void => undefined;
    const begun = new Promise<void>((resolve) => (started = resolve));
    const stuck = (): Promise<Reply> => {
      started();
      return new Promise(() => undefined);
    };
    const { url, server } = await serve({ '/metrics': stuck });
    const response = fetch(`${url}/metrics`).catch((error: unknown) => error);
    await begun;
    await server.close(20);
    assert.ok((await response) instanceof Error);
  });

  test('reports that its port is in use', async () => {
    const { server } = await serve({});
    await assert.rejects(
      serveHttp({ host: '127.0.0.1', port: server.port }, {}, log),
      /EADDRINUSE/,
    );
  });
});

describe('health', () => {
  const fine: Check = { name: 'caches', problems: () => [] };
  const broken: Check = {
    name: 'watches',
    problems: () => ['AppSite: silent', 'AppBench: silent'],
  };
  const cases: readonly (readonly [string, readonly Check[], string, number, string])[] = [
    ['is ok when all is well', [fine], '', 200, 'ok'],
    ['is ok when nothing is asked', [], '', 200, 'ok'],
    [
      'names what fails',
      [fine, broken],
      '',
      500,
      '[-]watches failed: AppSite: silent; AppBench: silent',
    ],
    ['lists all on request', [fine], '?verbose', 200, '[+]caches ok\nok'],
    [
      'lists all on request when something fails',
      [fine, broken],
      '?verbose=1',
      500,
      '[+]caches ok\n[-]watches failed: AppSite: silent; AppBench: silent',
    ],
  ];
  for (const [what, checks, query, status, body] of cases) {
    test(what, async () => {
      const { url } = await serve({ '/readyz': health(checks) });
      const response = await fetch(`${url}/readyz${query}`);
      assert.equal(response.status, status);
      assert.equal(await response.text(), body);
    });
  }
});
