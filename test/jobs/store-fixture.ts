/** Stores for backups, with the environment of Jobs: folders, and a real S3 server. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { freePort } from '../../testbed/controlplane/ports.js';
import type { S3Server } from '../../testbed/s3/server.js';
import {
  type Env,
  type Kill,
  plainEnv,
  required,
  ROOT,
  SCRIPTS,
  temporaryDirectory,
  watch,
} from './servers.js';

export const PREFIX = 'team/shop';

export function volumeEnv(directory = temporaryDirectory()): Env {
  return { STORE_PREFIX: PREFIX, STORE_DIR: directory, STORE_CLAIM: 'backups' };
}

export function s3Env(server: S3Server, change: Env = {}): Env {
  return {
    STORE_PREFIX: PREFIX,
    S3_ENDPOINT: `http://127.0.0.1:${String(server.port)}`,
    S3_BUCKET: 'backups',
    S3_ACCESS_KEY_ID: server.keyId,
    S3_SECRET_ACCESS_KEY: server.secret,
    ...change,
  };
}

/** The environment of a Job whose requests another process signs, which alone has the access key. */
export async function signedEnv(env: Env, access: 'Read' | 'Write' = 'Write') {
  const { S3_ACCESS_KEY_ID = '', S3_SECRET_ACCESS_KEY = '', ...place } = env;
  const socket = join(temporaryDirectory(), 'socket');
  const shared = { ...place, STORE_SIGNER_SOCKET: socket };
  const child = spawn(required('python3'), [join(SCRIPTS, 'store_signer.py')], {
    env: plainEnv({
      ...{ PYTHONPATH: SCRIPTS, PYTHONDONTWRITEBYTECODE: '1', STORE_ACCESS: access },
      ...{ ...shared, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY },
    }),
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const stop = async (): Promise<void> => {
    child.kill();
    await once(child, 'close');
  };
  return { env: shared, stop };
}

export type Action = readonly [name: string, ...args: readonly (string | number)[]];

/** Runs actions on a store in another process. Returns their results, none if it is killed. */
export async function doInStore(
  env: Env,
  actions: readonly Action[],
  kill: Kill = 120_000,
): Promise<readonly unknown[]> {
  const output = await run(env, actions, kill);
  if (output === '') return [];
  const results: unknown = JSON.parse(output);
  if (Array.isArray(results)) return results as readonly unknown[];
  throw new Error(output);
}

/** The error of such a process. */
export async function failureInStore(
  env: Env,
  actions: readonly Action[],
): Promise<{ readonly reason: string; readonly message: string }> {
  return JSON.parse(await run(env, actions, 120_000)) as { reason: string; message: string };
}

async function run(env: Env, actions: readonly Action[], kill: Kill): Promise<string> {
  const driver = join(ROOT, 'test/jobs/store/driver.py');
  const child = spawn(required('python3'), [driver, JSON.stringify(actions)], {
    env: plainEnv({ PYTHONPATH: SCRIPTS, PYTHONDONTWRITEBYTECODE: '1', ...env }),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const callOff = watch(kill, () => child.kill('SIGKILL'));
  await once(child, 'close');
  callOff();
  return output;
}

/** An unreliable proxy of a server: each of the first `times` connections ends after so many bytes in one direction. */
export async function brokenWay(port: number, times: number, bytes: number) {
  const here = await freePort();
  let left = times;
  const server = createServer((client: Socket) => {
    const upstream = connect(port, '127.0.0.1');
    const breaks = left > 0;
    left -= 1;
    const end = (): void => {
      client.destroy();
      upstream.destroy();
    };
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      let passed = 0;
      from.on('data', (chunk: Buffer) => {
        passed += chunk.length;
        to.write(chunk);
        if (breaks && passed > bytes) end();
      });
      from.on('error', end);
      from.on('close', end);
    }
  });
  server.listen(here, '127.0.0.1');
  await once(server, 'listening');
  return {
    endpoint: `http://127.0.0.1:${String(here)}`,
    /** How many connections were closed. */
    broken: () => times - Math.max(left, 0),
    close: () => server.close(),
  };
}
