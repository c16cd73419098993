import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { chmod, mkdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';

import { extract } from 'tar-stream';
import { EnvHttpProxyAgent, fetch, type Response } from 'undici';

import { messageOf } from '../../constructs/kit/errors.js';
import { type OnProgress, type Portion, withProgress } from './progress.js';
import type { Release } from './releases.js';

/** A base address that replaces the scheme of each release: `<mirror>/dl.k8s.io/release/…`. */
const MIRROR = 'APP_OPERATOR_MIRROR';

export interface DownloadOptions {
  /** Folder of the programs. */
  readonly folder: string;
  /** Folder of what is not whole yet; the next download continues from it. */
  readonly partial: string;
  readonly onProgress?: OnProgress | undefined;
  /** How long a server may take until it answers, in milliseconds. Default: 2,500. */
  readonly answerMs?: number;
  /** How long a server may send nothing, in milliseconds. Default: 20,000. */
  readonly stallMs?: number;
}

/** How often in a row a connection may end without one byte more. */
const ATTEMPTS = 3;

/**
 * Downloads programs side by side into `folder`, each moved there in one step once its sum is
 * right.
 *
 * @returns why some are missing, by name; empty when all are there
 */
export async function downloadBinaries(
  releases: readonly (readonly [name: string, release: Release])[],
  options: DownloadOptions,
): Promise<ReadonlyMap<string, string>> {
  const failures = new Map<string, string>();
  if (releases.length === 0) return failures;
  await mkdir(options.partial, { recursive: true });
  const dispatcher = new EnvHttpProxyAgent();
  const names = releases.map(([name]) => name).join(', ');
  try {
    await withProgress(`downloading ${names}`, options.onProgress, async (advance) => {
      const downloads = releases.map(([, release]) => new Download(release, options, dispatcher));
      const started = await Promise.allSettled(downloads.map((download) => download.start()));
      const report = (): void => advance(sumOf(downloads));
      const ends = downloads.map(async (download, index) => {
        const start = started[index];
        if (start?.status === 'rejected') throw start.reason;
        await download.finish(report);
        const [name = ''] = releases[index] ?? [];
        await install(download, path.join(options.folder, name));
      });
      for (const [index, end] of (await Promise.allSettled(ends)).entries()) {
        const [name = ''] = releases[index] ?? [];
        if (end.status === 'rejected') failures.set(name, messageOf(end.reason));
      }
      if (failures.size === releases.length) throw new AllFailed();
    });
  } catch (error) {
    if (!(error instanceof AllFailed)) throw error;
  } finally {
    await dispatcher.destroy();
  }
  return failures;
}

/** Ends the progress of a download of which nothing came. */
class AllFailed extends Error {}

function sumOf(downloads: readonly Download[]): Portion {
  const add = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0);
  return {
    done: add(downloads.map(({ done }) => done)),
    total: add(downloads.map(({ total }) => total)),
    unit: 'bytes',
  };
}

/** One file that is being downloaded. */
class Download {
  done = 0;
  total = 0;
  readonly file: string;
  readonly url: string;
  #response: Response | undefined;
  #abort = new AbortController();

  constructor(
    readonly release: Release,
    private readonly options: DownloadOptions,
    private readonly dispatcher: EnvHttpProxyAgent,
  ) {
    this.url = addressOf(release.url);
    // Named by its sum, so that a download never continues from another file.
    this.file = path.join(options.partial, release.sha256);
  }

  /** Waits for the server's answer. */
  async start(): Promise<void> {
    this.done = await sizeOf(this.file);
    this.#abort = new AbortController();
    const { answerMs = 2_500 } = this.options;
    const timer = setTimeout(() => this.#abort.abort(new Error('timed out')), answerMs);
    try {
      const headers = {
        // The sums are of the files as they are.
        'accept-encoding': 'identity',
        ...(this.done > 0 && { range: `bytes=${this.done}-` }),
      };
      const { dispatcher } = this;
      const { signal } = this.#abort;
      this.#response = await fetch(this.url, { headers, dispatcher, signal });
    } catch (error) {
      throw new Error(`${hostOf(this.url)}: ${reasonOf(error)}`, { cause: error });
    } finally {
      clearTimeout(timer);
    }
    await this.#accept(this.#response);
  }

  async #accept(response: Response): Promise<void> {
    const length = Number(response.headers.get('content-length') ?? 0);
    if (response.status === 206) {
      this.total = this.done + length;
      return;
    }
    if (response.status === 416) {
      // Nothing is left to send: the sum says whether it is the file.
      await response.body?.cancel();
      this.#response = undefined;
      this.total = this.done;
      return;
    }
    if (!response.ok) {
      await response.body?.cancel();
      throw new Error(`${this.url}: the server answered ${response.status}`);
    }
    this.done = 0;
    this.total = length;
    await rm(this.file, { force: true });
  }

