import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { cacheRoot } from '../controlplane/binaries.js';
import { withLock } from '../controlplane/lock.js';
import { Processes } from '../controlplane/processes.js';
import { type OnProgress, withProgress } from '../controlplane/progress.js';
import { containerdConfig, pathsIn } from './configs.js';
import { Containerd } from './containerd.js';
import { run } from '../controlplane/run.js';

/**
 * Longer than a start takes between asking for a store and copying it, and than a run of the tests
 * on a node: its store serves the next one.
 */
const KEPT_MS = 60 * 60_000;

/**
 * What containerd keeps of some images, unpacked once and kept in the cache: a node starts with a
 * copy of it, instead of unpacking every archive again. Returns the folder.
 *
 * @param archives paths with the key of the content in the name; put archives that change often
 *   last
 */
export async function ensureImageStore(
  archives: readonly string[],
  onProgress?: OnProgress,
): Promise<string> {
  await mkdir(path.dirname(storeOf([])), { recursive: true });
  if (archives.length > 1 && !existsSync(storeOf(archives))) {
    // The one that changes most often is unpacked alone, when the others are there.
    await ensureStore(archives.slice(0, -1), onProgress);
  }
  const store = await ensureStore(archives, onProgress);
  await removeOld(path.dirname(store));
  return store;
}

async function ensureStore(
  archives: readonly string[],
  onProgress: OnProgress | undefined,
): Promise<string> {
  const stores = archives.map((_, index) => storeOf(archives.slice(0, index + 1)));
  const store = storeOf(archives);
  await withLock(`${store}.lock`, async () => {
    const known = stores.findLastIndex((folder) => existsSync(folder));
    // What it is made from is in use, too.
    if (known >= 0) await touch(stores[known] ?? store);
    if (existsSync(store)) return;
    const rest = archives.slice(known + 1);
    const message = `unpacking ${rest.length} images`;
    await withProgress(message, onProgress, () => unpack(stores[known], rest, store));
    await touch(store);
  });
  return store;
}

/** Says when it was last used. */
async function touch(folder: string): Promise<void> {
  const now = new Date();
  await utimes(folder, now, now);
}

/**
 * Copies a store for one containerd. Files of images are linked: no process writes to them.
 * Databases are copied.
 */
export async function copyImageStore(store: string, folder: string): Promise<void> {
  const sameDisk = (await stat(store)).dev === (await stat(path.dirname(folder))).dev;
  await run('cp', ['--archive', ...(sameDisk ? ['--link'] : []), '-T', store, folder]);
  const databases = (await run('find', [folder, '-maxdepth', '2', '-name', '*.db'])).split('\n');
  for (const database of databases.filter(Boolean)) {
    await run('cp', ['--archive', database, `${database}.own`]);
    await rename(`${database}.own`, database);
  }
}

async function unpack(
  from: string | undefined,
  archives: readonly string[],
  store: string,
): Promise<void> {
  const work = await mkdtemp(`${store}.`);
  const paths = pathsIn(work);
  if (from) await copyImageStore(from, paths.containerd);
  await mkdir(path.dirname(paths.socket), { recursive: true });
  const config = path.join(work, 'containerd.toml');
  await writeFile(config, containerdConfig(paths));
  const processes = new Processes(work, { remove: work });
  try {
    await processes.start('containerd', 'containerd', [`--config=${config}`]);
    const containerd = new Containerd(paths.socket);
    await processes.whileAlive(containerd.serving());
    for (const archive of archives) await processes.whileAlive(containerd.import(archive));
    await processes.stop('containerd');
    // What was built and unpacked gets to the disk now, and not while the node's databases wait for
    // theirs.
    await run('sync', []);
    await rename(paths.containerd, store);
  } finally {
    await processes.end();
  }
}

/** Removes stores that no node was started from for a while. */
async function removeOld(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const folder = path.join(parent, name);
    const found = await stat(folder).catch(() => undefined);
    if (found && Date.now() - found.mtimeMs > KEPT_MS) await rm(folder, { recursive: true });
  }
}

function storeOf(archives: readonly string[]): string {
  const names = archives.map((archive) => archive.split(path.sep).slice(-2).join('/')).join('\n');
  const digest = createHash('sha256').update(names).digest('hex').slice(0, 16);
  return path.join(cacheRoot(), 'images', 'stores', digest);
}
