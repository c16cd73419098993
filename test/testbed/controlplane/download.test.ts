import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { after, afterEach, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createGzip } from 'node:zlib';

import { pack } from 'tar-stream';

import { ensureBuilt } from '../../../testbed/controlplane/binaries.js';
import { downloadBinaries, type DownloadOptions } from '../../../testbed/controlplane/download.js';
import type { Progress } from '../../../testbed/controlplane/progress.js';
import { type Release, releasesOf } from '../../../testbed/controlplane/releases.js';
import { MINORS, readVersions } from '../../../testbed/controlplane/versions.js';

/** Larger than what sockets buffer. */
const SIZE = 3_000_000;
const CONTENT = randomBytes(SIZE);
const SERVER = 'https://dl.k8s.io/release/v1.36.3/bin/linux/amd64/kube-apiserver';
const ARCHIVE = 'https://github.com/etcd-io/etcd/releases/download/v3.6.8/etcd.tar.gz';

const environment = { ...process.env };
const temporary: string[] = [];
const servers: Server[] = [];
let options: DownloadOptions;
let requests: { readonly url: string; readonly range: string | undefined }[];

beforeEach(async () => {
  const root = await mkdtemp(path.join(tmpdir(), 'app-operator-test-'));
  temporary.push(root);
  process.env = { ...environment, NO_PROXY: '*', APP_OPERATOR_CACHE: root };
  options = { folder: path.join(root, 'programs'), partial: path.join(root, 'downloads') };
  requests = [];
});
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});
after(async () => {
  process.env = environment;
  await Promise.all(temporary.map((folder) => rm(folder, { recursive: true })));
});

test('programs are downloaded side by side, and become executable', async () => {
  const archive = await tarball({ 'etcd/README.md': 'text', 'etcd/etcd': CONTENT });
  let open = 0;
  let most = 0;
  await serve(async (request, response) => {
    most = Math.max(most, ++open);
    await sleep(100);
    response.end(request.url?.endsWith('.gz') ? archive : CONTENT);
    open--;
  });
  const failures = await downloadBinaries(
    [
      ['kube-apiserver', releaseOf(SERVER, CONTENT)],
      ['etcd', { ...releaseOf(ARCHIVE, archive), member: 'etcd/etcd' }],
    ],
    options,
  );
  assert.deepEqual(failures, new Map());
  assert.equal(most, 2);
  for (const name of ['kube-apiserver', 'etcd']) {
    assert.deepEqual(await programNamed(name), CONTENT);
    assert.equal((await stat(path.join(options.folder, name))).mode & 0o111, 0o111);
  }
  assert.deepEqual(await readdir(options.partial), []);
  assert.deepEqual(
    requests.map(({ url }) => url).sort(),
    [SERVER, ARCHIVE].map((url) => url.replace('https:/', '')),
  );
});

test('progress counts bytes', async () => {
  const seen: Progress[] = [];
  await serve(async (_request, response) => {
    response.setHeader('content-length', SIZE);
    for (let start = 0; start < SIZE; start += SIZE / 4) {
      response.write(CONTENT.subarray(start, start + SIZE / 4));
      await sleep(300);
    }
    response.end();
  });
  await download({ onProgress: (progress) => seen.push(progress) });
  const portions = seen.flatMap(({ portion }) => portion ?? []);
  assert.ok(portions.some(({ done }) => done > 0 && done < SIZE));
  assert.deepEqual(portions.at(-1), { done: SIZE, total: SIZE, unit: 'bytes' });
});

test('a corrupted file is refused, and is not kept', async () => {
  const corrupted = Buffer.from(CONTENT);
  corrupted.writeUInt8(corrupted.readUInt8(1_000) ^ 1, 1_000);
  await serve((_request, response) => response.end(corrupted));
  const failures = await download();
  assert.match(
    failures.get('kube-apiserver') ?? '',
    /kube-apiserver: the SHA-256 sum is wrong; want/,
  );
  await assertNothingIsThere();
});

test('a truncated file is refused, and is not kept', async () => {
  await serve((_request, response) => response.end(CONTENT.subarray(0, SIZE / 2)));
  const failures = await download();
  assert.match(failures.get('kube-apiserver') ?? '', /the SHA-256 sum is wrong/);
  await assertNothingIsThere();
});

