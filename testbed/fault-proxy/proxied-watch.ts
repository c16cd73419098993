import type { IncomingMessage, ServerResponse } from 'node:http';

/** A watch that the proxy forwards. */
export class ProxiedWatch {
  /** Whether events are dropped; the connection stays open. */
  silent = false;
  #last = Promise.resolve();

  /** @param delayMs delay of an event in milliseconds; called for each event */
  constructor(
    readonly path: string,
    upstream: IncomingMessage,
    private readonly response: ServerResponse,
    delayMs: () => number,
  ) {
    response.writeHead(upstream.statusCode ?? 502, upstream.headers);
    response.flushHeaders();
    upstream.on('data', (chunk: Buffer) => {
      if (this.silent) return;
      const delay = delayMs();
      // Events keep their order when the delay changes.
      this.#last = Promise.all([this.#last, delay > 0 ? after(delay) : undefined]).then(() => {
        if (!this.silent) response.write(chunk);
      });
    });
    upstream.once('end', () => this.end());
    upstream.once('error', () => response.destroy());
  }

  /** Ends the response, as a server does at the timeout of a watch. */
  end(): void {
    void this.#last.then(() => this.response.end());
  }

  /** Closes the connection without an end of the response. */
  cut(): void {
    this.response.destroy();
  }

  /** Ends with the error 410, as a server does for an expired resource version. */
  expire(): void {
    const object = {
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      code: 410,
      reason: 'Expired',
      message: 'too old resource version',
    };
    this.response.write(`${JSON.stringify({ type: 'ERROR', object })}\n`);
    this.response.end();
  }
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
