import { randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

import { errorCode } from './errors.js';

/** The holder renews its lock this often; one not renewed for `STALE_MS` is taken over. */
const RENEW_MS = 5_000;
const STALE_MS = 60_000;
const POLL_MS = 200;

/**
 * Runs `work` while this process holds the lock file `path`; waits while another process does.
 *
 * A lock is stale, and taken over, when the process that it names is dead, or when it has not been
 * renewed for a minute (a process of another container may have the same id).
 */
export async function withLock<T>(
  path: string,
  work: () => Promise<T>,
  onWait?: (holder: number) => void,
): Promise<T> {
  const content = `${process.pid} ${randomUUID()}`;
  let notified = false;
  while (!(await create(path, content))) {
    const holder = await stale(path);
    if (holder !== undefined && !notified) {
      notified = true;
      onWait?.(holder);
    }
    if (holder !== undefined) await sleep(POLL_MS);
  }
  const renewal = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => undefined);
  }, RENEW_MS);
  renewal.unref();
  try {
    return await work();
  } finally {
    clearInterval(renewal);
    if ((await read(path)) === content) await rm(path, { force: true });
  }
}

/** Creates the lock with its content in one step: no process reads an empty lock. */
async function create(path: string, content: string): Promise<boolean> {
  const draft = `${path}.${randomUUID()}`;
  await writeFile(draft, content);
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/**
 * The process that holds the lock; undefined where the lock does not exist or was stale and is
 * removed.
 */
async function stale(path: string): Promise<number | undefined> {
  const content = await read(path);
  if (content === undefined) return undefined;
  const holder = Number(content.split(' ')[0]);
  const age = Date.now() - (await modified(path));
  if (age < STALE_MS && isAlive(holder)) return holder;
  // Only one process succeeds in the rename. If a third process has taken the lock between our read
  // and the rename, its file is put back.
  const removed = `${path}.${randomUUID()}`;
  try {
    await rename(path, removed);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
  if ((await read(removed)) !== content) await link(removed, path).catch(() => undefined);
  await rm(removed, { force: true });
  return undefined;
}

async function read(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(() => undefined);
}

async function modified(path: string): Promise<number> {
  return stat(path).then(
    (found) => found.mtimeMs,
    () => Date.now(),
  );
}

/** Whether a process of this id exists on this machine. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}
