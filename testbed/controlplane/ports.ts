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

/** A file for each reserved port, with the id of the process: its server may not listen yet. */
const RESERVATIONS = path.join(tmpdir(), `app-operator-ports-${process.getuid?.() ?? ''}`);

/** Ports of this process; the files are deleted when it exits. */
const reserved = new Set<number>();
process.once('exit', () => {
  for (const port of reserved) rmSync(reservationOf(port), { force: true });
});

/** A port on 127.0.0.1 that is free and that no other process has reserved. */
export async function freePort(): Promise<number> {
  await mkdir(RESERVATIONS, { recursive: true });
  for (;;) {
    const port = randomInt(FIRST, LAST);
    if ((await reserve(port)) && (await isFree(port))) return port;
  }
}

/**
 * Reserves a port; false where it is reserved, also by this process. The reservation of a killed
 * process is removed.
 */
async function reserve(port: number): Promise<boolean> {
  const file = reservationOf(port);
  try {
    await writeFile(file, String(process.pid), { flag: 'wx' });
    reserved.add(port);
    return true;
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  }
  const owner = Number(await readFile(file, 'utf8').catch(() => ''));
  if (owner > 0 && !isAlive(owner)) await rm(file, { force: true });
  return false;
}

function reservationOf(port: number): string {
  return path.join(RESERVATIONS, String(port));
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
