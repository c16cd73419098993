/** Two realtime servers behind two nginx: every client keeps its session, and receives the events of its site. */
import assert from 'node:assert/strict';
import { chmodSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { SOCKETIO_ORIGIN_PORT } from '../../constructs/kit/constants.generated.js';
import { freePort } from '../../testbed/controlplane/ports.js';
import { type Nginx, nameServer, startNginx } from '../jobs/nginx-fixture.js';
import { type Daemon, SCRIPTS, eventually, get, temporaryDirectory } from '../jobs/servers.js';
import { joinByPolling, joinByWebSocket, type RealtimeClient } from '../support/realtime.js';
import { type Site, Stack, needsImage, type Web } from './fixture.js';

const possible = await needsImage('mariadbd', 'redis-server', 'python3', 'nginx');
/** Where the pods would have their addresses. */
const PODS = ['127.0.1.1', '127.0.1.2'] as const;
const OTHER_POD = '127.0.1.3';
const CLIENTS = 20;
const HOSTS = Array.from({ length: 40 }, (_, index) => `h${index}.example.com`);

/** The server takes a port only, and all of this machine's addresses: here, each has its own. */
const LISTEN = `const { Server } = require('node:net');
const { listen } = Server.prototype;
Server.prototype.listen = function (port, ...rest) {
  return listen.call(this, { port, host: process.env.LISTEN_ADDRESS }, ...rest);
};
`;

/** In place of the cluster's DNS: `getent` of this machine knows no other server than the machine's. */
class PodNames {
  readonly folder = temporaryDirectory();

  constructor(...addresses: readonly string[]) {
    const program = '#!/bin/sh\ngrep . "${0%/*}/addresses" || exit 2\n';
    writeFileSync(join(this.folder, 'getent'), program);
    chmodSync(join(this.folder, 'getent'), 0o755);
    this.resolveTo(...addresses);
  }

  resolveTo(...addresses: readonly string[]): void {
    const text = addresses.flatMap((one) => [`${one} STREAM`, `${one} DGRAM`]).join('\n');
    const draft = join(this.folder, 'draft');
    writeFileSync(draft, `${text}\n`);
    renameSync(draft, join(this.folder, 'addresses'));
  }
}

describe('several realtime servers behind several nginx', possible, () => {
  let stack: Stack;
  let sites: readonly Site[];
  let web: Web;
  let servers: Map<string, Daemon>;
  let proxies: readonly Nginx[];
  let port: number;
  let names: PodNames;
  before(async () => {
    stack = await Stack.start('mariadb');
    sites = [stack.site(), stack.site()];
    for (const site of sites) assert.equal((await site.init()).code, 0);
    web = await stack.bench.gunicorn();
    port = await freePort();
    const ports = [await freePort(), await freePort()];
    servers = new Map(PODS.map((address) => [address, startServer(address, ports[0] ?? 0)]));
    await listening(...servers.values());
    names = new PodNames(...PODS);
    const resolver = await nameServer(new Set());
    proxies = await Promise.all(
      ports.map((own, index) =>
        startNginx(
          {
            port: own,
            benchBackend: `127.0.0.1:${web.port}`,
            // As a Service gives each pod of nginx another pod.
            socketio: `${PODS[index] ?? ''}:${port}`,
            socketioPods: `pods.example.com:${port}`,
            sitesDirectory: stack.bench.sites,
            sites: [...sites.map(({ name }) => name), ...HOSTS].map((siteName) => ({
              siteName,
              domains: [],
            })),
          },
          {
            PATH: `${names.folder}:${process.env['PATH'] ?? ''}:/usr/sbin:/usr/bin:/bin`,
            RESOLVER: resolver,
          },
        ),
      ),
    );
  });
  after(async () => {
    await Promise.all([...servers.values(), ...proxies, web.server].map((one) => one.stop()));
    await stack.stop();
  });

  function startServer(address: string, proxyPort: number): Daemon {
    const listen = join(temporaryDirectory(), 'listen.cjs');
    writeFileSync(listen, LISTEN);
    const preloads = ['--require', `${SCRIPTS}/socketio_sites.cjs`, '--require', listen];
    return stack.bench.daemon(
      ['node', ...preloads, `${stack.bench.path}/apps/frappe/socketio.js`],
      {
        FRAPPE_SOCKETIO_PORT: String(port),
        LISTEN_ADDRESS: address,
        NGINX_HOST: '127.0.0.1',
        NGINX_PORT: String(proxyPort),
        SOCKETIO_ORIGIN_PORT: String(SOCKETIO_ORIGIN_PORT),
      },
    );
  }

  const listening = (...daemons: readonly Daemon[]): Promise<void> =>
    eventually('they listen', () =>
      daemons.every((one) => one.log().includes('Realtime service listening')),
    );

  async function login({ name, env }: Site): Promise<string> {
    const body = JSON.stringify({ usr: 'Administrator', pwd: env['ADMIN_PASSWORD'] });
    const headers = { Host: name, 'Content-Type': 'application/json' };
    const answer = await get(web.port, '/api/method/login', headers, { method: 'POST', body });
    assert.equal(answer.status, 200, answer.body);
    return (answer.headers['set-cookie'] as string[])[0]?.split(';')[0] ?? '';
  }

  /** Half of the clients poll, each of whose requests goes to the next nginx. */
  async function joinAs(client: number, cookies: readonly string[]): Promise<RealtimeClient> {
    const site = sites[client % sites.length] ?? stack.site();
    const headers = { Host: site.name, Cookie: cookies[client % sites.length] ?? '' };
    const nginx = (turn: number): number => proxies[turn % proxies.length]?.port ?? 0;
    let turn = client >> 1;
    return client < CLIENTS / 2
      ? joinByPolling((path, options) => get(nginx(turn++), path, headers, options), site.name)
      : joinByWebSocket(`http://127.0.0.1:${nginx(turn)}`, headers, site.name);
  }

  const joinAll = async (): Promise<readonly RealtimeClient[]> => {
    const cookies = await Promise.all(sites.map(login));
    return Promise.all(Array.from({ length: CLIENTS }, (_, client) => joinAs(client, cookies)));
  };

  const publish = (site: Site, text: string): void => {
    const kwargs = `--kwargs=${JSON.stringify({ event: 'news', message: { text } })}`;
    assert.equal(site.bench('execute', 'frappe.publish_realtime', kwargs).code, 0);
  };

  /** The server that each nginx has chosen for a host. */
  async function chosen(host: string): Promise<readonly string[]> {
    return Promise.all(
      proxies.map(async (nginx) => {
        const path = `/socket.io/?EIO=4&transport=polling&t=${Math.random().toString(36)}`;
        assert.equal((await get(nginx.port, path, { Host: host })).status, 200);
        // Not a line about an error: it has the path, too, and comes before.
        const line = () =>
          nginx
            .log()
            .split('\n')
            .find((one) => one.includes(path) && one.includes('upstream='));
        await eventually('the log', () => line() !== undefined);
        // The last server that it has tried.
        return /upstream=(?:\S+, )*(\S+):\d+ "/.exec(line() ?? '')?.[1] ?? '';
      }),
    );
  }

  const chosenOfAll = async (): Promise<Map<string, string>> => {
    const found = new Map<string, string>();
    for (const host of HOSTS) {
      const [first = '', ...others] = await chosen(host);
      assert.ok(
        others.every((one) => one === first),
        `${host}: ${first} and ${others.join()}`,
      );
      found.set(host, first);
    }
    return found;
  };

  it('each nginx chooses the same server for a site, and all servers get sites', async () => {
    const used = new Set((await chosenOfAll()).values());
    assert.deepEqual([...used].sort(), [...PODS]);
  });

  it('20 clients, by long polling and by websockets, receive the events of their site', async () => {
    const clients = await joinAll();
    for (const [index, { answer }] of clients.entries()) {
      assert.match(answer, /^40\/site\d\.example\.com,\{"sid":/, String(index));
    }
    for (const site of sites) publish(site, site.name);
    for (const [index, client] of clients.entries()) {
      const name = sites[index % sites.length]?.name ?? '';
      assert.equal(await client.next(), `42/${name},["news",{"text":"${name}"}]`);
      client.close();
    }
  });

  it('each server gets every event from Redis', async () => {
    const [site] = sites;
    assert.ok(site);
    const Cookie = await login(site);
    const headers = {
      ...{ Host: site.name, Origin: `http://${site.name}:${SOCKETIO_ORIGIN_PORT}` },
      ...{ 'X-Frappe-Site-Name': site.name, Cookie },
    };
    const clients = await Promise.all(
      PODS.map((address) => joinByWebSocket(`http://${address}:${port}`, headers, site.name)),
    );
    publish(site, 'both');
    for (const client of clients) {
      assert.equal(await client.next(), `42/${site.name},["news",{"text":"both"}]`);
      client.close();
    }
  });

  it('clients of a server that ends join another one within 5 s, whatever DNS answers', async () => {
    const [, ended] = PODS;
    const clients = await joinAll();
    const cut = clients.map((client) => client.next().catch(() => undefined));
    await servers.get(ended)?.stop('SIGKILL');
    const started = Date.now();
    const again = await joinAll();
    assert.ok(Date.now() - started < 5_000, `${Date.now() - started} ms`);
    for (const { answer } of again) assert.match(answer, /^40\//);
    assert.deepEqual(new Set((await chosenOfAll()).values()), new Set([PODS[0]]));
    for (const client of [...clients, ...again]) client.close();
    for (const site of sites) publish(site, 'the end');
    await Promise.all(cut);
  });

  it('a server with another address gets sites, and the others keep theirs', async () => {
    const server = startServer(OTHER_POD, proxies[0]?.port ?? 0);
    servers.set(OTHER_POD, server);
    await listening(server);
    names.resolveTo(PODS[0], OTHER_POD);
    const reloaded = 'uses the addresses of the pods of socketio';
    await eventually('nginx reloads', () => proxies.every((one) => one.log().includes(reloaded)));
    await eventually('both are chosen', async () => {
      const found = new Set((await chosenOfAll().catch(() => new Map<string, string>())).values());
      return found.has(PODS[0]) && found.has(OTHER_POD) && found.size === 2;
    });
    const clients = await joinAll();
    for (const { answer, close } of clients) {
      assert.match(answer, /^40\//);
      close();
    }
  });

  it('without the address of a server, nginx uses the Service', async () => {
    names.resolveTo();
    const nginx = await startNginx(
      {
        socketio: `${PODS[0]}:${port}`,
        socketioPods: `pods.example.com:${port}`,
        sites: [{ siteName: 'a.example.com', domains: [] }],
      },
      { PATH: `${names.folder}:${process.env['PATH'] ?? ''}:/usr/sbin:/usr/bin:/bin` },
    );
    const polled = await get(nginx.port, '/socket.io/?EIO=4&transport=polling', {
      Host: 'a.example.com',
    });
    assert.equal(polled.status, 200, nginx.log());
    await nginx.stop();
  });
});