test('a connection that ends early is continued where it ended', async () => {
  await serve((request, response) => {
    const start = Number(/bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0);
    response.writeHead(start > 0 ? 206 : 200, { 'content-length': SIZE - start });
    if (start > 0) response.end(CONTENT.subarray(start));
    else response.write(CONTENT.subarray(0, SIZE / 2), () => response.destroy());
  });
  assert.deepEqual(await download(), new Map());
  assert.deepEqual(await programNamed('kube-apiserver'), CONTENT);
  assert.equal(requests.length, 2);
  assert.match(requests[1]?.range ?? '', /^bytes=[1-9]/);
});

test('a server without ranges sends the file again', async () => {
  let calls = 0;
  await serve((_request, response) => {
    response.writeHead(200, { 'content-length': SIZE });
    if (++calls > 1) response.end(CONTENT);
    else response.write(CONTENT.subarray(0, SIZE / 2), () => response.destroy());
  });
  assert.deepEqual(await download(), new Map());
  assert.deepEqual(await programNamed('kube-apiserver'), CONTENT);
});

test('a later process continues, and starts again when what was left is damaged', async () => {
  await serve((request, response) => {
    const start = Number(/bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0);
    response.writeHead(start > 0 ? 206 : 200, { 'content-length': SIZE - start });
    response.end(CONTENT.subarray(start));
  });
  await leave(CONTENT.subarray(0, 1_000));
  assert.deepEqual(await download(), new Map());
  assert.deepEqual(
    requests.map(({ range }) => range),
    ['bytes=1000-'],
  );
  await leave(randomBytes(1_000));
  assert.deepEqual(await download(), new Map());
  assert.deepEqual(
    requests.slice(1).map(({ range }) => range),
    ['bytes=1000-', undefined],
  );
  assert.deepEqual(await programNamed('kube-apiserver'), CONTENT);
});

test('a whole file that an earlier process left is not sent again', async () => {
  await serve((_request, response) => response.writeHead(416).end());
  await leave(CONTENT);
  assert.deepEqual(await download(), new Map());
  assert.deepEqual(await programNamed('kube-apiserver'), CONTENT);
});

test('a refused request names its status', async () => {
  await serve((_request, response) => response.writeHead(403).end());
  assert.match((await download()).get('kube-apiserver') ?? '', /the server answered 403/);
});

test('a machine without a server decides at once', async () => {
  process.env.APP_OPERATOR_MIRROR = 'http://127.0.0.1:9';
  assert.match(
    (await download()).get('kube-apiserver') ?? '',
    /127\.0\.0\.1:9: .*(ECONNREFUSED|bad port)/,
  );
});

test('a machine without names decides at once', async () => {
  process.env.APP_OPERATOR_MIRROR = 'http://releases.invalid';
  const failures = await download();
  assert.match(failures.get('kube-apiserver') ?? '', /releases\.invalid: .*(ENOTFOUND|EAI_AGAIN)/);
});

test('a server that does not answer is given up', async () => {
  await serve(() => undefined);
  const failures = await download({ answerMs: 300 });
  assert.match(failures.get('kube-apiserver') ?? '', /127\.0\.0\.1:\d+: timed out/);
});

test('a server that stops sending is given up, and what came is kept', async () => {
  await serve((request, response) => {
    const ranged = request.headers.range !== undefined;
    response.writeHead(ranged ? 206 : 200, { 'content-length': SIZE });
    if (!ranged) response.write(CONTENT.subarray(0, 1_000));
    else response.flushHeaders();
  });
  const failures = await download({ stallMs: 300 });
  assert.match(failures.get('kube-apiserver') ?? '', /the server stalled/);
  assert.deepEqual(await readFile(partialFile()), CONTENT.subarray(0, 1_000));
});

test('a slow server is waited for', async () => {
  await serve(async (_request, response) => {
    response.writeHead(200, { 'content-length': SIZE });
    for (let start = 0; start < SIZE; start += SIZE / 10) {
      response.write(CONTENT.subarray(start, start + SIZE / 10));
      await sleep(100);
    }
    response.end();
  });
  assert.deepEqual(await download({ answerMs: 500, stallMs: 500 }), new Map());
  assert.deepEqual(await programNamed('kube-apiserver'), CONTENT);
});

