import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';

import { Lease, offerControlPlanes } from '../../cluster/support/shared-control-plane.js';

test('a shared control plane that cannot be started is reported to the file that leases it', async (t) => {
  const assets = await mkdtemp(path.join(tmpdir(), 'app-operator-test-'));
  t.after(() => rm(assets, { recursive: true }));
  for (const name of ['etcd', 'kube-apiserver']) {
    await writeFile(path.join(assets, name), '#!/bin/sh\necho broken\nexit 1\n', { mode: 0o755 });
  }
  process.env['KUBEBUILDER_ASSETS'] = assets;
  await using _controlPlanes = await offerControlPlanes(1);
  const problem =
    /no shared control plane: ProcessDied: (etcd|kube-apiserver) ended early with 1[^]*broken/;
  await assert.rejects(Lease.take(), problem);
});
