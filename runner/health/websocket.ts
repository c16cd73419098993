import { randomBytes } from 'node:crypto';
import { type ClientRequest, request } from 'node:http';
import type { Duplex } from 'node:stream';
import { limitBytes, MOST_BYTES, TooLarge } from './http-probe.js';

const TEXT = 1;
const CLOSE = 8;
const PING = 9;
const PONG = 10;
const FINAL = 0x80;
const MASKED = 0x80;
/** In place of a length up to 125: two bytes with the length follow. */
const LENGTH_FOLLOWS = 126;

/** A server that answers without a websocket. */
export class NoWebSocket extends Error {}

/** Text messages on a websocket, as RFC 6455 has them, without extensions and without fragments. */
export class WebSocketClient {
  readonly #messages: string[] = [];
  #bytes = Buffer.alloc(0);
  #error: Error | undefined;
  #wake: () => void = () => undefined;

  /**
   * Opens a websocket on a connection of its own.
   * @param signal ends it at any time; what waits for a message then rejects
   */
  static open(
    url: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<WebSocketClient> {
    const { promise, resolve, reject } = Promise.withResolvers<WebSocketClient>();
    const sent = request(url, {
      agent: false,
      signal,
      headers: {
        ...headers,
        Connection: 'Upgrade',
        Upgrade: 'websocket',
        'Sec-WebSocket-Version': '13',
        'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
      },
    });
    const received = limitBytes(sent);
    sent.on('error', reject);
    sent.once('response', ({ statusCode = 0 }) => {
      reject(new NoWebSocket(`status ${statusCode}`));
      sent.destroy();
    });
    sent.once('upgrade', (_, socket, head) => {
      resolve(new WebSocketClient({ sent, socket, received, signal }, head));
    });
    sent.once('close', () => reject(Object.assign(new Error('closed'), { code: 'ECONNRESET' })));
    sent.end();
    return promise;
  }

  private constructor(
    private readonly connection: {
      readonly sent: ClientRequest;
      readonly socket: Duplex;
      readonly received: readonly ArrayBuffer[];
      readonly signal: AbortSignal;
    },
    head: Buffer,
  ) {
    const { socket, signal } = connection;
    const fail = (error: Error): void => {
      this.#error ??= error;
      socket.destroy();
      this.#wake();
    };
    signal.addEventListener('abort', () => fail(signal.reason as Error), { once: true });
    socket.on('error', fail);
    socket.on('close', () => fail(Object.assign(new Error('closed'), { code: 'ECONNRESET' })));
    let count = 0;
    const read = (bytes: Buffer): void => {
      count += bytes.length;
      // The request has left the socket to this client, so its own limit ends nothing.
      if (count >= MOST_BYTES) fail(new TooLarge());
      this.#bytes = Buffer.concat([this.#bytes, bytes]);
      try {
        while (this.#readFrame());
      } catch (error) {
        fail(error as Error);
      }
      this.#wake();
    };
    socket.on('data', read);
    read(head);
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
    this.#write(TEXT, Buffer.from(text));
  }

  close(): void {
    const { sent, socket, received } = this.connection;
    this.#error ??= new Error('closed');
    socket.destroy();
    sent.destroy();
    for (const buffer of received) buffer.transfer(0);
    this.#wake();
  }

  /** Whether a whole frame was there. */
  #readFrame(): boolean {
    const bytes = this.#bytes;
    if (bytes.length < 2 || this.#error) return false;
    const [first, short] = [bytes.readUInt8(0), bytes.readUInt8(1)];
    if (short > LENGTH_FOLLOWS) throw new NoWebSocket('a frame that is masked or too long');
    const start = short === LENGTH_FOLLOWS ? 4 : 2;
    if (bytes.length < start) return false;
    const length = short === LENGTH_FOLLOWS ? bytes.readUInt16BE(2) : short;
    if (bytes.length < start + length) return false;
    const data = bytes.subarray(start, start + length);
    this.#bytes = Buffer.from(bytes.subarray(start + length));
    this.#readMessage(first, data);
    return true;
  }

  #readMessage(first: number, data: Buffer): void {
    if (first === (FINAL | TEXT)) this.#messages.push(data.toString());
    else if (first === (FINAL | PING)) this.#write(PONG, data);
    else if (first === (FINAL | CLOSE)) throw Object.assign(new Error('closed'), { code: 'EPIPE' });
    else if (first !== (FINAL | PONG)) throw new NoWebSocket('a frame that is no text');
  }

  #write(opcode: number, data: Buffer): void {
    const mask = randomBytes(4);
    const isShort = data.length < LENGTH_FOLLOWS;
    const head = Buffer.alloc(isShort ? 2 : 4);
    head.writeUInt8(FINAL | opcode, 0);
    head.writeUInt8(MASKED | (isShort ? data.length : LENGTH_FOLLOWS), 1);
    if (!isShort) head.writeUInt16BE(data.length, 2);
    const masked = data.map((byte, at) => byte ^ (mask[at % 4] ?? 0));
    this.connection.socket.write(Buffer.concat([head, mask, masked]));
  }
}
