import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { before, suite, test } from 'node:test';

import { aBench, aSite } from '../cluster/support/builders.js';
import { at, type Live } from '../cluster/support/objects.js';
import { probeRealtime } from '../../runner/health/realtime-probe.js';
import { WebSocketClient } from '../../runner/health/websocket.js';
import { send } from '../support/http.js';
import {
  type Exchange,
  isSameServer,
  joinByPolling,
  joinByWebSocket,
  type RealtimeClient,
} from '../support/realtime.js';
import { FRAMEWORK_IMAGE, standInMethod, TAGS } from './framework.js';
import { type E2e, e2e, skip } from './harness.js';
import { isReady } from './support/bench.js';
import { runningPod } from './support/benches.js';

const PING = '/api/method/ping';

let cluster: E2e;
let namespace: string;

/** A bench of the images that the node has. */
function bench(name: string, spec: object = {}) {
  return aBench(name, { image: { tag: TAGS.bench, pullPolicy: 'IfNotPresent' }, ...spec });
}

function request(host: string, path: string, options = {}) {
  return cluster.request(namespace, 'b', { host, path }, options);
}

/** Polls a site until it answers, ten times a second. */
async function pong(host: string): Promise<void> {
  await cluster.until(
    `${host} answers`,
    async () => (await request(host, PING).catch(() => undefined))?.status === 200,
    240_000,
  );
}

/** An event that does not come must not stop the other tests. */
const REALTIME_MS = 480_000;

