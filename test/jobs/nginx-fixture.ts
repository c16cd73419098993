/** nginx.sh with a mounted configuration, as in the pod: uid 1001, gid 0, only its run directory is writable. */
import { createSocket } from 'node:dgram';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import { join } from 'node:path';
import { renderNginxConfig } from '../../constructs/kinds/bench/nginx-config.js';
import type { NginxConfigInput } from '../../constructs/kinds/bench/nginx-input.js';
import { freePort } from '../../testbed/controlplane/ports.js';
import { SCRIPTS, type Daemon, daemon, eventually, get, temporaryDirectory } from './servers.js';

const USER = { uid: 1001, gid: 0 };

/** A ConfigMap volume: each version has a directory, and `..data` is replaced in one step, as the kubelet does. */
export class ConfigMapVolume {
  readonly path = temporaryDirectory();
  private version = 0;

  write(files: Readonly<Record<string, string>>): void {
    this.version += 1;
    const name = `..v${String(this.version)}`;
    mkdirSync(join(this.path, name));
    for (const [file, text] of Object.entries(files)) {
      writeFileSync(join(this.path, name, file), text);
      if (this.version === 1) symlinkSync(join('..data', file), join(this.path, file));
    }
    symlinkSync(name, join(this.path, '..data_tmp'));
    renameSync(join(this.path, '..data_tmp'), join(this.path, '..data'));
    if (this.version > 1) {
      rmSync(join(this.path, `..v${String(this.version - 1)}`), { recursive: true });
    }
  }
}

export interface Nginx extends Daemon {
  readonly port: number;
  readonly volume: ConfigMapVolume;
  readonly runDirectory: string;
  /** Writes a new version of the configuration, as the operator would. */
  readonly configure: (change: Partial<NginxConfigInput>) => void;
}

/** Starts nginx for these sites; `sitesDirectory` is the sites volume. */
export async function startNginx(
  input: Partial<NginxConfigInput>,
  env: Readonly<Record<string, string>> = {},
): Promise<Nginx> {
  const port = input.port ?? (await freePort());
  const volume = new ConfigMapVolume();
  const runDirectory = temporaryDirectory();
  if (process.getuid?.() === 0) chownSync(runDirectory, USER.uid, USER.gid);
  chmodSync(runDirectory, 0o700);
  const configure = (change: Partial<NginxConfigInput>): void => {
    const base = { sites: [], clientMaxBodySize: '1m', proxyReadTimeout: 60, port };
    const { files, parts } = renderNginxConfig({ ...base, ...input, ...change });
    volume.write(Object.assign({}, files, ...parts) as Record<string, string>);
  };
  configure({});
  const settings = { CONF_DIR: volume.path, RUN_DIR: runDirectory, STOP_SECONDS: '2', ...env };
  const started = daemon(['sh', join(SCRIPTS, 'nginx.sh')], settings, USER);
  await eventually(
    `nginx answers: ${started.log()}`,
    async () => (await get(port, '/healthz')).status === 200,
  );
  return { ...started, port, volume, runDirectory, configure };
}

export interface Backend {
  readonly address: string;
  readonly requests: IncomingMessage[];
  readonly close: () => void;
}

/** A server that answers with its name, and records its requests. */
export async function aBackend(
  name: string,
  answer?: (request: IncomingMessage, response: ServerResponse) => void,
  prepare?: (server: Server) => void,
): Promise<Backend> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    // A response before the end of the body would reset nginx's connection.
    request.resume().once('end', () => {
      if (answer === undefined) response.end(name);
      else answer(request, response);
    });
  });
  prepare?.(server);
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  server.unref();
  return { address: `127.0.0.1:${String(port)}`, requests, close: () => server.close() };
}

/**
 * A name server for nginx: A records of `names` are loopback, other names do not exist. `answers` gets the type and
 * the name of each query; a query for which it returns false is not answered.
 */
export async function nameServer(
  names: ReadonlySet<string>,
  answers: (question: string) => boolean = () => true,
): Promise<string> {
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => {
    const labels: string[] = [];
    let at = 12;
    for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
      labels.push(query.subarray(at + 1, at + 1 + length).toString());
      at += length + 1;
    }
    const question = query.subarray(12, at + 5);
    const name = labels.join('.');
    const known = names.has(name);
    const isA = query.readUInt16BE(at + 1) === 1;
    if (!answers(`${isA ? 'A' : 'AAAA'} ${name}`)) return;
    const header = Buffer.alloc(12);
    query.copy(header, 0, 0, 2);
    header.writeUInt16BE(known ? 0x8180 : 0x8183, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(known && isA ? 1 : 0, 6);
    const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 127, 0, 0, 1]);
    socket.send(
      Buffer.concat([header, question, ...(known && isA ? [record] : [])]),
      from.port,
      from.address,
    );
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  socket.unref();
  return `127.0.0.1:${String(socket.address().port)}`;
}

/** A sites volume with one file per way of serving it. */
/** As the framework's build names a bundle. */
export const HASHED_ASSET = 'assets/frappe/dist/js/desk.bundle.EZJQ3CYC.js';

export function sitesVolume(...sites: readonly string[]): string {
  const path = temporaryDirectory();
  const files: Record<string, string> = {
    'assets/assets.json': '{}',
    'assets/app.css': 'body{}',
    [HASHED_ASSET]: '1',
  };
  for (const site of sites) {
    files[`${site}/public/files/a.txt`] = `public of ${site}`;
    for (const type of ['html', 'svgz', 'rss']) {
      files[`${site}/public/files/page.${type}`] = '<script>1</script>';
    }
    files[`${site}/private/files/secret.txt`] = `private of ${site}`;
    files[`${site}/site_config.json`] = '{"db_password":"x"}';
  }
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(join(path, file, '..'), { recursive: true });
    writeFileSync(join(path, file), text);
  }
  return path;
}
