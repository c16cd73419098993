import assert from 'node:assert/strict';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { ensureBinaries } from '../../../testbed/controlplane/binaries.js';
import { withLock } from '../../../testbed/controlplane/lock.js';

const environment = { ...process.env };
const folders: string[] = [];

beforeEach(async () => {
  process.env = { ...environment, APP_OPERATOR_CACHE: await folder() };
});
after(async () => {
  process.env = environment;
  await Promise.all(folders.map((name) => rm(name, { recursive: true })));
});

test('KUBEBUILDER_ASSETS is used and nothing is built', async () => {
  const assets = await folder();
  for (const name of ['etcd', 'kube-apiserver', 'kubectl']) await program(assets, name);
  process.env.KUBEBUILDER_ASSETS = assets;
  process.env.PATH = '';
  const binaries = await ensureBinaries({ names: ['etcd', 'kube-apiserver', 'kubectl'] });
  assert.deepEqual(binaries, {
    etcd: path.join(assets, 'etcd'),
    'kube-apiserver': path.join(assets, 'kube-apiserver'),
    kubectl: path.join(assets, 'kubectl'),
  });
});

test('without Go, the error states what to do', async () => {
  delete process.env.KUBEBUILDER_ASSETS;
  process.env.PATH = '';
  await assert.rejects(ensureBinaries(), /etcd has to be built.*Install Go.*KUBEBUILDER_ASSETS/);
});

test('two that start at once build once', async () => {
  // A `go` that takes its time, writes its output file and counts its calls.
  const tools = await folder();
  const script = '#!/bin/sh\nsleep 0.3\necho x >>"$(dirname "$0")/calls"\n';
  const output = 'while [ "$1" != -o ]; do shift; done; printf "#!" >"$2"; chmod +x "$2"\n';
  await writeFile(path.join(tools, 'go'), script + output, { mode: 0o755 });
  process.env.PATH = `${tools}:${environment.PATH ?? ''}`;
  delete process.env.KUBEBUILDER_ASSETS;
  const lines: string[] = [];
  const options = {
    names: ['kubectl'],
    onProgress: ({ message }: { message: string }) => lines.push(message),
  } as const;
  const [one, two] = await Promise.all([ensureBinaries(options), ensureBinaries(options)]);
  assert.deepEqual(one, two);
  assert.equal(await readFile(path.join(tools, 'calls'), 'utf8'), 'x\n');
  assert.ok(lines.includes('building kubectl (1 of 1)'));
  assert.ok(lines.includes(`waiting for process ${process.pid}, which builds the same binaries`));
});

test('the lock of a dead process is taken over', async () => {
  const lock = path.join(await folder(), 'lock');
  // Above every process id that Linux gives.
  await writeFile(lock, '4194305 someone');
  assert.equal(await withLock(lock, () => Promise.resolve('done')), 'done');
});

test('one at a time holds the lock', async () => {
  const lock = path.join(await folder(), 'lock');
  let inside = 0;
  const work = async (): Promise<number> => {
    const now = ++inside;
    await sleep(20);
    inside--;
    return now;
  };
  const seen = await Promise.all([1, 2, 3].map(() => withLock(lock, work)));
  assert.deepEqual(seen, [1, 1, 1]);
});

async function folder(): Promise<string> {
  const name = await mkdtemp(path.join(tmpdir(), 'app-operator-test-'));
  folders.push(name);
  return name;
}

async function program(where: string, name: string): Promise<void> {
  const file = path.join(where, name);
  await writeFile(file, '');
  await chmod(file, 0o755);
}