suite('requests', { skip }, () => {
  before(async () => {
    cluster = await e2e();
    namespace = await cluster.namespace();
    const few = { workerDefault: 1, workerLong: 0, workerShort: 0 };
    await cluster.apply(
      namespace,
      bench('b', { componentReplicas: { ...few, scheduler: 1, socketio: 1 } }),
      aSite('s', { bench: 'b', domain: 'shop.example.org', componentReplicas: few }),
      aSite('t', { bench: 'b', workloads: 'Shared' }),
    );
    await Promise.all(['s', 't'].map((site) => cluster.ready('AppSite', namespace, site)));
  });

  test('for an unknown host get 404', async () => {
    assert.equal((await request('unknown.example.com', PING)).status, 404);
    assert.equal((await request('unknown.example.com', '/')).status, 404);
  });

  test('for an alias reach its site', async () => {
    const { status, body } = await request('shop.example.org', PING);
    assert.deepEqual([status, JSON.parse(body)], [200, { message: 'pong' }]);
  });

  test('for assets are answered from the image', async () => {
    const manifest = await request('s.example.com', '/assets/assets.json');
    assert.equal(manifest.status, 200);
    const bundles = Object.values(JSON.parse(manifest.body) as Record<string, string>);
    assert.ok(bundles.length > 0);
    for (const bundle of bundles) {
      assert.equal((await request('s.example.com', bundle)).status, 200, bundle);
    }
    assert.equal((await request('s.example.com', '/assets/frappe/none.css')).status, 404);
  });

  test('for private files are answered to logged-in users only', async () => {
    const sid = await login('s');
    const boundary = 'e2e';
    const part = (name: string, value: string, file = '') =>
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n${value}\r\n`;
    const upload = await request('s.example.com', '/api/method/upload_file', {
      method: 'POST',
      headers: { cookie: sid, 'content-type': `multipart/form-data; boundary=${boundary}` },
      body: `${part('is_private', '1')}${part('file', 'for us', '; filename="ours.txt"')}--${boundary}--\r\n`,
    });
    assert.equal(upload.status, 200, upload.body);
    const url = '/private/files/ours.txt';
    const ours = await request('s.example.com', url, { headers: { cookie: sid } });
    assert.deepEqual([ours.status, ours.body], [200, 'for us']);
    assert.notEqual((await request('s.example.com', url)).status, 200);
    assert.notEqual(
      (await request('t.example.com', url, { headers: { cookie: sid } })).status,
      200,
    );
    assert.equal((await request('s.example.com', '/protected/private/files/ours.txt')).status, 404);
    assert.equal((await request('s.example.com', '/site_config.json')).status, 404);
  });

  test('to upgrade to a websocket reach socketio', async () => {
    const address = await cluster.addressOf(namespace, 'b-nginx');
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(8080, address);
      socket.setTimeout(10_000, () => socket.destroy(new Error('no answer')));
      socket.once('error', reject);
      socket.once('data', (data: Buffer) => {
        resolve(data.toString());
        socket.destroy();
      });
      socket.write(
        'GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: s.example.com\r\n' +
          'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
          'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
      );
    });
    assert.match(answer, /^HTTP\/1\.1 101 /);
  });

  test('of a websocket join where the public name does not resolve, and receive events', async () => {
    const socketio = await runningPod(cluster, namespace, 'b-socketio');
    const lookUp = ['bash', '-c', 'getent hosts s.example.com shop.example.org || echo none'];
    assert.equal((await cluster.exec(namespace, socketio, lookUp)).trim(), 'none');
    const address = await cluster.addressOf(namespace, 'b-nginx');
    const url = `http://${address}:8080/socket.io/?EIO=4&transport=websocket`;
    const cookie = await login('s');
    const gunicorn = await runningPod(cluster, namespace, 's-gunicorn');
    const kwargs = JSON.stringify({ event: 'news', message: { text: 'hello' } });
    const publish = ['bench', '--site', 's.example.com', 'execute', 'frappe.publish_realtime'];
    for (const [host, proto] of [
      ['s.example.com', 'http'],
      ['shop.example.org', 'https'],
    ] as const) {
      const headers = { Host: host, Cookie: cookie, 'X-Forwarded-Proto': proto };
      const client = await WebSocketClient.open(url, headers, AbortSignal.timeout(60_000));
      assert.match(await client.receive(), /^0/);
      client.send('40/s.example.com,');
      assert.match(await client.receive(), /^40\/s\.example\.com,\{"sid"/, host);
      await cluster.exec(namespace, gunicorn, [...publish, '--kwargs', kwargs]);
      let event = await client.receive();
      while (event === '2') {
        client.send('3');
        event = await client.receive();
      }
      assert.equal(event, '42/s.example.com,["news",{"text":"hello"}]', host);
      client.close();
    }
    await cluster.until('the condition RealtimeReady', async () => {
      const { status } = await cluster.the('AppSite', namespace, 's');
      const conditions = at(status, 'conditions') as readonly Record<string, string>[];
      return conditions.some((one) => one['type'] === 'RealtimeReady' && one['status'] === 'True');
    });
  });

  test('of a websocket that a rollout of socketio cuts are answered again within 5 s', async () => {
    const address = await cluster.addressOf(namespace, 'b-nginx');
    const url = `http://${address}:8080/socket.io/?EIO=4&transport=websocket`;
    const wanted = { url, host: 's.example.com', namespace: 's.example.com' };
    const join = () => probeRealtime(wanted, AbortSignal.timeout(10_000));
    await cluster.until('a websocket', async () => (await join()).ok);
    const headers = { Host: 's.example.com', Cookie: 'sid=Guest' };
    const client = await WebSocketClient.open(url, headers, AbortSignal.timeout(300_000));
    const cut = (async () => {
      for (;;) if ((await client.receive()) === '2') client.send('3');
    })().catch(() => Date.now());
    const rolled = restart('b-socketio');
    const since = await cut;
    while (!(await join()).ok) await new Promise((resolve) => setTimeout(resolve, 100));
    assert.ok(Date.now() - since < 5_000, `${String(Date.now() - since)} ms`);
    await rolled;
  });

  test('of more than 50 MiB are refused, smaller ones are not', async () => {
    const send = async (mebibytes: number) =>
      request('s.example.com', PING, {
        method: 'POST',
        body: Buffer.alloc(mebibytes * 1024 * 1024, 0x61),
      }).then(
        ({ status }) => status,
        // nginx answers before it has read everything, and closes.
        (error: unknown) => {
          const { code } = error as { readonly code?: string };
          return code === 'EPIPE' || code === 'ECONNRESET' ? 413 : code;
        },
      );
    assert.equal(await send(51), 413);
    // The framework has a lower limit, which this request does not reach.
    await cluster.until('nginx to have refused it', async () =>
      (await proxyLog(ERRORS)).includes('client intended to send too large body'),
    );
    assert.notEqual(await send(2), 413);
  });

  test('are not lost while sites are created and deleted, gunicorn rolls and nginx reloads', async () => {
    const changes: readonly (readonly [string, () => Promise<unknown>])[] = [
      [
        'a site comes',
        async () => {
          await cluster.apply(
            namespace,
            aSite('u', { bench: 'b', siteName: 'u.example.com', workloads: 'Shared' }),
          );
          await pong('u.example.com');
          await cluster.ready('AppSite', namespace, 'u');
        },
      ],
      [
        'a site is deleted',
        async () => {
          await cluster.delete('AppSite', namespace, 'u');
          await cluster.deleted('AppSite', namespace, 'u', 120_000);
          await cluster.until(
            'its route to be deleted',
            async () => (await request('u.example.com', PING)).status === 404,
          );
        },
      ],
      ['the site’s gunicorn rolls', () => restart('s-gunicorn')],
      ['nginx rolls', () => restart('b-nginx')],
    ];
    for (const [what, change] of changes) {
      const load = await cluster.load(namespace, 'b', 's.example.com', change);
      const { sent, lost, failures, repeated, slowestMs } = load;
      cluster.figures.add(
        `requests lost while ${what}`,
        `${lost} of ${sent}, ${repeated} sent again, slowest ${slowestMs} ms`,
      );
      if (lost > 0 && !cluster.forgives(what, load)) {
        assert.fail(`${what}: ${JSON.stringify(failures)}\n${await proxyLog(ERRORS)}`);
      }
    }
  });

  test(
    'of 20 realtime clients reach the pod of their site, with two pods of nginx and of socketio',
    { timeout: REALTIME_MS },
    async () => {
      await twoPods();
      const clients = await joinAll();
      for (const { client, site } of clients) {
        assert.match(client.answer, new RegExp(`^40/${site}\\.example\\.com,\\{"sid"`));
      }
      for (const [text, publish] of [
        ['from gunicorn', publishFromGunicorn],
        ...(FRAMEWORK_IMAGE ? [] : ([['from a worker', publishFromWorker]] as const)),
      ] as const) {
        for (const site of REALTIME_SITES) await publish(site, text);
        for (const { client, site } of clients) assert.equal(await client.next(), news(site, text));
      }
      for (const { client } of clients) client.close();
      const gunicorn = await runningPod(cluster, namespace, 'b-gunicorn');
      const python = '/home/frappe/frappe-bench/env/bin/python';
      const subscribed = await cluster.exec(namespace, gunicorn, [python, '-c', SUBSCRIBERS]);
      assert.match(subscribed, /b?'events', 2\)/, 'both pods get each event from Redis');
    },
  );

  test(
    'of 20 realtime clients that a rollout of two pods of socketio cuts are answered within 5 s',
    { timeout: REALTIME_MS },
    async () => {
      await twoPods();
      const clients = await joinAll();
      let slowest = 0;
      let cuts = 0;
      let waiting = clients.length;
      const received = clients.map(async ({ client: first, again, site }) => {
        let client = first;
        for (;;) {
          const event = await client.next().catch(() => undefined);
          if (event === news(site, 'after the rollout')) {
            client.close();
            waiting -= 1;
            return;
          }
          if (event !== undefined) continue;
          client.close();
          const since = Date.now();
          client = await again();
          slowest = Math.max(slowest, Date.now() - since);
          cuts += 1;
        }
      });
      await restart('b-socketio');
      await twoPods();
      // More than once: a client that joins again at that moment does not get the event.
      await cluster.until('all clients to have the event', async () => {
        for (const site of REALTIME_SITES) await publishFromGunicorn(site, 'after the rollout');
        return waiting === 0;
      });
      await Promise.all(received);
      cluster.figures.add(
        'realtime clients cut by a rollout of two pods',
        `${cuts} of ${clients.length}, the slowest joined again after ${slowest} ms`,
      );
      assert.ok(cuts > 0, 'the rollout has cut clients');
      assert.ok(slowest < 5_000, `${slowest} ms`);
    },
  );
});

