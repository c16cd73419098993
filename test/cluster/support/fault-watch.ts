import type { IncomingMessage, ServerResponse } from 'node:http';

/** A watch that passes through the proxy. */
export class FaultWatch {
  /** Whether what comes from the server goes nowhere: the connection stays open, and is silent. */
  silent = false;
  #last = Promise.resolve();

  /** @param delayMs milliseconds that each event takes longer; asked for each one */
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
      // In their order, also when the delay changes.
      this.#last = Promise.all([this.#last, delay > 0 ? after(delay) : undefined]).then(() => {
        if (!this.silent) response.write(chunk);
      });
    });
    upstream.once('end', () => this.end());
    upstream.once('error', () => response.destroy());
  }

  /** Ends it as a server does whose time for the watch is over. */
  end(): void {
    void this.#last.then(() => this.response.end());
  }

  /** Breaks its connection. */
  cut(): void {
    this.response.destroy();
  }

  /** Ends it as a server does that does not know the version any more. */
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
