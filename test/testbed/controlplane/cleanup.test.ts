import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import {
  type ControlPlane,
  startControlPlane,
} from '../../../testbed/controlplane/controlplane.js';
import { eventually, processesOf } from './support.js';

const SMALL = { kwokNodes: 0, persistentVolumes: 0, controllerManager: false, scheduler: false };

suite('two control planes side by side', () => {
  let one: ControlPlane;
  let two: ControlPlane;
  before(async () => {
    one = await startControlPlane({ kwokNodes: 1 });
    two = await startControlPlane(SMALL);
  });
  after(async () => {
    await one.stop();
    await two.stop();
  });

  test('know nothing of each other', async () => {
    await one.kubectl(['create', 'namespace', 'only-here']);
    assert.notEqual(one.server, two.server);
    await one.kubectl(['get', 'namespace', 'only-here']);
    await assert.rejects(two.kubectl(['get', 'namespace', 'only-here']), /NotFound/);
    assert.equal(await two.kubectl(['get', 'nodes', '--output=name']), '');
  });

  test('have the processes that each was started with', () => {
    assert.equal(processesOf(one.processGroup ?? assert.fail('no process group')).length, 6);
    const names = two.processes.map(({ name }) => name);
    assert.deepEqual(names, ['etcd', 'kube-apiserver'], 'it has none of the controllers');
  });

  test('report a process that ends early, with its last lines', async () => {
    const etcd = two.processes.find(({ name }) => name === 'etcd');
    assert.ok(etcd);
    process.kill(etcd.pid, 'SIGKILL');
    await assert.rejects(two.failed, /^ProcessDied: etcd ended early with SIGKILL/);
  });

  test('leave no process and no folder when they are stopped', async () => {
    for (const cluster of [one, two]) {
      const group = cluster.processGroup ?? assert.fail('no process group');
      await cluster.stop();
      assert.deepEqual(processesOf(group), []);
      assert.equal(existsSync(cluster.dataDir), false);
      await cluster.stop();
    }
  });
});

test('a given folder stays, the next start has its data, and one that fails reports the cause', async (t) => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'app-operator-test-'));
  t.after(() => rm(dataDir, { recursive: true }));
  const first = await startControlPlane({ ...SMALL, dataDir });
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
