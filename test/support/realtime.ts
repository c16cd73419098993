/** Clients of socket.io, by each of its transports: they join a site's namespace and receive its events. */
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
 * What a client receives. It is read all the time, whether a test asks for it or not: the server ends a client
 * that does not answer its pings.
 */
class Inbox {
  readonly #received: string[] = [];
  #error: Error | undefined;
  #wake: () => void = () => undefined;

  /** @param read resolves with the packets that came next, pings among them; its first failure ends the inbox */
  constructor(
    private readonly read: () => Promise<readonly string[]>,
    private readonly pong: () => Promise<void>,
  ) {
    void this.#fill();
  }

  readonly next = async (): Promise<string> => {
    for (;;) {
      const packet = this.#received.shift();
      if (packet !== undefined) return packet;
      if (this.#error) throw this.#error;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  };

  async #fill(): Promise<void> {
    try {
      for (;;) {
        const packets = await this.read();
        if (packets.includes(PING)) await this.pong();
        this.#received.push(...packets.filter((packet) => packet !== PING));
        this.#wake();
      }
    } catch (error) {
      this.#error = error as Error;
      this.#wake();
    }
  }
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
  let closed = false;
  const read = async (): Promise<readonly string[]> => {
    if (closed) throw new Error('closed');
    return accepted(await exchange(path)).split(SEPARATOR);
  };
  await send(`40/${namespace},`);
  const { next } = new Inbox(read, () => send(PONG));
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
  const { next } = new Inbox(
    async () => [await client.receive()],
    async () => client.send(PONG),
  );
  return { answer: await next(), next, close: () => client.close() };
}

function accepted({ status, body }: { readonly status: number; readonly body: string }): string {
  if (status !== 200) throw new Error(`${status}: ${body}`);
  return body;
}
