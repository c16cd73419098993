import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';

import { freePort } from '../../testbed/controlplane/ports.js';

const MAIN = fileURLToPath(new URL('../../operator/main.js', import.meta.url));

/** Starts an operator without an API server: it logs a line for each attempt. */
async function start(t: { after: (work: () => unknown) => void }, stderr: number | 'pipe') {
  const folder = await mkdtemp(join(tmpdir(), 'log-'));
  t.after(() => rm(folder, { recursive: true }));
  const kubeconfig = join(folder, 'kubeconfig');
  const server = `http://127.0.0.1:${await freePort()}`;
  await writeFile(
    kubeconfig,
    stringify({
      clusters: [{ name: 'c', cluster: { server } }],
      users: [{ name: 'u', user: {} }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'c',
    }),
  );
  const port = await freePort();
  const child = spawn(
    process.execPath,
    [
      MAIN,
      '--metrics-bind-address=0',
      '--metrics-secure-bind-address=0',
      `--health-probe-bind-address=127.0.0.1:${port}`,
    ],
    { env: { ...process.env, KUBECONFIG: kubeconfig }, stdio: ['ignore', 'ignore', stderr] },
  );
  t.after(() => child.kill('SIGKILL'));
  const healthy = async (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${port}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );
  return { child, healthy };
}

test('an operator whose log cannot be written, since the disk is full, keeps working', async (t) => {
  const full = openSync('/dev/full', 'w');
  const { child, healthy } = await start(t, full);
  closeSync(full);
  while (child.exitCode === null && !(await healthy())) await sleep(50);
  // Some attempts to reach the API server, each with a line.
  await sleep(2_500);
  assert.equal(child.exitCode, null, 'it runs');
  assert.ok(await healthy());
  child.kill('SIGTERM');
  const [code] = (await once(child, 'exit')) as [number | null];
  assert.equal(code, 0);
});

test('an operator keeps working after the reader of its log is closed', async (t) => {
  const { child, healthy } = await start(t, 'pipe');
  while (child.exitCode === null && !(await healthy())) await sleep(50);
  child.stderr?.destroy();
  await sleep(2_500);
  assert.equal(child.exitCode, null, 'it runs');
  assert.ok(await healthy());
  child.kill('SIGTERM');
  const [code] = (await once(child, 'exit')) as [number | null];
  assert.equal(code, 0);
});
