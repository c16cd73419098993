import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { BuildNeeded, ensureBinaries } from '../../../testbed/controlplane/binaries.js';
import { withLock } from '../../../testbed/controlplane/lock.js';
import type { Progress } from '../../../testbed/controlplane/progress.js';
import { type Minor, MINORS } from '../../../testbed/controlplane/versions.js';
import { ensureNodeBinaries } from '../../../testbed/node/binaries.js';

const environment = { ...process.env };
const folders: string[] = [];

beforeEach(async () => {
  process.env = {
    ...environment,
    APP_OPERATOR_CACHE: await folder(),
    // Refuses at once, on every machine.
    APP_OPERATOR_MIRROR: 'http://127.0.0.1:9',
  };
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

test('without a download and Go, the error states what to do', async () => {
  delete process.env.KUBEBUILDER_ASSETS;
  process.env.PATH = '';
  const failure = /etcd.*no 'go' on the PATH.*install Go.*KUBEBUILDER_ASSETS.*127\.0\.0\.1:9/;
  await assert.rejects(ensureBinaries(), failure);
});

test('nothing is built where it may not be, and the error says why it would be', async () => {
  delete process.env.KUBEBUILDER_ASSETS;
  const tools = await goThatBuilds();
  process.env.PATH = `${tools}:${environment.PATH ?? ''}`;
  const lines: string[] = [];
  const options = {
    build: false,
    onProgress: ({ message }: { message: string }) => lines.push(message),
  } as const;
  const reasons: Record<Minor, RegExp> = {
    '1.35':
      /^kube-apiserver, kube-controller-manager, kube-scheduler: not in the cache, and not downloaded: 127\.0\.0\.1:9: /,
    '1.36': /^kube-apiserver, .*, kubectl: not in the cache, and not downloaded: 127\.0\.0\.1:9: /,
    '1.37':
      /^kube-apiserver, .*: not in the cache, and not downloaded: no release has a pinned sum$/,
  };
  for (const minor of MINORS) {
    process.env.KUBERNETES_VERSION = minor;
    await assert.rejects(ensureBinaries(options), (error) => {
      assert.ok(error instanceof BuildNeeded);
      assert.match(error.message, reasons[minor]);
      return true;
    });
  }
  assert.ok(!lines.some((line) => line.includes('building')), lines.join('\n'));
  await assert.rejects(readFile(path.join(tools, 'calls')), { code: 'ENOENT' });
});

test('what was built before is used where nothing may be built', async () => {
  delete process.env.KUBEBUILDER_ASSETS;
  process.env.PATH = `${await goThatBuilds()}:${environment.PATH ?? ''}`;
  const built = await ensureBinaries();
  assert.deepEqual(await ensureBinaries({ build: false }), built);
});

test('two that start at once build once', async () => {
  const tools = await goThatBuilds();
  process.env.PATH = `${tools}:${environment.PATH ?? ''}`;
  delete process.env.KUBEBUILDER_ASSETS;
  const lines: string[] = [];
  const options = {
    names: ['kubectl', 'etcd'],
    onProgress: ({ message }: { message: string }) => lines.push(message),
  } as const;
  const [one, two] = await Promise.all([ensureBinaries(options), ensureBinaries(options)]);
  assert.deepEqual(one, two);
  assert.equal(path.basename(one.etcd), 'etcd');
  for (const file of Object.values(one)) assert.equal(await readFile(file, 'utf8'), '#!');
  const calls = (await readFile(path.join(tools, 'calls'), 'utf8')).trim().split('\n');
  assert.deepEqual(calls.sort(), ['build', 'env', 'list']);
  assert.ok(lines.includes('building etcd, kubectl'));
  assert.ok(lines.includes(`waiting for process ${process.pid}, which gets the same binaries`));
});

test('a program of our own is built into a file', async () => {
  process.env.PATH = `${await goThatBuilds()}:${environment.PATH ?? ''}`;
  delete process.env.KUBEBUILDER_ASSETS;
  const { coredns, pause } = await ensureNodeBinaries();
  for (const file of [coredns, pause]) assert.equal(await readFile(file, 'utf8'), '#!');
});

test('a folder is not taken for a program', async () => {
  const assets = await folder();
  for (const name of ['etcd', 'kube-apiserver']) await program(assets, name);
  await mkdir(path.join(assets, 'kubectl'));
  process.env.KUBEBUILDER_ASSETS = assets;
  process.env.PATH = '';
  await assert.rejects(ensureBinaries({ names: ['kubectl'] }), /no 'go' on the PATH/);
});

test('a build reports how many packages are done', async () => {
  process.env.PATH = `${await goThatBuilds()}:${environment.PATH ?? ''}`;
  delete process.env.KUBEBUILDER_ASSETS;
  const seen: Progress[] = [];
  await ensureBinaries({ names: ['etcd'], onProgress: (progress) => seen.push(progress) });
  const building = seen.filter(({ message }) => message.startsWith('building etcd'));
  const portions = building.flatMap(({ portion }) => portion ?? []);
  // Three packages to compile, one program to link.
  assert.deepEqual(portions.at(-1), { done: 4, total: 4, unit: 'packages' });
  assert.ok(portions.some(({ done }) => done > 0 && done < 4));
});

test('another minor of Kubernetes has servers of its own, and shares the rest', async () => {
  delete process.env.KUBEBUILDER_ASSETS;
  process.env.PATH = `${await goThatBuilds()}:${environment.PATH ?? ''}`;
  const usual = await ensureBinaries({ names: ['etcd', 'kube-apiserver'] });
  process.env.KUBERNETES_VERSION = '1.37';
  const newer = await ensureBinaries({ names: ['etcd', 'kube-apiserver'] });
  assert.equal(newer.etcd, usual.etcd);
  assert.match(path.dirname(newer['kube-apiserver']), /kubernetes-v1\.37\./);
  process.env.KUBERNETES_VERSION = '1.12';
  await assert.rejects(
    ensureBinaries(),
    /KUBERNETES_VERSION: unknown version: "1\.12"; use one of/,
  );
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

/** A folder with a `go` that takes its time, writes its output files and notes its calls. */
async function goThatBuilds(): Promise<string> {
  const tools = await folder();
  const script = `#!/bin/sh
echo "$1" >>"$(dirname "$0")/calls"
case $1 in
env) echo /nowhere ;;
list) printf 'true stale dependency: x\\ntrue build ID mismatch\\ntrue stale dependency: y\\nfalse \\n' ;;
build)
  while [ "$1" != -o ]; do shift; done
  folder=$2
  shift 2
  for file in a b; do echo example.com/$file >&2; sleep 0.3; done
  for package; do
    case $package in
    .) name=$(sed -n 's|^module .*/||p' go.mod) ;;
    */v3) name=server ;;
    *) name=\${package##*/} ;;
    esac
    printf '#!' >"$folder/$name"
    chmod +x "$folder/$name"
  done
  ;;
esac
`;
  await writeFile(path.join(tools, 'go'), script, { mode: 0o755 });
  return tools;
}

async function program(where: string, name: string): Promise<void> {
  const file = path.join(where, name);
  await writeFile(file, '');
  await chmod(file, 0o755);
}
