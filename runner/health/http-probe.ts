import { type ClientRequest, request } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import type { HttpProbe, ProbeResult } from '../../constructs/kit/kind.js';

/** From the start of the connection to the end of the answer, however slowly it arrives. */
export const TIMEOUT_MS = 5_000;
/** All that a server sends counts: headers, interim answers, body, trailers. */
export const MAX_BYTES = 64 * 1024;

interface Answer {
  readonly status: number;
  /** Undefined if the status is not the expected one: it is not read then. */
  readonly body: string | undefined;
}

/**
 * Makes one HTTP check, on a connection of its own that is closed afterwards. A tenant controls the
 * server: bytes and time are limited, redirects are not followed, and nothing of the body is kept.
 * Never rejects: the result has the error, without times or addresses that change.
 */
export async function probe(wanted: HttpProbe, signal: AbortSignal): Promise<ProbeResult> {
  const { url, host, expectStatus, expectBody } = wanted;
  const what = `GET ${new URL(url).pathname} for ${host}`;
  try {
    const { status, body } = await get(wanted, signal);
    if (body === undefined) {
      return { ok: false, message: `${what}: expected status ${expectStatus}, got ${status}` };
    }
    return isDeepStrictEqual(parse(body), expectBody)
      ? { ok: true, message: '' }
      : { ok: false, message: `${what}: unexpected body with status ${expectStatus}` };
  } catch (error) {
    if (error instanceof TooLarge) {
      return { ok: false, message: `${what}: response is longer than ${MAX_BYTES} bytes` };
    }
    const why = reasonOf(error);
    return { ok: false, message: `${what}: no response from ${new URL(url).host}: ${why}` };
  }
}

export class TooLarge extends Error {}

function get({ url, host, expectStatus }: HttpProbe, signal: AbortSignal): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const sent = request(url, { agent: false, headers: { host }, signal });
  const timer = setTimeout(() => {
    sent.destroy(new DOMException('no answer in time', 'TimeoutError'));
  }, TIMEOUT_MS);
  const received = limitBytes(sent);
  sent.on('error', reject);
  sent.once('response', (response) => {
    const status = response.statusCode ?? 0;
    response.on('error', reject);
    if (status !== expectStatus) {
      resolve({ status, body: undefined });
      return;
    }
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.once('end', () => resolve({ status, body: Buffer.concat(chunks).toString() }));
  });
  sent.once('close', () => reject(Object.assign(new Error('closed'), { code: 'ECONNRESET' })));
  sent.end();
  return promise.finally(() => {
    clearTimeout(timer);
    sent.destroy();
    // Up to 64 KiB each: the garbage collector runs only after thousands of them.
    for (const buffer of received) buffer.transfer(0);
  });
}

/**
 * Counts on the socket: the limits of the HTTP parser leave out interim answers.
 * @returns what is received, until it is freed
 */
function limitBytes(sent: ClientRequest): readonly ArrayBuffer[] {
  const received: ArrayBuffer[] = [];
  sent.once('socket', (socket) => {
    let bytes = 0;
    socket.on('data', (chunk: Buffer<ArrayBuffer>) => {
      received.push(chunk.buffer);
      bytes += chunk.length;
      if (bytes >= MAX_BYTES) sent.destroy(new TooLarge());
    });
  });
  return received;
}

/** The code of a system error, the name of any other: a timeout has a number as its code. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'no response';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
