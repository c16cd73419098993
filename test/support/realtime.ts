/** Clients of socket.io, by each of its transports: they join a site's namespace and receive its events. */
import { EventEmitter, on } from 'node:events';

import { WebSocketClient } from '../../runner/health/websocket.js';

const ENGINE = '/socket.io/?EIO=4&transport=';
/** Of Engine.IO: a poll may bring several packets. */
const [CLOSE, PING, PONG, SEPARATOR] = ['1', '2', '3', '\x1e'];

/** One request of a client; each may take another way. */
export type Exchange = (
  path: string,
  options?: { readonly method: string; readonly body: string },
) => Promise<{ readonly status: number; readonly body: string }>;

/** A client that has asked to join. */
export interface RealtimeClient {
  /** The server's answer: `40` if it has joined. */
  readonly answer: string;
  /** The next event; rejects when the server does not know the session, or the connection ends. */
  readonly next: () => Promise<string>;
  readonly close: () => void;
}

/**
 * Reads all the time, whether a test asks or not: the server ends a client that does not answer its pings.
 * @param read resolves with the packets that came next, pings among them; its first failure is the last
 * @returns resolves with the next packet that is no ping
 */
function inbox(
  read: () => Promise<readonly string[]>,
  pong: () => Promise<void> | void,
): RealtimeClient['next'] {
  const events = new EventEmitter();
  const packets = on(events, 'packet');
  const readAll = async (): Promise<never> => {
    for (;;) {
      for (const packet of await read()) {
        if (packet === PING) await pong();
        else events.emit('packet', packet);
      }
    }
  };
  readAll().catch((error: unknown) => events.emit('error', error));
  return async () => {
    const { value, done } = await packets.next();
    if (done) throw new Error('ended');
    return String(value[0]);
  };
}

/** Opens a session of long polling. @returns the path of its requests */
async function openSession(exchange: Exchange): Promise<string> {
  const opened = accepted(await exchange(`${ENGINE}polling`));
  const { sid } = JSON.parse(opened.slice(1)) as { readonly sid: string };
  return `${ENGINE}polling&sid=${sid}`;
}

/** Whether two ways lead to the same server: no other knows a session. */
export async function isSameServer(one: Exchange, other: Exchange): Promise<boolean> {
  const path = await openSession(one);
  const { status } = await other(path, { method: 'POST', body: CLOSE });
  return status === 200;
}

/** Joins by long polling alone: every packet is a request. */
export async function joinByPolling(
  exchange: Exchange,
  namespace: string,
): Promise<RealtimeClient> {
  const path = await openSession(exchange);
  const send = async (body: string): Promise<void> => {
    accepted(await exchange(path, { method: 'POST', body }));
  };
  let closed = false;
  const read = async (): Promise<readonly string[]> => {
    if (closed) throw new Error('closed');
    return accepted(await exchange(path)).split(SEPARATOR);
  };
  await send(`40/${namespace},`);
  const next = inbox(read, () => send(PONG));
  const close = (): void => {
    closed = true;
    // The server then answers the poll that waits.
    send(CLOSE).catch(() => undefined);
  };
  return { answer: await next(), next, close };
}

/** Joins by a websocket from the start. @param origin `http://` and the address of nginx */
export async function joinByWebSocket(
  origin: string,
  headers: Readonly<Record<string, string>>,
  namespace: string,
): Promise<RealtimeClient> {
  const signal = AbortSignal.timeout(300_000);
  const client = await WebSocketClient.open(`${origin}${ENGINE}websocket`, headers, signal);
  await client.receive();
  client.send(`40/${namespace},`);
  const next = inbox(
    async () => [await client.receive()],
    () => client.send(PONG),
  );
  return { answer: await next(), next, close: () => client.close() };
}

function accepted({ status, body }: { readonly status: number; readonly body: string }): string {
  if (status !== 200) throw new Error(`${status}: ${body}`);
  return body;
}