  /** Receives the rest; continues where a connection ends early. */
  async finish(report: () => void): Promise<void> {
    const resumed = this.done > 0;
    await this.#receiveAll(report);
    if (await this.#isRight()) return;
    // What an earlier process left may be damaged; a whole new file is not asked for twice.
    if (!resumed) await this.#refuse();
    await rm(this.file, { force: true });
    await this.start();
    await this.#receiveAll(report);
    if (!(await this.#isRight())) await this.#refuse();
  }

  async #receiveAll(report: () => void): Promise<void> {
    for (let attempt = 1; ;) {
      const before = this.done;
      try {
        if (!this.#response) await this.start();
        await this.#receive(report);
        return;
      } catch (error) {
        this.#response = undefined;
        attempt = this.done > before ? 1 : attempt + 1;
        if (attempt > ATTEMPTS) {
          throw new Error(`${hostOf(this.url)}: ${reasonOf(error)}`, { cause: error });
        }
      }
    }
  }

  async #receive(report: () => void): Promise<void> {
    const body = this.#response?.body;
    this.#response = undefined;
    if (!body) return;
    const { stallMs = 20_000 } = this.options;
    const stalled = setTimeout(() => this.#abort.abort(new Error('the server stalled')), stallMs);
    const count = async function* (this: Download, chunks: AsyncIterable<Uint8Array>) {
      for await (const chunk of chunks) {
        stalled.refresh();
        this.done += chunk.length;
        report();
        yield chunk;
      }
    }.bind(this);
    try {
      await pipeline(body, count, createWriteStream(this.file, { flags: 'a' }));
    } finally {
      clearTimeout(stalled);
      // What was received but not written does not count.
      this.done = await sizeOf(this.file);
    }
  }

  async #isRight(): Promise<boolean> {
    const hash = createHash('sha256');
    await pipeline(createReadStream(this.file), hash);
    return hash.digest('hex') === this.release.sha256;
  }

  async #refuse(): Promise<never> {
    await rm(this.file, { force: true });
    throw new Error(`${this.url}: the SHA-256 sum is wrong; want ${this.release.sha256}`);
  }
}

async function install({ file, release }: Download, target: string): Promise<void> {
  await mkdir(path.dirname(target), { recursive: true });
  if (release.member === undefined) {
    await chmod(file, 0o755);
    await rename(file, target);
    return;
  }
  const program = `${file}.program`;
  await extractMember(file, release.member, program);
  await chmod(program, 0o755);
  await rename(program, target);
  await rm(file);
}

async function extractMember(archive: string, member: string, target: string): Promise<void> {
  const files = extract();
  const unpacked = pipeline(createReadStream(archive), createGunzip(), files);
  let found = false;
  for await (const entry of files) {
    if (entry.header.name === member) {
      found = true;
      await pipeline(entry, createWriteStream(target));
    } else {
      entry.resume();
    }
  }
  await unpacked;
  if (!found) throw new Error(`${archive}: the archive has no ${member}`);
}

function addressOf(url: string): string {
  const mirror = process.env[MIRROR];
  if (!mirror) return url;
  const { host, pathname } = new URL(url);
  return `${mirror.replace(/\/$/, '')}/${host}${pathname}`;
}

function hostOf(url: string): string {
  return new URL(url).host;
}

/** The innermost cause: `fetch` itself only says that it failed. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error ? reasonOf(cause) : messageOf(error);
}

async function sizeOf(file: string): Promise<number> {
  return stat(file).then(
    ({ size }) => size,
    () => 0,
  );
}