const REALTIME_SITES = ['s', 't'] as const;
type RealtimeSite = (typeof REALTIME_SITES)[number];

/** How many connections of Redis get the events of sites. */
const SUBSCRIBERS = `import json, redis
config = json.load(open("/home/frappe/frappe-bench/sites/common_site_config.json"))
print(redis.from_url(config["redis_queue"]).pubsub_numsub("events"))`;

/** Two pods of nginx and of socketio, and no others; each nginx uses both of socketio. */
async function twoPods(): Promise<void> {
  const componentReplicas = { nginx: 2, socketio: 2 };
  await cluster.patch('AppBench', namespace, 'b', { spec: { componentReplicas } });
  const ready = async (app: string): Promise<readonly Live[]> => {
    const pods = await cluster.pods(namespace, `app=${app}`);
    return pods.length === 2 && pods.every(isReady) ? pods : [];
  };
  await cluster.until(
    'two pods of nginx that know two of socketio',
    async () => {
      const [nginx, socketio] = await Promise.all([ready('b-nginx'), ready('b-socketio')]);
      const wanted = socketio.map((pod) => `server ${addressOf(pod)}:9000;`);
      const known = await Promise.all(
        nginx.map(({ metadata }) =>
          cluster
            .exec(namespace, metadata.name, ['cat', '/run/nginx/conf/socketio-pods.conf'])
            .catch(() => ''),
        ),
      );
      const agree = known.every((text) => text.trim() === [...wanted].sort().join('\n'));
      // The file is written before nginx has read it.
      return wanted.length === 2 && known.length === 2 && agree && (await sameWay(nginx));
    },
    240_000,
  );
}

