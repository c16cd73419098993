import type { IncomingMessage } from 'node:http';
import { BadReview } from './review.js';

/** The review exceeds a bound, so it is not advised on. The API server then admits the change. */
export class TooLarge extends Error {
  override readonly name = 'TooLarge';
}

/** Bytes of a review: the time that one takes grows with them. */
export const MAX_BYTES = 256 * 1024;
/** Nested lists and objects of a review. */
const MAX_LEVELS = 100;

/** The body of a request. @throws TooLarge, BadReview */
export async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  // The response can be sent before all of the request is read.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    if (!Buffer.isBuffer(chunk)) throw new BadReview('body: not bytes');
    length += chunk.length;
    if (length > MAX_BYTES) throw new TooLarge(`body: longer than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString('utf8');
  if (levelsOf(text) > MAX_LEVELS) {
    throw new TooLarge(`body: nests more than ${MAX_LEVELS} levels`);
  }
  return text;
}

/** How deep a JSON text nests. What is not JSON is refused by its parser. */
function levelsOf(json: string): number {
  let [levels, most, isText] = [0, 0, false];
  for (let i = 0; i < json.length; i++) {
    const char = json[i];
    if (char === '"') isText = !isText;
    else if (isText && char === '\\') i += 1;
    else if (isText) continue;
    else if (char === '[' || char === '{') most = Math.max(most, ++levels);
    else if (char === ']' || char === '}') levels -= 1;
  }
  return most;
}
