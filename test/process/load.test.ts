import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { loadDuring } from '../support/http.js';

suite('loadDuring', () => {
  let server: Server;

  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  /** A server that answers requests, except on a connection that it breaks. */
  async function target(breaks: (requestsOfConnection: number) => boolean) {
    const counts = new WeakMap<object, number>();
    server = createServer(({ socket }, response) => {
      const count = (counts.get(socket) ?? 0) + 1;
      counts.set(socket, count);
      if (breaks(count)) socket.resetAndDestroy();
      else response.end('pong');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    return { address: '127.0.0.1', port, host: 'a.example.com', path: '/' };
  }

  test('sends again what a kept connection has not answered', async () => {
    const { lost, repeated, sent } = await loadDuring(await target((count) => count === 3), () =>
      sleep(300),
    );
    assert.deepEqual([lost, sent > 10, repeated > 2], [0, true, true]);
  });

  test('counts as lost what a new connection has not answered', async () => {
    const { lost, repeated, sent, failures } = await loadDuring(await target(() => true), () =>
      sleep(300),
    );
    assert.deepEqual([repeated, failures], [0, { ECONNRESET: sent }]);
    assert.equal(lost, sent);
  });

  test('adds up how long nothing ran', async () => {
    const { stalledMs } = await loadDuring(await target(() => false), async () => {
      for (let times = 0; times < 3; times++) {
        const end = performance.now() + 400;
        while (performance.now() < end);
        await sleep(300);
      }
    });
    // Where one begins just after a pulse, the next is 300 ms late.
    assert.ok(stalledMs > 850, `${stalledMs} ms`);
  });
});