test('what cannot be downloaded is built, and one line says why', async () => {
  await serve((request, response) => {
    if (request.url?.endsWith('etcd')) response.writeHead(404).end();
    else response.end(CONTENT);
  });
  const tools = path.join(path.dirname(options.folder), 'tools');
  await mkdir(tools);
  const go = `#!/bin/sh
[ "$1" = build ] || exit 0
while [ "$1" != -o ]; do shift; done
printf built >"$2/etcd" && chmod +x "$2/etcd"
`;
  await writeFile(path.join(tools, 'go'), go, { mode: 0o755 });
  process.env.PATH = `${tools}:${environment.PATH ?? ''}`;
  delete process.env.KUBEBUILDER_ASSETS;
  const recipe = (name: string) => ({
    module: tools,
    package: `example.com/${name}`,
    variables: {},
  });
  const lines: string[] = [];
  const binaries = await ensureBuilt(
    {
      key: 'test',
      recipes: { 'kube-apiserver': recipe('kube-apiserver'), etcd: recipe('etcd') },
      releases: {
        'kube-apiserver': releaseOf(SERVER, CONTENT),
        etcd: releaseOf('https://github.com/etcd', CONTENT),
      },
    },
    ['kube-apiserver', 'etcd'],
    { onProgress: ({ message }) => lines.push(message) },
  );
  assert.deepEqual(await readFile(binaries['kube-apiserver']), CONTENT);
  assert.equal(await readFile(binaries.etcd, 'utf8'), 'built');
  const reasons = lines.filter((line) => line.startsWith('building from source'));
  assert.equal(reasons.length, 1);
  assert.match(reasons[0] ?? '', /github\.com\/etcd: the server answered 404$/);
});

test('every pinned release has a sum for each platform', () => {
  for (const platform of ['linux-x64', 'linux-arm64']) {
    const releases = releasesOf(readVersions('1.36'), platform);
    const names = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'etcd', 'kwok'];
    for (const name of [...names, 'kubectl', 'kubelet', 'kube-proxy']) assert.ok(releases[name]);
  }
  for (const minor of MINORS) {
    for (const { sha256, url } of Object.values(releasesOf(readVersions(minor), 'linux-x64'))) {
      assert.match(sha256, /^[0-9a-f]{64}$/);
      assert.match(url, /^https:\/\/(dl\.k8s\.io\/release|github\.com\/[\w-]+\/\w+\/releases)\//);
    }
  }
  assert.deepEqual(releasesOf(readVersions('1.36'), 'darwin-arm64'), {});
});

function releaseOf(url: string, content: Buffer): Release {
  return { url, sha256: createHash('sha256').update(content).digest('hex') };
}

function download(more: Partial<DownloadOptions> = {}): Promise<ReadonlyMap<string, string>> {
  return downloadBinaries([['kube-apiserver', releaseOf(SERVER, CONTENT)]], {
    ...options,
    ...more,
  });
}

function partialFile(): string {
  return path.join(options.partial, releaseOf(SERVER, CONTENT).sha256);
}

async function leave(content: Buffer): Promise<void> {
  await mkdir(options.partial, { recursive: true });
  await writeFile(partialFile(), content);
}

function programNamed(name: string): Promise<Buffer> {
  return readFile(path.join(options.folder, name));
}

async function assertNothingIsThere(): Promise<void> {
  assert.deepEqual(await readdir(options.partial), []);
  await assert.rejects(stat(path.join(options.folder, 'kube-apiserver')), { code: 'ENOENT' });
}

/** A server of the layout of a mirror; it ends with the test. */
async function serve(listener: (...args: Parameters<RequestListener>) => unknown): Promise<void> {
  const server = createServer((request, response) => {
    requests.push({ url: request.url ?? '', range: request.headers.range });
    void listener(request, response);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  process.env.APP_OPERATOR_MIRROR = `http://127.0.0.1:${port}/`;
}

async function tarball(files: Readonly<Record<string, string | Buffer>>): Promise<Buffer> {
  const archive = pack();
  for (const [name, content] of Object.entries(files)) archive.entry({ name }, content);
  archive.finalize();
  const chunks: Buffer[] = [];
  await pipeline(archive, createGzip(), async (zipped: AsyncIterable<Buffer>) => {
    for await (const chunk of zipped) chunks.push(chunk);
  });
  return Buffer.concat(chunks);
}
