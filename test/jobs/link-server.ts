/** A server of downloads over HTTPS, as Frappe Cloud and object stores offer them. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type Authority, serverTls } from './certificates.js';
import { temporaryDirectory } from './servers.js';

export interface LinkServer {
  /** `https://localhost:PORT`. */
  readonly url: string;
  /** File with the certificate of its authority. */
  readonly caFile: string;
  /** Header Authorization of each request, in their order. */
  readonly authorizations: (string | undefined)[];
  close(): void;
}

/** What a path answers: a file, another link, or a status. */
export type Answer = Buffer | { readonly to: string } | number;

/**
 * @param answers by path with query
 * @param options cutAt: the first answer of a file ends after so many bytes
 */
export async function linkServer(
  ca: Authority,
  answers: (url: string) => Answer | undefined,
  {
    cutAt = Infinity,
    isChunked = false,
  }: { readonly cutAt?: number; readonly isChunked?: boolean } = {},
): Promise<LinkServer> {
  const { cert, key } = serverTls(ca, ['localhost']);
  const authorizations: (string | undefined)[] = [];
  let isCut = false;
  const server = createServer({ cert, key }, (request, response) => {
    authorizations.push(request.headers.authorization);
    const answer = answers(request.url ?? '');
    if (!Buffer.isBuffer(answer)) {
      refer(response, answer);
      return;
    }
    const from = startOf(request);
    const end = !isCut && answer.length > cutAt ? cutAt : answer.length;
    // A link that is made for each visitor has no length.
    const length = isChunked ? {} : { 'content-length': answer.length - from };
    response.writeHead(from === 0 ? 200 : 206, { ...length, etag: '"1"' });
    response.write(answer.subarray(from, end), () => {
      if (end < answer.length) response.destroy();
      else response.end();
    });
    isCut ||= end < answer.length;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const caFile = join(temporaryDirectory(), 'ca.crt');
  writeFileSync(caFile, ca.certificatePem);
  const { port } = server.address() as AddressInfo;
  return {
    url: `https://localhost:${String(port)}`,
    caFile,
    authorizations,
    close: () => server.close(),
  };
}

function refer(response: ServerResponse, answer: Exclude<Answer, Buffer> | undefined): void {
  if (typeof answer === 'object') response.writeHead(302, { location: answer.to });
  else response.writeHead(answer ?? 404);
  response.end();
}

function startOf({ headers }: IncomingMessage): number {
  return Number(/^bytes=(\d+)-$/.exec(headers.range ?? '')?.[1] ?? 0);
}
