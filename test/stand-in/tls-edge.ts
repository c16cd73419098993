/** A proxy that ends TLS in front of nginx of the bench, as an ingress controller with a private CA. */
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { freePort } from '../../testbed/controlplane/ports.js';
import { newAuthority, serverTls } from '../jobs/certificates.js';
import {
  type Answer,
  daemon,
  type Env,
  eventually,
  required,
  temporaryDirectory,
} from '../jobs/servers.js';

export interface TlsEdge {
  /** The port for browsers. */
  readonly port: number;
  /** One request, whose certificate is checked. */
  readonly exchange: (
    host: string,
    path: string,
    options?: { readonly method?: string; readonly headers?: Env; readonly body?: string },
  ) => Promise<Answer>;
  /** A port of plain connections that this machine encrypts for a host, whose certificate it checks. */
  readonly encrypted: (host: string) => Promise<number>;
  readonly stop: () => Promise<void>;
}

/** Starts the real nginx with a certificate for these hosts, in front of a port of this machine. */
export async function startTlsEdge(hosts: readonly string[], target: number): Promise<TlsEdge> {
  const port = await freePort();
  const folder = temporaryDirectory();
  const { ca, cert, key } = serverTls(newAuthority('private CA'), hosts);
  writeFileSync(join(folder, 'tls.crt'), cert);
  writeFileSync(join(folder, 'tls.key'), key, { mode: 0o600 });
  writeFileSync(join(folder, 'nginx.conf'), configuration(port, target));
  chmodSync(folder, 0o755);
  const nginx = daemon(
    [required('nginx'), '-e', 'stderr', '-p', `${folder}/`, '-c', join(folder, 'nginx.conf')],
    {},
  );
  await eventually(`it listens: ${nginx.log()}`, async () => {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    socket.destroy();
    return true;
  });
  const bridges: Server[] = [];
  return {
    port,
    exchange: (host, path, options) => exchange({ host, port, ca }, path, options),
    encrypted: async (host) => {
      const bridge = createServer((client) => {
        const server = connectTls({ host: '127.0.0.1', port, ca, servername: host });
        for (const [from, to] of [
          [client, server],
          [server, client],
        ] as const) {
          from.on('error', () => to.destroy()).on('close', () => to.destroy());
          from.pipe(to);
        }
      });
      bridges.push(bridge);
      await once(bridge.listen(0, '127.0.0.1'), 'listening');
      return (bridge.address() as AddressInfo).port;
    },
    stop: async () => {
      for (const bridge of bridges) bridge.close();
      await nginx.stop();
    },
  };
}

/** As ingress controllers do: the scheme and the client in headers, cookies for TLS only. */
function configuration(port: number, target: number): string {
  return `daemon off;
worker_processes 1;
pid nginx.pid;
error_log stderr warn;
events {}
http {
  access_log off;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  map $http_upgrade $connection_upgrade {
    default upgrade;
    '' close;
  }
  server {
    listen 127.0.0.1:${port} ssl;
    ssl_certificate tls.crt;
    ssl_certificate_key tls.key;
    location / {
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-Proto https;
      proxy_cookie_flags ~ secure;
      proxy_read_timeout 3600s;
      proxy_pass http://127.0.0.1:${target};
    }
  }
}
`;
}

function exchange(
  { host, port, ca }: { readonly host: string; readonly port: number; readonly ca: string },
  path: string,
  { method = 'GET', headers = {}, body = '' }: Parameters<TlsEdge['exchange']>[2] = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const where = { host: '127.0.0.1', port, ca, servername: host, agent: false, path, method };
    const sent = request({ ...where, headers: { Host: host, ...headers } }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const { statusCode: status = 0, headers: answered } = response;
        resolve({ status, headers: answered, body: Buffer.concat(chunks).toString() });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
