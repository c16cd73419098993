import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureBuilt } from '../controlplane/binaries.js';
import type { OnProgress } from '../controlplane/progress.js';
import { cacheKey, pinned, pinsIn } from '../controlplane/versions.js';
import { projectRoot } from '../project-root.js';

/** A running S3 server, on loopback. */
export interface S3Server {
  readonly port: number;
  /** Folder in which each folder is a bucket, and each file an object. */
  readonly folder: string;
  readonly keyId: string;
  readonly secret: string;
  /** Stops the server, and deletes its data unless `keepData` is set. */
  stop(options?: { readonly keepData?: boolean }): Promise<void>;
}

export interface S3ServerOptions {
  readonly port: number;
  /** @default a new one */
  readonly folder?: string;
  /** @default backups */
  readonly bucket?: string;
  /** Certificate and key, for TLS. @default none */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Domain under which each bucket has a host name. @default none */
  readonly domain?: string;
}

const MODULE = 'github.com/versity/versitygw';

/**
 * Builds versitygw, a real S3 server, into the cache of the control plane's binaries; two minutes
 * the first time.
 */
async function ensureS3Binary(onProgress?: OnProgress): Promise<string> {
  const folder = path.join(projectRoot(), 'testbed', 's3', 'go');
  const pins = pinsIn(folder);
  const key = cacheKey(`versitygw-${pinned(pins[0] ?? '', MODULE)}`, pins);
  const recipe = { module: folder, package: `${MODULE}/cmd/versitygw` };
  const catalog = { key, recipes: { versitygw: recipe } };
  return (await ensureBuilt(catalog, ['versitygw'], { onProgress })).versitygw;
}

/** Starts a server and waits until it answers. It ends with this process at the latest. */
export async function startS3Server(options: S3ServerOptions): Promise<S3Server> {
  const binary = await ensureS3Binary();
  const { port, bucket = 'backups', tls, domain } = options;
  const folder = options.folder ?? mkdtempSync(path.join(tmpdir(), 'app-operator-s3-'));
  mkdirSync(path.join(folder, bucket), { recursive: true });
  const [keyId, secret] = ['AKIATEST', 'se/cr+et key'];
  const child = spawn(
    binary,
    [
      `--port=127.0.0.1:${port}`,
      '--quiet',
      ...(tls ? [`--cert=${tls.cert}`, `--key=${tls.key}`] : []),
      ...(domain ? [`--virtual-domain=${domain}`] : []),
      'posix',
      folder,
    ],
    {
      env: { PATH: process.env.PATH, ROOT_ACCESS_KEY_ID: keyId, ROOT_SECRET_ACCESS_KEY: secret },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  const abort = (): void => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', abort);
  child.unref();
  await answering(child, port, tls !== undefined);
  return {
    port,
    folder,
    keyId,
    secret,
    async stop({ keepData = false } = {}) {
      process.off('exit', abort);
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
      if (!keepData) rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function answering(child: ChildProcess, port: number, tls: boolean): Promise<void> {
  let output = '';
  child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  for (let attempt = 0; attempt < 1_200; attempt += 1) {
    if (child.exitCode !== null) throw new Error(`versitygw exited: ${output}`);
    // Any response counts, also a refusal.
    const scheme = tls ? 'https' : 'http';
    const error: unknown = await fetch(`${scheme}://127.0.0.1:${port}/`).then(
      () => undefined,
      (failure: unknown) => failure,
    );
    const cause =
      error instanceof Error ? (error.cause as { code?: string } | undefined) : undefined;
    if (error === undefined || (tls && cause?.code !== 'ECONNREFUSED')) return;
    await sleep(50);
  }
  throw new Error(`versitygw does not answer on port ${port}: ${output}`);
}
