import assert from 'node:assert/strict';
import { test } from 'node:test';

import { startControlPlane } from '../../../testbed/controlplane/controlplane.js';

test('two control planes run side by side and know nothing of each other', async () => {
  const small = { persistentVolumes: 0, controllerManager: false, scheduler: false };
  await using one = await startControlPlane({ ...small, kwokNodes: 1 });
  await using two = await startControlPlane({ ...small, kwokNodes: 0 });
  await one.kubectl(['create', 'namespace', 'only-here']);
  assert.notEqual(one.server, two.server);
  await one.kubectl(['get', 'namespace', 'only-here']);
  await assert.rejects(two.kubectl(['get', 'namespace', 'only-here']), /NotFound/);
  assert.equal(await two.kubectl(['get', 'nodes', '--output=name']), '');
});
