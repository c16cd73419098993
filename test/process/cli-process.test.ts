import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../app-operator/main.js', import.meta.url));
/** A busy machine starts processes slowly. A request without a response takes 30 s. */
const LIMIT_MS = 20_000;
const BENCH = `apiVersion: app-operator.io/v1alpha1
kind: AppBench
metadata: { name: b }
spec: {}
`;

let dir: string;
const cleanups: (() => void)[] = [];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'app-operator-process-'));
});
afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
  rmSync(dir, { recursive: true });
});

/** Listens, and writes the kubeconfig that names it. */
async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(() => server.close());
  const { port } = server.address() as AddressInfo;
  const path = join(dir, 'kubeconfig');
  const kubeconfig = {
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u', namespace: 'ns' } }],
    clusters: [{ name: 'c', cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name: 'u', user: {} }],
  };
  writeFileSync(path, JSON.stringify(kubeconfig));
  return path;
}

/** An API server that accepts connections and never responds. */
async function serverWithoutAnswers(): Promise<{ server: Server; kubeconfig: string }> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => undefined));
  });
  const kubeconfig = await listening(server);
  cleanups.push(() => sockets.forEach((socket) => socket.destroy()));
  return { server, kubeconfig };
}

interface Result {
  readonly code: number | string;
  readonly out: string;
  readonly err: string;
}

function run(program: string, args: readonly string[], kubeconfig: string): Promise<Result> {
  const env = { ...process.env, KUBECONFIG: kubeconfig };
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [program, ...args],
      { env, cwd: dir, timeout: LIMIT_MS, killSignal: 'SIGKILL' },
      (error, out, err) => {
        resolve({ code: error ? (error.code ?? error.signal ?? '') : 0, out, err });
      },
    );
  });
}

describe('Ctrl-C', () => {
  /** Interrupts a command once it waits for a response. @returns its exit code */
  async function interrupted(args: readonly string[]): Promise<number | null> {
    const { server, kubeconfig } = await serverWithoutAnswers();
    const connected = once(server, 'connection');
    const env = { ...process.env, KUBECONFIG: kubeconfig };
    const child = spawn(process.execPath, [MAIN, ...args], { env, cwd: dir, stdio: 'ignore' });
    cleanups.push(() => child.kill('SIGKILL'));
    await connected;
    const exit = once(child, 'exit', { signal: AbortSignal.timeout(LIMIT_MS) });
    child.kill('SIGINT');
    const [code] = (await exit) as [number | null];
    return code;
  }

  test('ends a report, and leaves no archive', async () => {
    assert.equal(await interrupted(['report']), 130);
    assert.deepEqual(readdirSync(dir), ['kubeconfig']);
  });

  test('ends a diff', async () => {
    writeFileSync(join(dir, 'bench.yaml'), BENCH);
    assert.equal(await interrupted(['diff', '-f', 'bench.yaml']), 130);
  });

  for (const command of ['render', 'diff']) {
    test(`ends a ${command} that reads standard input`, async () => {
      const { kubeconfig } = await serverWithoutAnswers();
      const env = { ...process.env, KUBECONFIG: kubeconfig };
      const stdio = ['pipe', 'ignore', 'inherit'] as const;
      const child = spawn(process.execPath, [MAIN, command, '-f', '-'], {
        env,
        cwd: dir,
        stdio: [...stdio],
      });
      cleanups.push(() => child.kill('SIGKILL'));
      const { stdin } = child;
      assert.ok(stdin);
      stdin.on('error', () => undefined);
      // More than a pipe holds: it is written once the command reads.
      await new Promise((resolve) => stdin.write('#'.repeat(2 ** 22), resolve));
      const exit = once(child, 'exit', { signal: AbortSignal.timeout(LIMIT_MS) });
      child.kill('SIGINT');
      assert.deepEqual(await exit, [130, null]);
    });
  }

  test('ends a status', async () => {
    assert.equal(await interrupted(['status']), 130);
  });
});

describe('an unexpected error is printed with its stack', () => {
  /** A server that responds with {} to every request. */
  const odd = (): Promise<string> =>
    listening(createHttpServer((_, response) => response.end('{}')));

  test('and diff exits with 2, since 1 means changes', async () => {
    writeFileSync(join(dir, 'bench.yaml'), BENCH);
    const { code, out, err } = await run(MAIN, ['diff', '-f', 'bench.yaml'], await odd());
    assert.deepEqual([code, out], [2, '']);
    assert.match(err, /^app-operator: TypeError: .*\n {4}at /);
  });

  test('and other commands exit with 1', async () => {
    const { code, err } = await run(MAIN, ['status'], await odd());
    assert.equal(code, 1);
    assert.match(err, /^app-operator: TypeError: .*\n {4}at /);
  });
});

describe('a cluster that cannot be reached, and a file that cannot be written', () => {
  /** A kubeconfig of a port where nothing listens. */
  async function nothingListens(): Promise<{ readonly kubeconfig: string; readonly port: number }> {
    const server = createServer();
    const kubeconfig = await listening(server);
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, 'close');
    return { kubeconfig, port };
  }

  test('the error names the server, and none of the requests that are sent at once', async () => {
    const { kubeconfig, port } = await nothingListens();
    writeFileSync(join(dir, 'bench.yaml'), BENCH);
    for (const [args, code] of [
      [['status'], 1],
      [['report', '-o', 'x.tgz'], 1],
      [['diff', '-f', 'bench.yaml'], 2],
    ] as const) {
      const result = await run(MAIN, args, kubeconfig);
      const message = `app-operator: cannot connect to the API server http://127.0.0.1:${port}: ECONNREFUSED; check --context and --kubeconfig\n`;
      assert.equal(result.code, code);
      assert.ok(result.err.endsWith(message), result.err);
    }
  });

  test('a report opens its file first, and then reports nothing else', async () => {
    const { kubeconfig } = await nothingListens();
    for (const [path, problem] of [
      ['missing/x.tgz', 'cannot be written: no such file or directory'],
      ['kubeconfig/x.tgz', 'cannot be written: not a directory (ENOTDIR)'],
      ['kubeconfig', 'already exists'],
      ['.', 'is a folder'],
    ] as const) {
      const { code, err } = await run(MAIN, ['report', '-o', path], kubeconfig);
      const message = `app-operator: ${path}: ${problem}; choose another file with -o\n`;
      assert.deepEqual([code, err], [1, message]);
    }
  });

  test('a kubeconfig that is a folder, and one that is missing, are distinguished', async () => {
    const advice = 'use --kubeconfig FILE, or set KUBECONFIG';
    const folder = await run(MAIN, ['status', '--kubeconfig', '.'], '');
    assert.equal(folder.err, `app-operator: .: is a folder; ${advice}\n`);
    const missing = await run(MAIN, ['status', '--kubeconfig', 'x'], '');
    assert.equal(missing.err, `app-operator: x: no such file; ${advice}\n`);
  });
});
