import { Agent, buildConnector, WebSocket } from 'undici';
import { MAX_BYTES, TooLarge } from './http-probe.js';

/** How often the bytes that a server has sent are counted. */
const COUNT_MS = 50;

/** A server that answers without a websocket, or with messages that are no text. */
export class NoWebSocket extends Error {}

interface Handshake {
  /** @default the server's */
  readonly host: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/** Text messages on a websocket of its own connection. A tenant controls the server: bytes are limited. */
export class WebSocketClient {
  readonly #messages: string[] = [];
  #error: Error | undefined;
  #wake: () => void = () => undefined;

  /**
   * Opens a websocket.
   * @param signal ends it at any time; what waits for a message then rejects
   */
  static async open(
    url: string,
    { Host: host, ...headers }: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<WebSocketClient> {
    signal.throwIfAborted();
    const client = new WebSocketClient(new URL(url), { host, headers }, signal);
    await client.#opened;
    return client;
  }

  readonly #agent: Agent;
  readonly #socket: WebSocket;
  readonly #opened: Promise<undefined>;
  readonly #counter: NodeJS.Timeout;
  #bytes: () => number = () => 0;

  private constructor(
    server: URL,
    { host = server.host, headers }: Handshake,
    signal: AbortSignal,
  ) {
    const connector = buildConnector({});
    // A WebSocket names the host of its URL: the connection is to the server all the same.
    const { hostname, port, protocol } = server;
    let failure: Error | undefined;
    this.#agent = new Agent({
      webSocket: { maxPayloadSize: MAX_BYTES },
      connect: (options, callback) => {
        connector({ ...options, hostname, host: server.host, port, protocol }, (error, socket) => {
          failure = error ?? undefined;
          if (socket) this.#bytes = () => socket.bytesRead;
          if (error) callback(error, null);
          else callback(null, socket);
        });
      },
    });
    this.#counter = setInterval(() => this.#count(), COUNT_MS);
    signal.addEventListener('abort', () => this.#fail(signal.reason as Error), { once: true });
    const opened = Promise.withResolvers<undefined>();
    this.#opened = opened.promise;
    const url = new URL(server.pathname + server.search, `ws://${host}`);
    this.#socket = new WebSocket(url, { dispatcher: this.#agent, headers: { ...headers } });
    this.#socket.addEventListener('open', () => opened.resolve(undefined));
    this.#socket.addEventListener('message', ({ data }) => {
      this.#count();
      if (this.#error) return;
      if (typeof data === 'string') this.#messages.push(data);
      else this.#fail(new NoWebSocket('not answered by text'));
      this.#wake();
    });
    this.#socket.addEventListener('error', () => {
      this.#fail(failure ?? new NoWebSocket('not answered by a websocket'));
    });
    this.#socket.addEventListener('close', () => {
      this.#fail(Object.assign(new Error('closed'), { code: 'EPIPE' }));
      opened.reject(this.#error ?? new Error('closed'));
    });
  }

  /** The next message. */
  async receive(): Promise<string> {
    for (;;) {
      const message = this.#messages.shift();
      if (message !== undefined) return message;
      if (this.#error) throw this.#error;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  send(text: string): void {
    this.#socket.send(text);
  }

  close(): void {
    this.#fail(new Error('closed'));
  }

  #count(): void {
    if (this.#bytes() >= MAX_BYTES) this.#fail(new TooLarge());
  }

  #fail(error: Error): void {
    this.#error ??= error;
    if (error instanceof TooLarge) this.#messages.length = 0;
    clearInterval(this.#counter);
    void this.#agent.destroy(this.#error);
    this.#wake();
  }
}
