import { randomInt } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { errorCode } from './errors.js';
import { isAlive } from './lock.js';

/** Below the range that the kernel gives to outgoing connections, so that none takes our port. */
const FIRST = 20_000;
const LAST = 32_000;

/** A file for each port that a process has drawn, with its id: its server may not listen yet. */
export const CLAIMS = path.join(tmpdir(), `app-operator-ports-${process.getuid?.() ?? ''}`);

/** What this process has drawn: its claims, which go with it. */
const drawn = new Set<number>();
process.once('exit', () => {
  for (const port of drawn) rmSync(nameOwnerOf(port), { force: true });
});

/** A port on 127.0.0.1 that nothing listens on now, and that no other process has drawn here. */
export async function freePort(): Promise<number> {
  await mkdir(CLAIMS, { recursive: true });
  for (;;) {
    const port = randomInt(FIRST, LAST);
    if ((await claim(port)) && (await isFree(port))) return port;
  }
}

/** Makes a port this process's own; false where it is drawn already, here too. Who was killed has left claims, which count no more. */
export async function claim(port: number): Promise<boolean> {
  const file = nameOwnerOf(port);
  try {
    await writeFile(file, String(process.pid), { flag: 'wx' });
    drawn.add(port);
    return true;
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  }
  const owner = Number(await readFile(file, 'utf8').catch(() => ''));
  if (owner > 0 && !isAlive(owner)) await rm(file, { force: true });
  return false;
}

function nameOwnerOf(port: number): string {
  return path.join(CLAIMS, String(port));
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => {
      resolve(false);
    });
    server.listen(port, '127.0.0.1', () =>
      server.close(() => {
        resolve(true);
      }),
    );
  });
}
