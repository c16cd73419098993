import { ResponseTooLarge } from './api-error.js';

/**
 * The longest list page, watch event or log line that is read. One object is always shorter: etcd stores
 * 1.5 MiB of it, and JSON takes six bytes for a character that it escapes.
 */
export const MAX_BYTES = 16 * 1024 * 1024;

/**
 * Reads a body as text.
 * @throws ResponseTooLarge as soon as more bytes have arrived; the rest is not read
 */
export async function textOf(
  body: AsyncIterable<Uint8Array>,
  call: string,
  maxBytes: number,
): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new ResponseTooLarge(call, maxBytes);
    chunks.push(chunk);
  }
  const whole = Buffer.concat(chunks, bytes);
  chunks.length = 0;
  return whole.toString('utf8');
}
