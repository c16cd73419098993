import type { IncomingMessage } from 'node:http';

/** The body of a request is longer than allowed, or too many are read at once. */
export class TooMuch extends Error {
  override readonly name = 'TooMuch';
  constructor(readonly status: 413 | 503) {
    super(status === 413 ? 'the body is too long' : 'too much is being read already');
  }
}

/** An object of the API has at most 1.5 MiB; a review of a change holds two, and some words. */
const MOST_BYTES = 4 * 1024 * 1024;
/** Of all bodies that are being read and judged: the process must live within its memory. */
const MOST_TOGETHER = 32 * 1024 * 1024;

/** Reads bodies within limits. */
export class Bodies {
  #held = 0;

  /**
   * Reads a body and works on it; what it takes counts until that is done.
   * @throws TooMuch
   */
  async with<T>(request: IncomingMessage, work: (body: string) => Promise<T>): Promise<T> {
    const chunks: Buffer[] = [];
    let length = 0;
    try {
      if (Number(request.headers['content-length'] ?? 0) > MOST_BYTES) throw new TooMuch(413);
      for await (const chunk of request) {
        const { length: more } = chunk as Buffer;
        length += more;
        this.#held += more;
        if (length > MOST_BYTES) throw new TooMuch(413);
        if (this.#held > MOST_TOGETHER) throw new TooMuch(503);
        chunks.push(chunk as Buffer);
      }
      return await work(Buffer.concat(chunks).toString('utf8'));
    } finally {
      this.#held -= length;
    }
  }
}
