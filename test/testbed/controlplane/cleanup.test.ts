import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { startControlPlane } from '../../../testbed/controlplane/controlplane.js';
import { eventually, processesOf } from './support.js';

const SMALL = { kwokNodes: 0, persistentVolumes: 0, controllerManager: false, scheduler: false };

test('stop leaves no process and no folder', async () => {
  const cluster = await startControlPlane({ kwokNodes: 1 });
  const group = cluster.processGroup ?? assert.fail('no process group');
  assert.equal(processesOf(group).length, 6);
  await cluster.stop();
  assert.deepEqual(processesOf(group), []);
  assert.equal(existsSync(cluster.dataDir), false);
  await cluster.stop();
});

test('a given folder stays, the next start has its data, and one that fails reports the cause', async (t) => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'app-operator-test-'));
  t.after(() => rm(dataDir, { recursive: true }));
  const first = await startControlPlane({ ...SMALL, dataDir });
  const names = first.processes.map(({ name }) => name);
  assert.deepEqual(names, ['etcd', 'kube-apiserver'], 'it has none of the controllers');
  await first.kubectl(['create', 'configmap', 'kept', '--from-literal=a=b']);
  await first.stop();
  const second = await startControlPlane({ ...SMALL, dataDir });
  t.after(() => second.stop());
  await second.kubectl(['get', 'configmap', 'kept']);
  await second.stop();
  await rm(path.join(dataDir, 'pki', 'apiserver.key'));
  await assert.rejects(
    startControlPlane({ ...SMALL, dataDir }),
    /kube-apiserver ended early with 1; its last lines:\n[^]*apiserver\.key/,
  );
});

for (const [how, expression] of [
  ['is killed with SIGKILL', "process.kill(process.pid, 'SIGKILL')"],
  ['is ended with SIGTERM', "process.kill(process.pid, 'SIGTERM')"],
  ['fails', "setTimeout(() => { throw new Error('uncaught') })"],
  ['ends without stopping it', ''],
] as const) {
  test(`no process and no folder remains when the process that started it ${how}`, async () => {
    const { group, dataDir, parent } = await startInAnotherProcess(expression);
    if (parent.exitCode === null && parent.signalCode === null) await once(parent, 'exit');
    assert.ok(await eventually(() => processesOf(group).length === 0 && !existsSync(dataDir)));
  });
}

test('a process that ends early is reported with its last lines', async () => {
  const cluster = await startControlPlane(SMALL);
  const etcd = cluster.processes.find(({ name }) => name === 'etcd');
  assert.ok(etcd);
  process.kill(etcd.pid, 'SIGKILL');
  await assert.rejects(cluster.failed, /^ProcessDied: etcd ended early with SIGKILL/);
  await cluster.stop();
});

interface Started {
  readonly group: number;
  readonly dataDir: string;
  readonly parent: ChildProcess;
}

/** Starts a small control plane in a process that then runs `expression`. */
async function startInAnotherProcess(expression: string): Promise<Started> {
  const module = fileURLToPath(
    new URL('../../../testbed/controlplane/controlplane.js', import.meta.url),
  );
  const program = `
    const { startControlPlane } = await import(${JSON.stringify(module)});
    const { processGroup, dataDir } = await startControlPlane(${JSON.stringify(SMALL)});
    process.stdout.write(JSON.stringify({ group: processGroup, dataDir }) + '\\n', () => {
      ${expression}
    });`;
  const parent = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  for await (const line of createInterface({ input: parent.stdout })) {
    const { group, dataDir } = JSON.parse(line) as Omit<Started, 'parent'>;
    assert.ok(group > 0 && dataDir);
    return { group, dataDir, parent };
  }
  throw new Error('the other process said nothing');
}
