import type { IncomingMessage, ServerResponse } from 'node:http';
import { EXPIRED, type LineFault, type Part, unchanged } from './watch-faults.js';

/** A watch that the proxy forwards. */
export class ProxiedWatch {
  /** Whether events are dropped; the connection stays open. */
  silent = false;
  #last = Promise.resolve();
  #rest = '';

  /** @param fault called for each event; it may be replaced at any time */
  constructor(
    readonly path: string,
    upstream: IncomingMessage,
    private readonly response: ServerResponse,
    public fault: LineFault = unchanged,
  ) {
    response.writeHead(upstream.statusCode ?? 502, upstream.headers);
    response.flushHeaders();
    response.socket?.setNoDelay(true);
    upstream.setEncoding('utf8');
    upstream.on('data', (text: string) => {
      this.#receive(text);
    });
    upstream.once('end', () => this.end());
    upstream.once('error', () => response.destroy());
  }

  /** Ends the response, as a server does at the timeout of a watch. */
  end(): void {
    void this.#last.then(() => this.response.end(this.#rest));
  }

  /** Closes the connection without an end of the response. */
  cut(): void {
    this.response.destroy();
  }

  /** Ends with the error 410, as a server does for an expired resource version. */
  expire(): void {
    this.response.write(EXPIRED);
    this.response.end();
  }

  #receive(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    if (this.silent) return;
    for (const line of lines) {
      // A pause begins when the event arrives; events keep their order.
      const steps = this.fault(line).map((part) =>
        typeof part === 'object' && 'waitMs' in part ? after(part.waitMs) : part,
      );
      this.#last = this.#last.then(() => this.#write(steps));
    }
  }

  async #write(steps: readonly Step[]): Promise<void> {
    for (const step of steps) {
      if (this.response.writableEnded || this.response.destroyed || this.silent) return;
      if (step instanceof Promise) await step;
      else if (typeof step === 'string') this.response.write(step);
      else if (Buffer.isBuffer(step)) await this.#chunk(step);
      else if (step.close === 'cut') this.cut();
      else this.response.end();
    }
  }

  /** A chunk that arrives alone. */
  async #chunk(part: Buffer): Promise<void> {
    this.response.write(part);
    await new Promise(setImmediate);
  }
}

/** A part whose pause has begun. */
type Step = Exclude<Part, { readonly waitMs: number }> | Promise<void>;

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
