/** What stands between a Job and a real S3 server: a store with the rules of a company, and its proxy. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';

export interface Rules {
  /** Each PUT needs the right Content-MD5, as with Object Lock. */
  readonly checksums?: boolean;
  /** What answers a DELETE. */
  readonly noDelete?: { readonly status: number; readonly code: string };
  /** The header `x-amz-server-side-encryption` that a new object needs. */
  readonly encryption?: string;
}

/** Passes what its rules allow to the S3 server at `port`. */
export async function strictStore(port: number, rules: () => Rules) {
  const server = createServer((incoming, response) => {
    void pass(incoming, response, port, rules());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const here = (server.address() as AddressInfo).port;
  return { endpoint: `http://127.0.0.1:${String(here)}`, close: () => server.close() };
}

async function pass(
  incoming: IncomingMessage,
  response: ServerResponse,
  port: number,
  rules: Rules,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const refusal = refusalOf(incoming, body, rules);
  if (refusal) {
    response.writeHead(refusal.status);
    response.end(`<Error><Code>${refusal.code}</Code><Message>by a rule</Message></Error>`);
    return;
  }
  const { method, url: path, headers } = incoming;
  const onward = request({ host: '127.0.0.1', port, method, path, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 500, answer.headers);
    answer.pipe(response);
  });
  onward.end(body);
}

function refusalOf({ method, url = '', headers }: IncomingMessage, body: Buffer, rules: Rules) {
  const creates = method === 'PUT' ? !url.includes('?') : url.endsWith('?uploads=');
  if (rules.checksums && method === 'PUT') {
    const digest = createHash('md5').update(body).digest('base64');
    if (headers['content-md5'] !== digest) return { status: 400, code: 'InvalidRequest' };
  }
  if (rules.noDelete && method === 'DELETE') return rules.noDelete;
  const found = headers['x-amz-server-side-encryption'];
  const wanted = creates ? rules.encryption : undefined;
  return found === wanted ? undefined : { status: 403, code: 'AccessDenied' };
}

/** An HTTP proxy with a login, which reaches every host on this machine. */
export async function companyProxy(login = 'user:p@ss') {
  const seen: string[] = [];
  const token = `Basic ${Buffer.from(login).toString('base64')}`;
  const isKnown = (incoming: IncomingMessage): boolean =>
    incoming.headers['proxy-authorization'] === token;
  const server = createServer((incoming, response) => {
    const url = new URL(incoming.url ?? '');
    seen.push(`${incoming.method ?? ''} ${url.host}`);
    if (!isKnown(incoming)) {
      response.writeHead(407).end();
      return;
    }
    const { method, headers } = incoming;
    const to = { host: '127.0.0.1', port: url.port, method, path: url.pathname + url.search };
    const onward = request({ ...to, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    incoming.pipe(onward);
  });
  server.on('connect', (incoming: IncomingMessage, client: Socket, head: Buffer) => {
    seen.push(`CONNECT ${incoming.url ?? ''}`);
    if (!isKnown(incoming)) {
      client.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
      return;
    }
    const onward = connect(Number(incoming.url?.split(':').at(-1)), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      onward.write(head);
      onward.pipe(client).pipe(onward);
    });
    for (const socket of [client, onward]) {
      socket.on('error', () => {
        client.destroy();
        onward.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  return {
    url: `http://${encodeURIComponent(login).replace('%3A', ':')}@${host}`,
    host,
    seen,
    close: () => server.close(),
  };
}
