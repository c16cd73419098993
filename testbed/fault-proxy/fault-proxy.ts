import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Agent, request } from 'node:https';
import path from 'node:path';
import { parse, stringify } from 'yaml';

import type { ControlPlane } from '../controlplane/controlplane.js';
import { freePort } from '../controlplane/ports.js';
import { ProxiedWatch } from './proxied-watch.js';

/** A call on its way to the API server. */
export interface Call {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: string;
  readonly isWatch: boolean;
  /** Whether it changes a resource or a child; Events and Leases do not count. */
  readonly isWrite: boolean;
}

/**
 * What the proxy does with a call: an object is its response; `drop` closes the connection;
 * `lose` forwards the call and closes the connection before the response.
 */
export type Fault =
  | 'drop'
  | 'lose'
  | {
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: unknown;
    };

/** The fault of a call, undefined to forward it; the call waits for the promise. */
export type Rule = (call: Call) => Fault | undefined | Promise<Fault | undefined>;

/**
 * An HTTP proxy between an operator and the API server that injects the faults of networks and busy
 * servers. It authenticates as the operator's user; operators connect to it without TLS.
 */
export class FaultProxy {
  /** Path of a kubeconfig whose server is this proxy. */
  kubeconfig = '';
  /** Every call that has arrived, as `GET /api/v1/secrets`; watches as `WATCH …`. */
  readonly calls: string[] = [];
  rule: Rule | undefined;
  /** Whether writes are forwarded one at a time, in order of arrival. */
  serial = false;
  /** Delay of each event of a watch in milliseconds, by the path of the watch. */
  watchDelay: (path: string) => number = () => 0;
  readonly #watches = new Set<ProxiedWatch>();
  readonly #agent: Agent;
  readonly #server: Server;
  #turn = Promise.resolve();

  private constructor(
    private readonly upstream: string,
    private readonly port: number,
    credentials: Readonly<Record<'ca' | 'cert' | 'key', Buffer>>,
  ) {
    // The API server closes idle connections after 90 s: this side must be first.
    this.#agent = new Agent({ ...credentials, keepAlive: true, timeout: 60_000 });
    this.#server = createServer((incoming, response) => {
      this.#handle(incoming, response).catch(() => response.destroy());
    });
    // Closing an idle connection under a client would be one more fault.
    this.#server.keepAliveTimeout = 300_000;
  }

  static async start(plane: ControlPlane, user = 'operator'): Promise<FaultProxy> {
    const file = await plane.userKubeconfig(user, ['system:masters']);
    const { clusters, users } = parse(await readFile(file, 'utf8')) as {
      readonly clusters: readonly { readonly cluster: Readonly<Record<string, string>> }[];
      readonly users: readonly { readonly user: Readonly<Record<string, string>> }[];
    };
    const data = (from: Readonly<Record<string, string>> | undefined, key: string): Buffer =>
      Buffer.from(from?.[`${key}-data`] ?? '', 'base64');
    // A fixed port: `accept` listens on it again after `refuse`.
    const proxy = new FaultProxy(plane.server, await freePort(), {
      ca: data(clusters[0]?.cluster, 'certificate-authority'),
      cert: data(users[0]?.user, 'client-certificate'),
      key: data(users[0]?.user, 'client-key'),
    });
    await proxy.accept();
    const server = `http://127.0.0.1:${proxy.port}`;
    proxy.kubeconfig = path.join(plane.dataDir, `proxy-${proxy.port}.kubeconfig`);
    await writeFile(
      proxy.kubeconfig,
      stringify({
        apiVersion: 'v1',
        kind: 'Config',
        clusters: [{ name: 'proxy', cluster: { server } }],
        users: [{ name: 'anonymous', user: {} }],
        contexts: [{ name: 'proxy', context: { cluster: 'proxy', user: 'anonymous' } }],
        'current-context': 'proxy',
      }),
    );
    return proxy;
  }

  /** The watches that are open now. */
  get watches(): readonly ProxiedWatch[] {
    return [...this.#watches];
  }

  /** Listens; also after `refuse`. */
  async accept(): Promise<void> {
    this.#server.listen(this.port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  /** Breaks all connections, and refuses new ones. */
  async refuse(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async stop(): Promise<void> {
    this.rule = undefined;
    if (this.#server.listening) await this.refuse();
    this.#agent.destroy();
  }

  async #handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const call = callOf(incoming, body.toString());
    this.calls.push(`${call.isWatch ? 'WATCH' : call.method} ${call.path}`);
    const pass = async (): Promise<void> => {
      const fault = await this.rule?.(call);
      if (fault === 'drop') response.destroy();
      else if (fault && fault !== 'lose') answer(response, fault);
      else await this.#forward({ incoming, body, response, call }, fault === 'lose');
    };
    if (!this.serial || !call.isWrite) return pass();
    const turn = this.#turn.then(pass);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  #forward({ incoming, body, response, call }: Received, lose: boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const { host: _host, connection: _connection, ...headers } = incoming.headers;
      const upstream = request(
        `${this.upstream}${incoming.url ?? ''}`,
        { method: call.method, headers, agent: this.#agent },
        (answered) => {
          answered.on('error', reject);
          if (call.isWatch) {
            const watch = new ProxiedWatch(call.path, answered, response, () =>
              this.watchDelay(call.path),
            );
            this.#watches.add(watch);
            response.once('close', () => {
              this.#watches.delete(watch);
              upstream.destroy();
              resolve();
            });
            return;
          }
          const chunks: Buffer[] = [];
          answered.on('data', (chunk: Buffer) => chunks.push(chunk));
          answered.once('end', () => {
            if (lose) response.destroy();
            else {
              response.writeHead(answered.statusCode ?? 502, answered.headers);
              response.end(Buffer.concat(chunks));
            }
            resolve();
          });
        },
      );
      upstream.once('error', reject);
      response.once('close', () => {
        if (!response.writableFinished && !lose) upstream.destroy();
      });
      upstream.end(body);
    });
  }
}

/** A call that the proxy has received whole, and the response to write. */
interface Received {
  readonly incoming: IncomingMessage;
  readonly body: Buffer;
  readonly response: ServerResponse;
  readonly call: Call;
}

function callOf({ method = 'GET', url = '/' }: IncomingMessage, body: string): Call {
  const { pathname, searchParams: query } = new URL(url, 'http://proxy');
  const isWatch = query.get('watch') === 'true';
  const isWrite = method !== 'GET' && !/\/(events|leases)(\/|$)/.test(pathname);
  return { method, path: pathname, query, body, isWatch, isWrite };
}

function answer(response: ServerResponse, { status, headers, body }: Exclude<Fault, string>): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body ?? { kind: 'Status', apiVersion: 'v1', code: status }));
}
