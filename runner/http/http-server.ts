import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Logger } from '../telemetry/log.js';
import type { BindAddress } from '../config/parsers.js';

export interface Reply {
  readonly status: number;
  readonly body: string;
  /** Default: `text/plain; charset=utf-8`. */
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Responds to a request. An error that it throws becomes a 500 without details. */
export type Route = (request: IncomingMessage) => Reply | Promise<Reply>;

/** The routes by path. Other paths are 404; other methods than that of the server are 405. */
export type Routes = Readonly<Record<string, Route>>;
export type Method = 'GET' | 'POST';

export interface HttpServer {
  /** The port on which it listens. */
  readonly port: number;
  /** Accepts no more connections, and closes those with running requests after `graceMs`. */
  close(graceMs?: number): Promise<void>;
}

/** Limits for callers: every response here is small and fast. */
export const LIMITS = {
  headersTimeout: 5_000,
  requestTimeout: 5_000,
  keepAliveTimeout: 65_000,
  // How often the first two are looked at: by default every half minute.
  connectionsCheckingInterval: 1_000,
};

/** A caller that takes this long to read some of a response is cut off. */
const STILL_MS = 30_000;

/** Serves routes over plain HTTP. Rejects if it cannot listen. */
export async function serveHttp(
  address: BindAddress,
  routes: Routes,
  log: Logger,
): Promise<HttpServer> {
  return listen(createServer(LIMITS, answer(routes, log)), address);
}

/** The request listener of some routes. */
export function answer(routes: Routes, log: Logger, method: Method = 'GET') {
  return (request: IncomingMessage, response: ServerResponse): void => {
    reply(routes, request, method)
      .catch((error: unknown): Reply => {
        log.error('request failed', { path: pathOf(request), error });
        return { status: 500, body: 'internal error\n' };
      })
      .then(({ status, body, contentType, headers }) => {
        response.writeHead(status, {
          'content-type': contentType ?? 'text/plain; charset=utf-8',
          'content-length': Buffer.byteLength(body),
          'x-content-type-options': 'nosniff',
          ...headers,
        });
        response.end(body);
      })
      .catch((error: unknown) => {
        log.debug('response failed', { path: pathOf(request), error });
        response.destroy();
      });
  };
}

/** Starts a server, HTTP or HTTPS. */
export async function listen(server: Server, { host, port }: BindAddress): Promise<HttpServer> {
  limitConnections(server);
  server.setTimeout(STILL_MS);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, ...(host !== undefined && { host }) }, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: (graceMs = 2_000) =>
      new Promise((resolve) => {
        const cut = setTimeout(() => {
          server.closeAllConnections();
        }, graceMs);
        server.close(() => {
          clearTimeout(cut);
          resolve();
        });
        server.closeIdleConnections();
      }),
  };
}

/** The most connections of a server. */
const MAX_CONNECTIONS = 256;

/** Closes the oldest connection for a new one, so that a caller who holds connections keeps no other out. */
function limitConnections(server: Server): void {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    const [oldest] = open;
    if (open.size <= MAX_CONNECTIONS || !oldest) return;
    open.delete(oldest);
    oldest.destroy();
  });
}

async function reply(routes: Routes, request: IncomingMessage, method: Method): Promise<Reply> {
  const path = pathOf(request);
  const route = Object.hasOwn(routes, path) ? routes[path] : undefined;
  if (!route) return { status: 404, body: 'not found\n' };
  if (request.method !== method) {
    return { status: 405, body: 'method not allowed\n', headers: { allow: method } };
  }
  return route(request);
}

function pathOf(request: IncomingMessage): string {
  return (request.url ?? '/').split('?', 1)[0] ?? '/';
}