/** Whether both pods of nginx send the clients of each site to the same pod of socketio. */
async function sameWay(nginx: readonly Live[]): Promise<boolean> {
  const [first = '', second = ''] = nginx.map(addressOf);
  const same = REALTIME_SITES.map((site) =>
    isSameServer(
      exchangeBy(() => first, site),
      exchangeBy(() => second, site),
    ),
  );
  return (await Promise.all(same)).every(Boolean);
}

function addressOf(pod: Live): string {
  return String(at(pod, 'status.podIP'));
}

/** Requests of a site's client, each to an address of nginx. */
function exchangeBy(
  address: () => string,
  site: RealtimeSite,
  headers: Readonly<Record<string, string>> = {},
): Exchange {
  const host = `${site}.example.com`;
  return (path, options) =>
    send({ address: address(), port: 8080, host, path }, { ...options, headers });
}

/** Ten clients that poll, each of whose requests goes to the next pod of nginx, and ten websockets. */
async function joinAll() {
  const nginx = (await cluster.pods(namespace, 'app=b-nginx')).map(addressOf);
  const cookies = { s: await login('s'), t: await login('t') };
  const join = async (client: number, site: RealtimeSite): Promise<RealtimeClient> => {
    const host = `${site}.example.com`;
    let turn = client >> 1;
    const address = (): string => nginx[turn++ % nginx.length] ?? '';
    if (client % 4 < 2) {
      const headers = { Host: host, Cookie: cookies[site] };
      return joinByWebSocket(`http://${address()}:8080`, headers, host);
    }
    return joinByPolling(exchangeBy(address, site, { cookie: cookies[site] }), host);
  };
  const again = async (client: number, site: RealtimeSite): Promise<RealtimeClient> => {
    for (;;) {
      const joined = await join(client, site).catch(() => undefined);
      if (joined?.answer.startsWith('40')) return joined;
      joined?.close();
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  return Promise.all(
    Array.from({ length: 20 }, async (_, client) => {
      const site = REALTIME_SITES[client % 2] ?? 's';
      const joined = await join(client, site).catch(async (error: unknown) => {
        const log = await proxyLog(/app-operator:|socket\.io|\[error\]/, 40);
        throw new Error(`client ${client} of ${site}\n${log}`, { cause: error });
      });
      return { site, client: joined, again: () => again(client, site) };
    }),
  );
}

function news(site: RealtimeSite, text: string): string {
  return `42/${site}.example.com,["news",{"text":"${text}"}]`;
}

async function publishFromGunicorn(site: RealtimeSite, text: string): Promise<void> {
  const pod = await runningPod(cluster, namespace, site === 's' ? 's-gunicorn' : 'b-gunicorn');
  const kwargs = JSON.stringify({ event: 'news', message: { text } });
  const publish = ['execute', 'frappe.publish_realtime', '--kwargs', kwargs];
  await cluster.exec(namespace, pod, ['bench', '--site', `${site}.example.com`, ...publish]);
}

/** By a job, which a worker of the site does. */
async function publishFromWorker(site: RealtimeSite, text: string): Promise<void> {
  const answer = await request(`${site}.example.com`, standInMethod('enqueue'), {
    method: 'POST',
    headers: { 'content-type': 'application/json', cookie: await login(site) },
    body: JSON.stringify({ method: 'frappe.tests.e2e.publish', text }),
  });
  assert.equal(answer.status, 200, answer.body);
}

/** Lines of the log of nginx. */
const ERRORS = /\[error\]/;

/** The last lines of each pod of nginx that match. */
async function proxyLog(pattern: RegExp, most = 8): Promise<string> {
  const pods = await cluster.pods(namespace, 'app=b-nginx');
  const logs = pods.map(async ({ metadata: { name } }) => {
    const lines = (await cluster.logs(namespace, name, '--tail=400')).split('\n');
    return [name, ...lines.filter((line) => pattern.test(line)).slice(-most)];
  });
  return (await Promise.all(logs)).flat().join('\n');
}

/** Logs the administrator in; returns the cookie. */
async function login(site: string): Promise<string> {
  const { data } = await cluster.the('Secret', namespace, `${site}-admin-password`);
  const password = Buffer.from(String(at(data, 'password')), 'base64').toString();
  const answer = await request(`${site}.example.com`, '/api/method/login', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ usr: 'Administrator', pwd: password }),
  });
  assert.equal(answer.status, 200, answer.body);
  const cookie = answer.headers['set-cookie']?.find((one) => one.startsWith('sid='));
  return cookie?.split(';')[0] ?? '';
}

/** As `kubectl rollout restart`; resolves when the old pods are deleted. */
async function restart(deployment: string): Promise<void> {
  const where = [`--namespace=${namespace}`, `deployment/${deployment}`];
  await cluster.node.kubectl(['rollout', 'restart', ...where]);
  await cluster.node.kubectl(['rollout', 'status', ...where, '--timeout=180s']);
}
