import type { IncomingMessage } from 'node:http';
import { Busy, Gate } from './gate.js';
import { BadReview } from './review.js';
import { ReviewScan } from './scan.js';

/** A request body is longer than any review of an API server. */
export class BodyTooLarge extends Error {
  override readonly name = 'BodyTooLarge';
  constructor() {
    super('body: too long');
  }
}

/** A body that was read: its text, or what it exceeds, of which nothing was kept. */
export type Body =
  | { readonly text: string; readonly exceeded?: undefined }
  | { readonly text?: undefined; readonly exceeded: Exceeded };

export interface Exceeded {
  /** Of the request; undefined if there is none. */
  readonly uid: string | undefined;
  /** What is wrong with the object. */
  readonly problem: string;
}

/** The API server takes 3 MiB of a client, and stores 1.5 MiB: a review of an update has both. */
const MOST_BYTES = (3 * 1024 + 1536 + 64) * 1024;
/** What every connection may send at once. A longer body waits for its turn. */
const SHORT_BYTES = 64 * 1024;
/** How many longer bodies are in work at the same time: each takes several times its size. */
const LONG = {
  ...{ most: 2, mostOfOne: 1, queue: 16, waitMs: 1_000 },
  message: 'too many long reviews at once; try again',
};

/** Reads bodies within limits. */
export class Bodies {
  readonly #long = new Gate(LONG);

  /**
   * Reads a body and calls `work`. A body that exceeds a bound is read to its end, for its uid, but
   * not kept. Where the stored object alone exceeds one, the author cannot help it: it is left
   * out, and the new one is reviewed as that of a create.
   * @throws BodyTooLarge, BadReview, Busy
   */
  async with<T>(request: IncomingMessage, work: (body: Body) => Promise<T>): Promise<T> {
    if (Number(request.headers['content-length'] ?? 0) > MOST_BYTES) throw new BodyTooLarge();
    const scan = new ReviewScan();
    const held: Held = { chunks: [], length: 0 };
    try {
      for await (const chunk of request as AsyncIterable<Buffer<ArrayBuffer>>) {
        await this.#hold(chunk, scan, held);
      }
      if (held.busy) throw held.busy;
      const { uid, exceeded: problem } = scan;
      if (problem !== undefined) return await work({ exceeded: { uid, problem } });
      const text = scan.oldExceeded === undefined ? textOf(held) : textWithoutOld(held, scan);
      return await work({ text });
    } finally {
      held.leave?.();
    }
  }

  /** Keeps a chunk, while the body is within its bounds. */
  async #hold(chunk: Buffer<ArrayBuffer>, scan: ReviewScan, held: Held): Promise<void> {
    held.length += chunk.length;
    if (held.length > MOST_BYTES) throw new BodyTooLarge();
    scan.push(chunk);
    // A client that is still sending does not read a response: what is not kept is read too.
    held.chunks.push(chunk);
    if (held.busy !== undefined || scan.exceeded !== undefined) {
      drop(held);
      return;
    }
    if (held.length > SHORT_BYTES) await this.#turn(held, scan.namespace ?? '');
  }

  /** Waits for the turn of a long body. */
  async #turn(held: Held, namespace: string): Promise<void> {
    try {
      held.leave ??= await this.#long.enter(namespace);
    } catch (error) {
      if (!(error instanceof Busy)) throw error;
      held.busy = error;
    }
  }
}

/** What is kept of a body that is read. */
interface Held {
  chunks: Buffer<ArrayBuffer>[];
  length: number;
  /** Ends the turn of a long body. */
  leave?: () => void;
  /** Why nothing of it is kept: its turn did not come. */
  busy?: Busy;
}

function textOf(held: Held): string {
  const bytes = Buffer.concat(held.chunks);
  drop(held);
  const text = bytes.toString('utf8');
  free(bytes);
  return text;
}

const NO_OLD = Buffer.from('null');

/** The text without the stored object. @throws BadReview */
function textWithoutOld(held: Held, { old }: ReviewScan): string {
  const bytes = Buffer.concat(held.chunks);
  drop(held);
  if (!old) throw new BadReview('AdmissionReview: more than one oldObject');
  const text = Buffer.concat([bytes.subarray(0, old.from), NO_OLD, bytes.subarray(old.to)]);
  free(bytes);
  return text.toString('utf8');
}

function drop(held: Held): void {
  for (const chunk of held.chunks) free(chunk);
  held.chunks = [];
}

/** Frees a buffer now: the garbage collector lets tens of megabytes of them pile up. */
export function free({ buffer, byteLength }: Buffer<ArrayBuffer>): void {
  // Small ones share a buffer.
  if (buffer.byteLength === byteLength) buffer.transfer(0);
}
