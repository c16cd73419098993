import { ResponseTooLarge } from './api-error.js';
import { MAX_BYTES } from './response-body.js';

const NEWLINE = 0x0a;

/**
 * The lines of a byte stream, as they become complete, without empty ones. A line of many chunks is
 * joined once, so the cost is linear in its length.
 * @param call named in the error
 * @throws ResponseTooLarge as soon as a line without an end is longer than 16 MiB
 */
export async function* lines(
  chunks: AsyncIterable<Uint8Array>,
  call = 'lines',
): AsyncGenerator<string> {
  let pending: Uint8Array[] = [];
  let pendingBytes = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, start);
      if (end < 0) break;
      const line = take(pending, chunk, start, end);
      if (pending.length > 0) pending = [];
      pendingBytes = 0;
      start = end + 1;
      if (line !== '') yield line;
    }
    if (start < chunk.length) pending.push(start === 0 ? chunk : chunk.subarray(start));
    pendingBytes += chunk.length - start;
    if (pendingBytes > MAX_BYTES) throw new ResponseTooLarge(call, MAX_BYTES);
  }
  const last = Buffer.concat(pending).toString('utf8');
  if (last !== '') yield last;
}

function take(
  pending: readonly Uint8Array[],
  chunk: Uint8Array,
  start: number,
  end: number,
): string {
  const tail = Buffer.from(chunk.buffer, chunk.byteOffset + start, end - start);
  return pending.length === 0
    ? tail.toString('utf8')
    : Buffer.concat([...pending, tail]).toString('utf8');
}
