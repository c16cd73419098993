import type { IncomingMessage } from 'node:http';

/** A request body is too long, or too many are being read. */
export class BodyTooLarge extends Error {
  override readonly name = 'BodyTooLarge';
  constructor(readonly status: 413 | 503) {
    super(status === 413 ? 'body: too long' : 'too many requests are being read');
  }
}

/** An object has at most 1.5 MiB; a review of an update contains two. */
const MOST_BYTES = 4 * 1024 * 1024;
/** For all bodies in work together: the process must stay within its memory. */
const MOST_TOGETHER = 32 * 1024 * 1024;

/** Reads bodies within limits. */
export class Bodies {
  #bytes = 0;

  /**
   * Reads a body and calls `work`; its size counts until `work` is done.
   * @throws BodyTooLarge
   */
  async with<T>(request: IncomingMessage, work: (body: string) => Promise<T>): Promise<T> {
    const chunks: Buffer[] = [];
    let length = 0;
    try {
      if (Number(request.headers['content-length'] ?? 0) > MOST_BYTES) throw new BodyTooLarge(413);
      for await (const chunk of request) {
        const { length: more } = chunk as Buffer;
        length += more;
        this.#bytes += more;
        if (length > MOST_BYTES) throw new BodyTooLarge(413);
        if (this.#bytes > MOST_TOGETHER) throw new BodyTooLarge(503);
        chunks.push(chunk as Buffer);
      }
      return await work(Buffer.concat(chunks).toString('utf8'));
    } finally {
      this.#bytes -= length;
    }
  }
}
