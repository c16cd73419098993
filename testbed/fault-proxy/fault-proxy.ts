import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Agent, request } from 'node:https';
import path from 'node:path';
import { parse, stringify } from 'yaml';

import type { ControlPlane } from '../controlplane/controlplane.js';
import { freePort } from '../controlplane/ports.js';
import { type Call, callOf } from './call.js';
import type { Alteration, Response, Rule } from './faults.js';
import { ProxiedWatch } from './proxied-watch.js';
import { type LineFault, unchanged, type WatchFault } from './watch-faults.js';

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
  /** The fault of a watch that begins, by its path. */
  watchFault: (path: string) => WatchFault | undefined = () => undefined;
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

  static async start(
    plane: ControlPlane,
    user = 'operator',
    groups: readonly string[] = ['system:masters'],
  ): Promise<FaultProxy> {
    const file = await plane.userKubeconfig(user, groups);
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
    // A list of one object only compares versions.
    const method = call.query.get('limit') === '1' ? 'GET-ONE' : call.method;
    this.calls.push(`${call.isWatch ? 'WATCH' : method} ${call.path}`);
    const pass = async (): Promise<void> => {
      const fault = await this.rule?.(call);
      if (fault === 'drop') response.destroy();
      else if (typeof fault === 'object' && !('alter' in fault)) answer(response, fault);
      else await this.#forward({ incoming, body, response, call }, fault);
    };
    if (!this.serial || !call.isWrite) return pass();
    const turn = this.#turn.then(pass);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  #watch(call: Call, answered: IncomingMessage, response: ServerResponse): void {
    const { path } = call;
    const fault = this.watchFault(path)?.() ?? unchanged;
    const late: LineFault = (line) => {
      const waitMs = this.watchDelay(path);
      return waitMs > 0 ? [{ waitMs }, ...fault(line)] : fault(line);
    };
    const watch = new ProxiedWatch(path, answered, response, late);
    this.#watches.add(watch);
    response.once('close', () => this.#watches.delete(watch));
  }

  #forward(received: Received, fault: 'lose' | Alteration | undefined): Promise<void> {
    const { incoming, body, response, call } = received;
    // The client has closed its connection: it no longer wants the write.
    if (response.destroyed) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const { host: _host, connection: _connection, ...headers } = incoming.headers;
      const upstream = request(
        `${this.upstream}${incoming.url ?? ''}`,
        { method: call.method, headers, agent: this.#agent },
        (answered) => {
          answered.on('error', reject);
          if (call.isWatch && fault === undefined) {
            this.#watch(call, answered, response);
            response.once('close', () => {
              upstream.destroy();
              resolve();
            });
            return;
          }
          const chunks: Buffer[] = [];
          answered.on('data', (chunk: Buffer) => chunks.push(chunk));
          answered.once('end', () => {
            const received = { status: answered.statusCode ?? 502, headers: answered.headers };
            respond(response, { ...received, body: Buffer.concat(chunks) }, fault, call).then(
              resolve,
              reject,
            );
          });
        },
      );
      upstream.once('error', reject);
      response.once('close', () => {
        if (!response.writableFinished && fault !== 'lose') upstream.destroy();
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

/** The API server's response. */
interface Answered {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

async function respond(
  response: ServerResponse,
  { status, headers, body }: Answered,
  fault: 'lose' | Alteration | undefined,
  call: Call,
): Promise<void> {
  if (fault === 'lose') {
    response.destroy();
    return;
  }
  if (!fault) {
    response.writeHead(status, headers);
    response.end(body);
    return;
  }
  const { 'content-length': _length, 'transfer-encoding': _encoding, ...others } = headers;
  response.writeHead(fault.status ?? status, others);
  const bytes = Buffer.from(fault.alter(body.toString(), call));
  const step = fault.chunkBytes ?? Math.max(bytes.length, 1);
  response.socket?.setNoDelay(true);
  for (let from = 0; from < bytes.length; from += step) {
    response.write(bytes.subarray(from, from + step));
    await new Promise(setImmediate);
  }
  if (fault.cut) response.destroy();
  else response.end();
}

function answer(response: ServerResponse, { status, headers, body, text }: Response): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  const failure = { kind: 'Status', apiVersion: 'v1', code: status };
  response.end(text ?? JSON.stringify(body ?? failure));
}
