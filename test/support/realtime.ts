/** Clients of socket.io, by each of its transports: they join a site's namespace and receive its events. */
import { WebSocketClient } from '../../runner/health/websocket.js';

const ENGINE = '/socket.io/?EIO=4&transport=';
/** Of Engine.IO: a poll may bring several packets. */
const [PING, PONG, SEPARATOR] = ['2', '3', '\x1e'];

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

/** Joins by long polling alone: every packet is a request. */
export async function joinByPolling(
  exchange: Exchange,
  namespace: string,
): Promise<RealtimeClient> {
  const opened = accepted(await exchange(`${ENGINE}polling`));
  const { sid } = JSON.parse(opened.slice(1)) as { readonly sid: string };
  const path = `${ENGINE}polling&sid=${sid}`;
  const send = async (body: string): Promise<void> => {
    accepted(await exchange(path, { method: 'POST', body }));
  };
  const received: string[] = [];
  let closed = false;
  const next = async (): Promise<string> => {
    while (received.length === 0) {
      if (closed) throw new Error('closed');
      for (const packet of accepted(await exchange(path)).split(SEPARATOR)) {
        if (packet === PING) await send(PONG);
        else received.push(packet);
      }
    }
    return received.shift() ?? '';
  };
  await send(`40/${namespace},`);
  return { answer: await next(), next, close: () => (closed = true) };
}

/** Joins by a websocket from the start. @param origin `http://` and the address of nginx */
export async function joinByWebSocket(
  origin: string,
  headers: Readonly<Record<string, string>>,
  namespace: string,
): Promise<RealtimeClient> {
  const signal = AbortSignal.timeout(300_000);
  const client = await WebSocketClient.open(`${origin}${ENGINE}websocket`, headers, signal);
  const next = async (): Promise<string> => {
    let packet = await client.receive();
    for (; packet === PING; packet = await client.receive()) client.send(PONG);
    return packet;
  };
  await next();
  client.send(`40/${namespace},`);
  return { answer: await next(), next, close: () => client.close() };
}

function accepted({ status, body }: { readonly status: number; readonly body: string }): string {
  if (status !== 200) throw new Error(`${status}: ${body}`);
  return body;
}
