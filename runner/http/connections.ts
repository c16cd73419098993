import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** The most connections of a server, and those of one remote address that others may not suffer of. */
export interface ConnectionLimits {
  readonly total: number;
  /** At the limit, addresses with more than these lose an idle one first. */
  readonly perAddress: number;
}

const LIMITS: ConnectionLimits = { total: 256, perAddress: 64 };

interface Connection {
  readonly key: string;
  readonly socket: Socket;
  readonly address: string;
  /** The last request and its response; undefined until its headers are complete. */
  last?: { readonly request: IncomingMessage; readonly response: ServerResponse };
}

/**
 * Keeps a server within its limits: a new connection at the limit takes the place of the oldest idle
 * one, so that a caller who holds connections keeps no other out. Below it none is closed: an API server
 * opens many at once, and each is idle until its request is complete. A connection is idle unless the
 * server works for it: one whose request is not complete, or whose response is not read, is idle too.
 * Where none is idle, the new one is closed.
 */
export function limitConnections(server: Server, limits: ConnectionLimits = LIMITS): void {
  // In the order in which they were last used.
  const open = new Map<string, Connection>();
  server.on('connection', (socket: Socket) => {
    const key = keyOf(socket);
    const address = socket.remoteAddress ?? '';
    if (open.size >= limits.total && !drop(crowd()) && !drop([...open.values()])) {
      socket.destroy();
      return;
    }
    open.set(key, { key, socket, address });
    socket.once('close', () => {
      if (open.get(key)?.socket === socket) open.delete(key);
    });
  });
  /** The connections of addresses that have many. */
  const crowd = (): readonly Connection[] => {
    const byAddress = Map.groupBy(open.values(), ({ address }) => address);
    return [...byAddress.values()].filter(({ length }) => length > limits.perAddress).flat();
  };
  /** Closes the first idle one. */
  const drop = (connections: readonly Connection[]): boolean => {
    const idle = connections.find(isIdle);
    if (!idle) return false;
    open.delete(idle.key);
    idle.socket.destroy();
    return true;
  };
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const key = keyOf(request.socket);
    const connection = open.get(key);
    if (!connection) return;
    connection.last = { request, response };
    open.delete(key);
    open.set(key, connection);
  });
}

function isIdle({ last }: Connection): boolean {
  return !last?.request.complete || last.response.writableEnded;
}

/** Names a connection: for one with TLS, servers pass two sockets that know nothing of each other. */
function keyOf({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
