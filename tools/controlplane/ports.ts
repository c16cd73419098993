import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below the range that the kernel gives to outgoing connections, so that none takes our port. */
const FIRST = 20_000;
const LAST = 32_000;

/** A port handed out in this process is not handed out again: its server may not listen yet. */
const handedOut = new Set<number>();

/** A port on 127.0.0.1 that nothing listens on now. Another process may take it before its use. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, LAST);
    if (handedOut.has(port) || !(await isFree(port))) continue;
    handedOut.add(port);
    return port;
  }
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
