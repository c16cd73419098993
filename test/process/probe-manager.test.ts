import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test, type TestContext } from 'node:test';
import { ProbeManager, type ProbeTarget } from '../../runner/health/probe-manager.js';
import { rssMiB } from '../support/rss.js';

const PONG = '{"message":"pong"}';
/** A server in a process of its own that prints its port. */
const STREAMER = `
  require('node:http').createServer((_, response) => {
    const more = () => { while (!response.destroyed && response.write('x'.repeat(65536))); };
    response.on('drain', more);
    more();
  }).listen(0, '127.0.0.1', function () { console.log(this.address().port) })`;

/** A server of sites, and the open connections of each host. */
class Sites {
  readonly #server: Server;
  /** What a site answers; the default is pong. */
  answer: (host: string, response: ServerResponse) => void = (_, response) => response.end(PONG);
  /** Requests so far, by host. */
  readonly requests = new Map<string, number>();
  readonly #open = new Map<string, number>();
  /** The most connections that were open at once, by the first letter of the host. */
  readonly most = new Map<string, number>();

  private constructor(t: TestContext) {
    this.#server = createServer(({ headers: { host = '' }, socket }, response) => {
      this.requests.set(host, (this.requests.get(host) ?? 0) + 1);
      this.#count(host.slice(0, 1), 1);
      socket.once('close', () => this.#count(host.slice(0, 1), -1));
      socket.on('error', () => undefined);
      this.answer(host, response);
    });
    t.after(() => {
      this.#server.closeAllConnections();
      this.#server.close();
    });
  }

  static async start(t: TestContext): Promise<Sites> {
    const sites = new Sites(t);
    await once(sites.#server.listen(0, '127.0.0.1'), 'listening');
    return sites;
  }

  get connections(): number {
    return [...this.#open.values()].reduce((sum, count) => sum + count, 0);
  }

  target(namespace: string, name: string, more: Partial<ProbeTarget> = {}): ProbeTarget {
    const { port } = this.#server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/api/method/ping`;
    const expectBody = { message: 'pong' };
    const probes = [{ url, host: `${namespace}-${name}`, expectStatus: 200, expectBody }];
    const owner = `AppSite/${namespace}/${name}`;
    return { owner, namespace, uid: name, planKey: 'p', probes, wasReady: false, ...more };
  }

  #count(letter: string, change: number): void {
    const open = (this.#open.get(letter) ?? 0) + change;
    this.#open.set(letter, open);
    this.most.set(letter, Math.max(open, this.most.get(letter) ?? 0));
  }
}

/** A manager whose timers the test moves; sockets are real. */
function aManager(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const clock = { now: 0 };
  const enqueued: string[] = [];
  let changed = Promise.withResolvers<undefined>();
  const manager = new ProbeManager({
    enqueue: (owner) => {
      enqueued.push(owner);
      changed.resolve(undefined);
    },
    monotonic: () => clock.now,
    random: () => 0.999,
  });
  t.after(() => manager.stop());
  return {
    manager,
    enqueued,
    pass: (ms: number) => {
      clock.now += ms;
      t.mock.timers.tick(ms);
    },
    /** The next owner with a changed result. */
    change: async () => {
      await changed.promise;
      changed = Promise.withResolvers<undefined>();
      return enqueued.at(-1);
    },
  };
}

const oks = (results: readonly { readonly ok: boolean }[]) => results.map(({ ok }) => ok);

describe('a site', () => {
  test('is not ready before its first answer, and its owner is enqueued with it', async (t) => {
    const sites = await Sites.start(t);
    const { manager, change } = aManager(t);
    const site = sites.target('a', 's');
    const waiting = { ok: false, message: 'waiting for the first answer' };
    assert.deepEqual(manager.results(site), [waiting]);
    assert.deepEqual(manager.results(site), [waiting]);
    assert.equal(await change(), 'AppSite/a/s');
    assert.deepEqual(oks(manager.results(site)), [true]);
    assert.equal(sites.requests.get('a-s'), 1);
  });

  test('that was ready, such as before a restart, stays so until an answer says otherwise', async (t) => {
    const sites = await Sites.start(t);
    const { manager, change, enqueued } = aManager(t);
    sites.answer = (host, response) => response.writeHead(host === 'a-s' ? 200 : 502).end(PONG);
    assert.deepEqual(manager.results(sites.target('a', 's', { wasReady: true })), []);
    await until(() => sites.requests.get('a-s') === 1);
    const broken = sites.target('a', 'broken', { wasReady: true });
    assert.deepEqual(manager.results(broken), []);
    await change();
    assert.deepEqual(enqueued, ['AppSite/a/broken'], 'the other result changes nothing');
    const [failed] = manager.results(broken);
    assert.match(failed?.message ?? '', /expected status 200, got 502$/);
  });

  test('that answered is checked again after a minute, not before, and a failure is noticed', async (t) => {
    const sites = await Sites.start(t);
    const { manager, change, pass } = aManager(t);
    const site = sites.target('a', 's');
    manager.results(site);
    await change();
    manager.results(site);
    sites.answer = (_, response) => response.writeHead(502).end();
    await turns();
    pass(53_000);
    await turns();
    assert.equal(sites.requests.get('a-s'), 1);
    pass(7_000);
    await change();
    assert.deepEqual(oks(manager.results(site)), [false]);
    assert.equal(sites.requests.get('a-s'), 2);
  });

  test('that fails is checked again soon, then each quarter of a minute, without an event', async (t) => {
    const sites = await Sites.start(t);
    const { manager, change, enqueued, pass } = aManager(t);
    const site = sites.target('a', 's');
    sites.answer = (_, response) => response.writeHead(502).end();
    manager.results(site);
    await change();
    manager.results(site);
    for (const [count, ms] of [500, 500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000].entries()) {
      await turns();
      pass(ms * 0.9);
      await turns();
      assert.equal(sites.requests.get('a-s'), count + 1, `not before ${ms} ms`);
      pass(ms * 0.1);
      await until(() => sites.requests.get('a-s') === count + 2);
      await turns();
    }
    assert.deepEqual(enqueued, ['AppSite/a/s'], 'the result is the same');
    sites.answer = (_, response) => response.end(PONG);
    await turns();
    pass(15_000);
    await change();
    assert.deepEqual(oks(manager.results(site)), [true]);
  });

  test('is checked at once when what its plan is made from changes, such as its bench', async (t) => {
    const sites = await Sites.start(t);
    const { manager, change } = aManager(t);
    manager.results(sites.target('a', 's'));
    await change();
    const changed = sites.target('a', 's', { planKey: 'bench is not ready' });
    sites.answer = (_, response) => response.writeHead(502).end();
    assert.deepEqual(oks(manager.results(changed)), [true], 'until then the last answer counts');
    await change();
    assert.deepEqual(oks(manager.results(changed)), [false]);
  });

  test('is checked again after a child was not ready, and as another one if it was created again', async (t) => {
    const sites = await Sites.start(t);
    const { manager, change } = aManager(t);
    const site = sites.target('a', 's');
    manager.results(site);
    await change();
    assert.deepEqual(manager.results({ ...site, probes: [] }), []);
    assert.deepEqual(oks(manager.results(site)), [false]);
    await change();
    assert.deepEqual(oks(manager.results({ ...site, uid: 'another' })), [false]);
    await change();
    assert.equal(sites.requests.get('a-s'), 3);
  });

  test('is not checked any more once it is forgotten, and its connection is closed', async (t) => {
    const sites = await Sites.start(t);
    const { manager, pass } = aManager(t);
    sites.answer = () => undefined;
    manager.results(sites.target('a', 's'));
    await until(() => sites.connections === 1);
    manager.forget(sites.target('a', 's'));
    await until(() => sites.connections === 0);
    pass(120_000);
    await turns();
    assert.equal(sites.requests.get('a-s'), 1);
  });
});

describe('200 sites of a tenant', () => {
  test('that accept and never answer delay no check of another tenant', async (t) => {
    const sites = await Sites.start(t);
    const { manager, change, enqueued } = aManager(t);
    sites.answer = (host, response) => {
      if (!host.startsWith('a')) response.end(PONG);
    };
    const before = rssMiB();
    for (let index = 0; index < 200; index++) manager.results(sites.target('a', String(index)));
    await until(() => sites.requests.size === 16);
    const other = sites.target('b', 's');
    manager.results(other);
    assert.equal(await change(), other.owner);
    assert.deepEqual(oks(manager.results(other)), [true]);
    assert.deepEqual(enqueued, [other.owner], 'all others are still open or wait');
    assert.equal(sites.most.get('a'), 16, 'no more than its share');
    assert.ok(rssMiB() - before < 20, `${rssMiB() - before} MiB`);
    await manager.stop();
    await until(() => sites.connections === 0);
  });

  test('that stream without an end are cut off, and take little memory', async (t) => {
    // Its own memory is not counted.
    const streamer = spawn(process.execPath, ['-e', STREAMER]);
    t.after(() => streamer.kill('SIGKILL'));
    const [line] = (await once(streamer.stdout, 'data')) as [Buffer];
    const sites = await Sites.start(t);
    const { manager, change, enqueued } = aManager(t);
    // A heap that has never worked grows by some MiB with any work.
    for (let index = 0; index < 400; index++) manager.results(sites.target('w', String(index)));
    while (enqueued.length < 400) await change();
    enqueued.length = 0;
    const before = rssMiB();
    let most = 0;
    for (let index = 0; index < 200; index++) {
      const target = sites.target('a', String(index));
      const probes = target.probes.map((probe) => ({
        ...probe,
        url: `http://127.0.0.1:${line.toString().trim()}/`,
      }));
      manager.results({ ...target, probes });
    }
    const other = sites.target('b', 's');
    manager.results(other);
    while (enqueued.length < 201) {
      await change();
      most = Math.max(most, rssMiB());
    }
    assert.ok(enqueued.indexOf(other.owner) < 64, `${enqueued.indexOf(other.owner)} were first`);
    assert.ok(most - before < 20, `${most - before} MiB`);
  });

  test('delay the checks of each other only: namespaces take turns', async (t) => {
    const sites = await Sites.start(t);
    const { manager, pass } = aManager(t);
    sites.answer = () => undefined;
    // Five tenants fill every place there is.
    for (const tenant of 'acdef') {
      for (let index = 0; index < 40; index++) {
        manager.results(sites.target(tenant, String(index)));
      }
    }
    await until(() => sites.requests.size === 64);
    manager.results(sites.target('b', 's'));
    await turns();
    assert.equal(sites.requests.get('b-s'), undefined);
    // One timeout later.
    pass(5_000);
    await until(() => sites.requests.get('b-s') === 1);
    await until(() => sites.connections === 64);
  });
});

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(setImmediate);
}

/** Long enough for what is due without a timer. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
}
